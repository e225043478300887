// All conversations, of all doors: by title, folder, door, or by what was said in them.
import { html, useEffect, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { changes, home } from "../home.js";
import { Icon, State } from "../icons.js";
import { Answered, Choice } from "../list_detail.js";
import { link } from "../route.js";
import { Top } from "../shell.js";
import { useSignal } from "../signal.js";
import { Empty } from "../states.js";
import { dayName, door, folder, when } from "../words.js";

/** @param {{id: string, rest: string}} props */
export function Conversations({ id, rest }) {
  const [words, setWords] = useState(id === "find" ? rest : "");
  const [where, setWhere] = useState("");
  const [inside, setInside] = useState("");
  const folders = useRef(/** @type {Set<string>} */ (new Set())).current; // of all rows that were here
  const [got, setGot] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const changed = useSignal(changes);
  /** @param {string} before @param {AbortSignal} [signal] */
  const read = async (before, signal) => {
    const query = new URLSearchParams({ limit: "50", before, q: words.trim(), door: where, folder: inside });
    for (const [name, value] of [...query]) if (!value) query.delete(name);
    try {
      const answer = await get(`/api/conversations?${query}`, signal);
      setGot((old) => (before && old ? { ...answer, conversations: [...old.conversations, ...answer.conversations] } : answer));
      setError(null);
    } catch (failed) {
      if (!signal?.aborted) setError(failed);
    }
  };
  useEffect(() => {
    if (!changed) return;
    const stop = new AbortController();
    const timer = setTimeout(() => void read("", stop.signal), words ? 150 : 0);
    return () => (clearTimeout(timer), stop.abort());
  }, [words, where, inside, changed]);
  const talks = got?.conversations;
  for (const talk of talks || []) folders.add(talk.folder);
  const { doors = [] } = useSignal(home) || {};
  let day = "";
  return html`<${Top} title="Conversations" sub="Of all doors"><a class="b" href=${link("new")}><${Icon} name="plus" /><span class="wideonly">New</span><span class="sr">New conversation</span></a><//>
    <div class="ld single"><section class="list" aria-label="Conversations"><div class="tools"><label class="field"><${Icon} name="find" /><input type="text" value=${words} aria-label="Search in all that was said" placeholder="Search in all that was said" onInput=${(e) => setWords(e.target.value)} /></label>
      <div class="ways"><${Choice} label="Door" among=${[["", "All"], ...doors.map((name) => [name, door(name)])]} chosen=${where} choose=${setWhere} />${folders.size > 1 && html`<select class="field" aria-label="Folder" value=${inside} onChange=${(e) => setInside(e.target.value)}><option value="">All folders</option>${[...folders].sort().map((path) => html`<option value=${path}>${folder(path)}</option>`)}</select>`}</div></div>
      <div class="rows" tabindex="0" role="region" aria-label="Conversations, list">
        <${Answered} of=${{ data: got, error, again: () => read("") }}>${() => (got.found ? html`${got.found.map((one) => html`<a href=${link("c", one.conversation, one.seq)}><${Icon} name="talk" /><span class="t">${one.title}</span><span class="num">${when(one.at)}</span><span class="d"><${Marked} line=${one.line} marks=${one.marks} /></span></a>`)}${!got.found.length && html`<${Empty} icon="find" title="Nothing found">Nobody said that, in any conversation.<//>`}`
          : talks.length ? talks.map((talk) => {
            const name = dayName(talk.last_at);
            const heading = name !== day && html`<h2 key=${name}>${name}</h2>`;
            day = name;
            return html`${heading}<a key=${talk.id} href=${link("c", talk.id)}><${State} of=${talk.waits ? "wait" : talk.open ? "work" : "idle"} /><span class="t">${talk.title || "New conversation"}</span><span class="num">${when(talk.last_at)}</span><span class="d">${[door(talk.door), talk.folder && folder(talk.folder), talk.sandbox !== "local" && talk.sandbox].filter(Boolean).join(" · ")}</span></a>`;
          }) : html`<${Empty} icon="talk" title="No conversation yet">Begin one here, in the terminal or in a chat: all of them stand here.<//>`)}<//>
        ${got?.more && html`<button class="b bare" onClick=${() => read(got.more)}>Older ones</button>`}
      </div></section></div>`;
}

/** @param {{line: string, marks?: [number, number][]}} props */
function Marked({ line, marks = [] }) {
  let from = 0;
  return html`${marks.map(([start, end]) => {
    const before = line.slice(from, start);
    from = end;
    return html`${before}<mark>${line.slice(start, end)}</mark>`;
  })}${line.slice(from)}`;
}
