// What Angelia keeps in mind, why, and what somebody else would have it keep.
import { html } from "../html.js";
import { Act } from "../acts.js";
import { Details, ListDetail, Notice, useAnswer } from "../list_detail.js";
import { link } from "../route.js";
import { count, when } from "../words.js";

/** @type {Record<string, [string, string]>} */
const NOTE_STATES = { waits: ["wait", "Waits for you"], kept: ["done", "Kept"], superseded: ["idle", "Replaced"], dropped: ["idle", "Dropped"] };

const NOTE_ORDER = Object.keys(NOTE_STATES);

/** @param {{id: string}} props */
export const Notes = ({ id }) => html`<${ListDetail} page="notes" sub="What Angelia keeps in mind" id=${id} none="No notes yet" hint="Say “remember that …” in a conversation. A note that comes from a page or a file waits here for your yes."
  of=${({ notes }) => notes.toSorted((a, b) => NOTE_ORDER.indexOf(a.state) - NOTE_ORDER.indexOf(b.state))}
  row=${(one) => {
    const [state, word] = NOTE_STATES[one.state] || NOTE_STATES.dropped;
    return { id: String(one.number), state, word, title: one.text, line: [one.kind, `${one.scope} ${one.about}`.trim(), one.outside && "words from elsewhere"].filter(Boolean).join(" · "), side: when(one.at), group: word, kind: one.state };
  }}
  filters=${[["waits", "Waiting"], ["kept", "Kept"], ["dropped", "Dropped"]]}>${(note, again) => note && html`<${Note} note=${note} again=${again} />`}<//>`;

/** From outside, the safe choice is the main one. @param {{note: any, again: () => void}} props */
function Note({ note, again }) {
  const path = `/api/notes/${note.number}`;
  const { why = [], history = [] } = useAnswer(path).data || {};
  const waits = note.state === "waits";
  const outside = note.outside > 0;
  return html`<div><h2>${waits ? "Keep this in mind?" : (NOTE_STATES[note.state] || NOTE_STATES.dropped)[1]}</h2><p>${waits ? "Proposed" : "Noted"} ${when(note.at)}, as a ${note.kind}, for ${note.scope} ${note.about}.</p></div><p class="big">“${note.text}”</p>
    ${outside && html`<${Notice} tone=${waits ? "wait" : "calm"} icon=${waits ? "wait" : "notes"} title="It may not come from you.">${count(note.outside, "text")} from elsewhere ${note.outside === 1 ? "was" : "were"} in view when it was made.${waits ? " It is not used until you say yes." : ""}<//>`}
    <div class="go">${waits ? html`<${Act} path=${`${path}/drop`} word="Drop it" told="Note dropped." again=${again} main=${outside} /><${Act} path=${`${path}/keep`} word="Keep it" told="Kept in mind." again=${again} main=${!outside} />` : note.state === "kept" ? html`<${Act} path=${`${path}/drop`} word="Drop it" told="Note dropped." again=${again} />` : null}</div>
    ${why.length > 0 && html`<section><h3>Why it is believed</h3><blockquote class="quote">${why.map((line) => html`<p>${line}</p>`)}<footer><a href=${link("c", note.conversation, note.seq)}>see it in the conversation</a></footer></blockquote></section>`}
    ${history.length > 0 && html`<section><h3>History</h3><ul class="plainlist">${history.map((line) => html`<li>${line}</li>`)}</ul></section>`}
    <${Details} rows=${[["Number", note.number], ["Replaces", note.replaces || ""], ["Replaced by", note.replaced_by || ""], ["Decided by", note.by]]} />`;
}
