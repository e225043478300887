// A list with its detail beside it; on a phone the detail is a page of its own.
import { html, names, useEffect, useState } from "./html.js";
import { get } from "./api.js";
import { changes } from "./home.js";
import { Icon, State } from "./icons.js";
import { link } from "./route.js";
import { Top } from "./shell.js";
import { useSignal } from "./signal.js";
import { Empty, Failure, Skeleton } from "./states.js";
import { withCode } from "./with_code.js";

/** What a path of the API answers; read again when something changed. @param {string} path */
export function useAnswer(path) {
  const [got, setGot] = useState(/** @type {{path: string, data: any, error: any}} */ ({ path: "", data: null, error: null }));
  const [again, setAgain] = useState(0);
  const changed = useSignal(changes);
  useEffect(() => {
    if (!path || !changed) return undefined;
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

/** @typedef {{id: string, state: string, word?: string, title: string, line: string, side?: string, group?: string, kind?: string}} ListRow  `kind` is what the filters know it by */

/**
 * @param {{page: string, title: string, sub?: string, find: string, rows: ListRow[] | null, error: any, again: () => void, id: string, filters?: [string, string][], empty: any, children: any, more?: (() => void) | null, head?: any}} props
 */
export function ListDetail({ page, title, sub, find, rows, error, again, id, filters = [], empty, children, more, head }) {
  const [words, setWords] = useState("");
  const [filter, setFilter] = useState("");
  const shown = (rows || []).filter((row) => (!filter || row.kind === filter) && `${row.title} ${row.line}`.toLowerCase().includes(words.toLowerCase()));
  /** @type {Map<string, ListRow[]>} */
  const groups = new Map();
  for (const row of shown) groups.set(row.group || "", [...(groups.get(row.group || "") || []), row]);
  const counted = (kind) => (rows || []).filter((row) => row.kind === kind).length;
  return html`<${Top} title=${title} sub=${sub || ""}>${head}<//>
    <div class=${names("ld", id && "open")}><section class="list" aria-label=${title}>
      <div class="tools"><label class="field"><${Icon} name="find" /><input type="text" aria-label=${find} placeholder=${find} onInput=${(e) => setWords(e.target.value)} /></label>
        ${filters.length > 0 && html`<div class="seg" role="group" aria-label="Show" tabindex="0"><button aria-pressed=${!filter} onClick=${() => setFilter("")}>All</button>${filters.map(([kind, word]) => html`<button aria-pressed=${filter === kind} onClick=${() => setFilter(kind)}>${word}${counted(kind) ? ` ${counted(kind)}` : ""}</button>`)}</div>`}</div>
      <div class="rows" tabindex="0" role="region" aria-label=${`${title}, list`}>
        ${error && !rows ? html`<${Failure} error=${error} again=${again} />` : !rows ? html`<${Skeleton} />` : !shown.length ? (rows.length ? html`<${Empty} icon="find" title="Nothing found">No row holds these words.<//>` : empty) : [...groups].map(([name, all]) => html`${name && html`<h2 key=${`h${name}`}>${name}</h2>`}${all.map((row) => html`<a key=${row.id} href=${link(page, ...row.id.split("/"))} aria-current=${row.id === id ? "true" : null}><${State} of=${row.state} word=${row.word} /><span class="t">${row.title}</span><span class="num">${row.side || ""}</span><span class="d">${row.line}</span></a>`)}`)}
        ${more && html`<button class="b bare" onClick=${more}>Older ones</button>`}
      </div></section>
      <article class="detail" tabindex="0" aria-label="Detail" key=${id}>${id ? html`<a class="b bare back" href=${link(page)}><${Icon} name="back" />${title}</a>${children}` : rows?.length ? html`<p class="hint">Choose one on the left.</p>` : null}</article></div>`;
}

/** Facts of a detail, by name. @param {{rows: [string, any][]}} props */
export const Details = ({ rows }) => html`<dl class="f2">${rows.filter(([, value]) => value !== "" && value !== null && value !== undefined).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

/** What became of it, on the spine. @param {{steps: {node?: string, time: string, state?: string, word: string, line?: any, side?: any}[]}} props */
export const Trail = ({ steps }) => html`<ol class="trail">${steps.map((step) => html`<li><span class=${names("node", step.node)}></span><time>${step.time}</time><div><span class=${names("st", step.state)}>${step.word}</span>${step.line && html`<p>${step.line}</p>`}</div><span class="num">${step.side || ""}</span></li>`)}</ol>`;

/** @param {{tone: string, icon: import("./icons.js").IconName, title: string, children?: any}} props */
export const Notice = ({ tone, icon, title, children }) => html`<div class=${names("note", tone)}><${Icon} name=${icon} /><div><p>${withCode(title)}</p>${children && html`<p>${[children].flat().map(withCode)}</p>`}</div></div>`;
