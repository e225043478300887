// How each item of a conversation looks on the spine.
import { at, post, saidBy } from "./api.js";
import { Component, html, names } from "./html.js";
import { Icon, State } from "./icons.js";
import { Media } from "./media.js";
import { Nodes } from "./nodes.js";
import { Calls } from "./calls.js";
import { ReceiptRow } from "./receipt_row.js";
import { toast } from "./toasts.js";
import { withCode } from "./with_code.js";
import { clock, door, dayName, duration, longDay, paid, second } from "./words.js";

/** @typedef {import("./fold.js").Item} Item */

/** A row is drawn again only when its item changed. */
export class Row extends Component {
  /** @param {{item: Item, id: string, waits: boolean}} next */
  shouldComponentUpdate(next) {
    const { item, waits } = /** @type {any} */ (this.props);
    return next.item !== item || next.item.rev !== this.rev || next.waits !== waits;
  }

  /** @param {{item: Item, id: string, waits: boolean}} props */
  render({ item, id, waits }) {
    this.rev = item.rev;
    const [node, cls] = NODES[item.kind === "asked" && item.data.answer ? "answered" : item.kind];
    return html`<li class=${cls} data-key=${item.key} id=${`e${item.seq}`}><span class=${names("node", node)}></span><div>${KINDS[item.kind](item, id, waits)}</div></li>`;
  }
}

/** @type {Record<string, [string, string]>} */
const NODES = {
  day: ["none", ""], said: ["you", ""], text: ["", ""], thought: ["row", "tight"], calls: ["row", ""], asked: ["row wait", ""], answered: ["head", ""], receipt: ["head", ""],
  work: ["head", ""], closed: ["head", ""], lines: ["none", "tight"],
};

/** Words and files of somebody's message. @param {any[]} parts @param {string} id */
export const parts = (parts, id) => parts.map((part) => (part.media ? html`<${Media} id=${id} file=${part} />` : html`<div class="text">${part.nodes ? html`<${Nodes} nodes=${part.nodes} />` : html`<p class="raw">${part.text}</p>`}</div>`));

/** @param {any} entry @param {boolean} waits */
const fate = (entry, waits) => (entry.step > 1 || (entry.step && entry.gone) ? `read at step ${entry.step}` : entry.gone ? "taken back" : !waits ? "" : entry.arrival === "queue" ? "stored; it is read after this turn" : "stored; it is read at the next step");

/** Of one's own, what waits is taken back, and that with which a turn began is said otherwise. @param {any} entry @param {string} id @param {boolean} waits */
function own(entry, id, waits) {
  if (entry.kind !== "UserSaid" || (entry.who || "owner") !== "owner" || entry.seq < 1 || entry.step > 1 || entry.gone) return;
  if (waits) return html`<button class="b" aria-label="Take back this message" onClick=${(/** @type {MouseEvent} */ event) => event.detail < 2 && takeBack(entry, id)}>Take back</button>`;
  return html`<button class="b bare sq" aria-label="Say this otherwise" title="Say this otherwise, in a fork" onClick=${() => otherwise(entry)}><${Icon} name="pen" /></button>`;
}

/** Where one writes; nothing, and a word, if something is being written there. @param {string} [but] what may stand there */
function emptyPen(but) {
  const pen = /** @type {HTMLTextAreaElement} */ (document.getElementById("pen"));
  if (pen.value.trim() && !(but && pen.value.startsWith(but))) return void toast("Send what you are writing first, or clear it.");
  pen.focus(); // at once: a key that is held down presses no button again
  return pen;
}

/** @param {HTMLTextAreaElement} pen @param {string} text */
function typed(pen, text) {
  pen.value = text;
  pen.dispatchEvent(new Event("input", { bubbles: true }));
  pen.focus();
}

/** Puts its words where one writes, as the command that says them otherwise. @param {any} entry */
function otherwise(entry) {
  const words = (entry.parts || []).map((/** @type {any} */ part) => part.text || "").filter(Boolean);
  const pen = emptyPen("/edit #");
  if (pen) typed(pen, `/edit #${entry.seq} ${words.join("\n\n")}`);
}

/** Puts its words where one writes, before what was typed meanwhile; who went elsewhere finds them in the log. @param {any} entry @param {string} id */
async function takeBack(entry, id) {
  const pen = emptyPen();
  if (!pen) return;
  try {
    const { text, files } = await post(at(id, `/entries/${entry.seq}/take-back`));
    if (pen.isConnected) typed(pen, text + pen.value);
    if (files.length) toast(`Taken back. Attach again: ${files.join(", ")}`);
  } catch (error) {
    toast(saidBy(error));
  }
}

