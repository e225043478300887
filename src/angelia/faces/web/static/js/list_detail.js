// A list with its detail beside it; on a phone the detail is a page of its own.
import { html, names, useEffect, useRef, useState } from "./html.js";
import { get } from "./api.js";
import { changes } from "./home.js";
import { Icon, State } from "./icons.js";
import { link } from "./route.js";
import { Top } from "./shell.js";
import { useSignal } from "./signal.js";
import { Empty, Failure, Skeleton } from "./states.js";
import { MORE, TALKS, WAYS } from "./ways.js";
import { withCode } from "./with_code.js";

/** What a path of the API answers; read again when something changed. @param {string} path */
export function useAnswer(path) {
  const [got, setGot] = useState(/** @type {{path: string, data: any, error: any}} */ ({ path: "", data: null, error: null }));
  const [again, setAgain] = useState(0);
  const changed = useSignal(changes);
  useEffect(() => {
    if (!path || !changed) return;
    const stop = new AbortController();
    get(path, stop.signal).then(
      (data) => setGot({ path, data, error: null }),
      (error) => stop.signal.aborted || setGot((before) => ({ path, data: before.path === path ? before.data : null, error })),
    );
    return () => stop.abort();
  }, [path, again, changed]);
  const current = got.path === path ? got : { data: null, error: null };
  return { ...current, again: () => setAgain((n) => n + 1) };
}

/** What an answer is shown as: why it could not be had, or grey lines until it is there, or what `children` draw of it. @param {{of: {data: any, error: any, again: () => void}, children: (data: any, again: () => void) => any}} props */
export const Answered = ({ of, children }) => (of.error ? html`<${Failure} error=${of.error} again=${of.again} />` : of.data ? children(of.data, of.again) : html`<${Skeleton} />`);

/** One of a few, which is pressed. @param {{label: string, among: [any, string][], chosen: any, choose: (value: any) => void}} props */
export const Choice = ({ label, among, chosen, choose }) => html`<div class="seg" role="group" aria-label=${label} tabindex="0">${among.map(([value, word]) => html`<button aria-pressed=${chosen === value} onClick=${() => choose(value)}>${word}</button>`)}</div>`;

/** @typedef {{id: string, state: string, word?: string, title: string, line: string, side?: string, group?: string, kind?: string}} ListRow  `kind` is what the filters know it by */

/**
 * A page of rows, with one of them in detail: the first one, until one is chosen. It stays that one, so that nothing that arrives or goes puts another under the reader's hand. `of` are the things in what the API answers, each drawn as a `row`; where there may be more than `most`, older ones are asked for by their place.
 * `children` draw the detail: of the thing that is chosen, if it is among them, and of its name.
 * @param {{page: string, sub?: string, find?: string, path?: string, of?: (data: any) => any[], most?: number, row: (one: any, data: any) => ListRow, id: string, filters?: [string, string][], none: string, hint: any, children: (one: any, again: () => void, data: any, id: string) => any}} props
 */
export function ListDetail({ page, sub = "", find = `Find in ${page}`, path = `/api/${page}`, of = (data) => data[page], most = 0, row, id, filters = [], none, hint, children }) {
  const [, icon, title] = [...WAYS, ...MORE].find(([name]) => name === page) || TALKS;
  const [words, setWords] = useState("");
  const [filter, setFilter] = useState("");
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const [ended, setEnded] = useState(!most);
  const asked = most ? `${path}?limit=${most}` : path;
  const { data, error, again } = useAnswer(asked);
  const all = data && [...of(data), ...older];
  const rows = all?.map((one) => row(one, data)) || [];
  const first = useRef(/** @type {string | undefined} */ (undefined));
  if (id) first.current = "";
  else first.current ??= rows[0]?.id;
  const here = id || rows.find((one) => one.id === first.current)?.id;
  const more = async () => {
    const next = of(await get(`${asked}&before=${all.at(-1).place}`));
    setOlder([...older, ...next]);
    setEnded(next.length < most);
  };
  const shown = rows.filter((one) => (!filter || one.kind === filter) && `${one.title} ${one.line}`.toLowerCase().includes(words.toLowerCase()));
  const counted = (kind) => rows.filter((one) => one.kind === kind).length || "";
  if (data && !here && !rows.length) return html`<${Top} title=${title} sub=${sub} /><div class="page"><${Empty} icon=${icon} title=${none}>${hint}<//></div>`;
  return html`<${Top} title=${title} sub=${sub} />
    <div class=${names("ld", id && "open")}><section class="list" aria-label=${title}>
      <div class="tools"><label class="field"><${Icon} name="find" /><input type="text" aria-label=${find} placeholder=${find} onInput=${(e) => setWords(e.target.value)} /></label>
        ${filters.length > 0 && html`<${Choice} label="Show" among=${[["", "All"], ...filters.map(([kind, word]) => [kind, `${word} ${counted(kind)}`.trim()])]} chosen=${filter} choose=${setFilter} />`}</div>
      <div class="rows" tabindex="0" role="region" aria-label=${`${title}, list`}>
        <${Answered} of=${{ data, error: data ? null : error, again }}>${() => (shown.length ? [...Map.groupBy(shown, (one) => one.group)].map(([name, group]) => html`${name && html`<h2 key=${`h${name}`}>${name}</h2>`}${group.map((one) => html`<a key=${one.id} href=${link(page, ...one.id.split("/"))} aria-current=${one.id === here ? "true" : null}><${State} of=${one.state} word=${one.word} /><span class="t">${one.title}</span><span class="num">${one.side}</span><span class="d">${one.line}</span></a>`)}`) : html`<${Empty} icon="find" title="Nothing found">No row holds these words.<//>`)}<//>
        ${!ended && rows.length >= most && html`<button class="b bare" onClick=${more}>Older ones</button>`}
      </div></section>
      <article class="detail" tabindex="0" aria-label="Detail" key=${here}>${here && html`<a class="b bare back" href=${link(page)}><${Icon} name="back" />${title}</a>${children(all?.find((_, at) => rows[at].id === here), again, data, here)}`}</article></div>`;
}

/** A name or a path as it is written, if there is one. @param {string} text */
export const mono = (text) => text && html`<span class="mono">${text}</span>`;

/** Facts of a detail, by name, as far as there are any. @param {{rows: [string, any][]}} props */
export const Details = ({ rows }) => html`<section><h3>Details</h3><dl class="f2">${rows.filter(([, value]) => value || value === 0).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>`;

/** What became of it, on the spine. @param {{steps: {node?: string, time: string, state?: string, word: string, line?: any, side?: any}[]}} props */
export const Trail = ({ steps }) => html`<ol class="trail">${steps.map((step) => html`<li><span class=${names("node", step.node)}></span><time>${step.time}</time><div><span class=${names("st", step.state)}>${step.word}</span>${step.line && html`<p>${step.line}</p>`}</div><span class="num">${step.side || ""}</span></li>`)}</ol>`;

/** @param {{tone: string, icon: import("./icons.js").IconName, title: string, children?: any}} props */
export const Notice = ({ tone, icon, title, children }) => html`<div class=${names("note", tone)}><${Icon} name=${icon} /><div><p>${withCode(title)}</p>${children && html`<p>${[children].flat().map(withCode)}</p>`}</div></div>`;