/** @type {Record<string, (item: Item, id: string, waits: boolean) => any>} */
const KINDS = {
  day: (item) => html`<p class="day">${dayName(item.at) === longDay(item.at) ? longDay(item.at) : `${dayName(item.at)}, ${longDay(item.at)}`}</p>`,
  said: ({ data, at }, id, waits) => html`<div class="said"><h2 class="who"><b>${data.kind === "Occurred" ? "Schedule" : data.kind === "Delegated" ? "Task" : data.who === "owner" || !data.who ? "You" : data.who}</b><span>${door(data.door)}</span><span class="fate">${fate(data, waits)}</span>${own(data, id, waits)}<time>${clock(at)}</time></h2>${parts(data.parts || [], id)}</div>`,
  text: ({ data }) => html`<h2 class="sr">Angelia</h2><div class="text"><${Nodes} nodes=${data.nodes} /></div>`,
  thought: ({ data }) => html`<details class="tool"><summary><${Icon} name="chevron" cls="chev" /><${Icon} name="thought" /><b>Thought</b><span class="cutline">${data.text}</span></summary><div class="inner"><p class="thinking">${data.text}</p></div></details>`,
  calls: ({ data, rev }, id) => html`<${Calls} calls=${[...data]} id=${id} rev=${rev} />`,
  asked: ({ data }) => html`<${Asked} ...${data} />`,
  receipt: ({ data }, id) => html`<${ReceiptRow} ...${data} id=${id} />`,
  work: ({ data }, id) => html`<${Works} works=${data} id=${id} />`,
  closed: ({ data }) => (data.tone === "warning"
    ? html`<div class="note" role="group" aria-label="How the turn ended"><${Icon} name="failed" /><div><p>${data.sentence}</p></div></div>`
    : html`<div class="note calm"><${Icon} name="done" /><div><p>${data.sentence}</p></div></div>`),
  lines: ({ data }) => html`<div class="told">${data.map((line) => html`<p class=${line.tone === "warning" ? "warn" : ""}>${line.text}</p>`)}</div>`,
};

const SCOPES = { once: "Allowed once", conversation: "Allowed for this conversation", remembered: "Allowed, and remembered" };

/** A question in the log: a line that points to the dock, then who answered. @param {{asked: any, answer: any, finished: any}} props */
function Asked({ asked, answer, finished }) {
  if (!answer) return html`<p class="tool asked"><b>Asked</b><span class="cutline">${asked.question}</span><span class="res">answer below</span></p>`;
  const given = answer.kind === "ApprovalGiven";
  const what = !given ? "Not allowed" : answer.answer ? `“${answer.answer}”` : SCOPES[/** @type {keyof typeof SCOPES} */ (answer.scope)] || "Allowed";
  const whose = answer.by === "owner" || !answer.by ? "you" : answer.by;
  return html`<div class="note calm"><${Icon} name=${given ? "done" : "missed"} /><div><p>${what}, ${second(answer.at)}, by ${whose}${answer.door ? ` on ${door(answer.door)}` : ""}.</p>
    <p class="cutline">${asked.whole ? html`<code>${asked.whole}</code>` : withCode(asked.question)}${finished ? ` · ${finished.result || finished.status}${finished.seconds ? `, ${duration(finished.seconds)}` : ""}` : ""}${answer.why ? ` · ${answer.why}` : ""}</p></div></div>`;
}

/** Children and processes that began together: one box, a row each. @param {{works: {started: any, ended: any}[], id: string}} props */
const Works = ({ works, id }) => html`<div class="works">${works.map((one) => html`<${Work} key=${one.started.call} ...${one} />`)}</div>
  ${works.filter(({ ended }) => ended?.parts?.length).map(({ started, ended }) => html`<details class="tool" key=${started.call}><summary><${Icon} name="chevron" cls="chev" /><b>${started.work === "child" ? "What it said" : "Its output"}</b><span class="cutline">${started.what}</span></summary><div class="inner">${parts(ended.parts, id)}</div></details>`)}`;

/** What it is, and how it ended. @param {{started: any, ended: any}} props */
function Work({ started, ended }) {
  const child = started.work === "child";
  const state = ended ? (ended.status === "ok" ? "done" : "failed") : "work";
  const words = ended ? [ended.child?.ending || (ended.status === "ok" ? "ended" : ended.status), ended.child && `${ended.child.steps} steps`, ended.child && paid(ended.child), clock(ended.at)] : ["in the background since", clock(started.at)];
  return html`<div class="work"><div class="t"><${State} of=${state} /><span class=${child ? "" : "mono"}>${child ? `Helper: ${started.what}` : started.what}</span></div><p>${words.filter(Boolean).join(ended ? " · " : " ")}</p></div>`;
}
