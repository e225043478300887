// Beside a conversation: the plan, what is at work, files, money; on narrow screens a strip that opens as a sheet.
import { html, names, useState } from "./html.js";
import { tried } from "./acts.js";
import { at, post } from "./api.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { source } from "./media.js";
import { link } from "./route.js";
import { useSeconds } from "./seconds.js";
import { Bar, spentOf } from "./spending.js";
import { duration, paid, size } from "./words.js";

/** @param {{plan: any[], waits: boolean}} props */
const Plan = ({ plan, waits }) => html`<section><h2>Plan<span>${done(plan)} of ${plan.length}</span></h2><ul class="plan">${plan.map((step) => {
  const now = step.status === "active";
  return html`<li class=${names(step.status === "done" && "done", now && "now", now && waits && "wait")}><${Icon} name=${step.status === "done" ? "done" : now && waits ? "wait" : now ? "way" : "idle"} /><span><span class="sr">${step.status === "done" ? "Done: " : now ? "Now: " : "Next: "}</span>${step.text}</span></li>`;
})}</ul></section>`;
/** @param {any[]} plan */
const done = (plan) => plan.filter((step) => step.status === "done").length;

/** @param {{id: string, state: any, plan: any[], step: number}} props */
export function Side({ id, state, plan, step }) {
  const { work = [], files = [], questions = [], turn = {}, spent = {}, cap = 0 } = state;
  useSeconds(turn.open);
  /** @param {any} one */
  const end = (one) => tried(post(at(id, `/work/${encodeURIComponent(one.call)}/stop`)));
  const now = (turn.open && turn.spent) || spent;
  const most = turn.open ? cap : 0; // the cap is one of each turn
  return html`${plan.length > 0 && html`<${Plan} plan=${plan} waits=${questions.length > 0} />`}
    ${work.length > 0 && html`<section><h2>At work<span>${work.length}</span></h2><div class="mini">${work.map((one) => html`<div key=${one.call}><div class="t"><span class="dot live"></span><span class=${one.kind === "process" ? "mono" : ""}>${one.child ? html`<a class="link" href=${link("c", one.child)}>${one.what}</a>` : one.what}</span><span class="num">${one.spent !== undefined ? spentOf({ cost: one.spent }, one.cap || 0) : one.since ? duration((Date.now() - one.since) / 1000) : ""}</span></div>${one.now && html`<p>${one.now}</p>`}<button class="b bare" onClick=${() => end(one)}>Stop</button></div>`)}</div></section>`}
    ${files.length > 0 && html`<section><h2>Files<span>${files.length}</span></h2><div class="mini">${files.slice(-12).map((file) => html`<div key=${`${file.seq}.${file.part}`}><a class="t" href=${source(id, file)} download=${file.name || ""}><${Icon} name="file" /><span>${file.name || file.mime}</span><span class="num">${size(file.size)}</span></a></div>`)}</div></section>`}
    <section><h2>${turn.open ? "This turn" : "This conversation"}</h2><div class="kv"><div><span>Money</span><b>${spentOf(now, most)}</b></div>${most > 0 && html`<${Bar} part=${Math.max(now.cost, 0)} whole=${most} label=${`${spentOf(now, most)} spent`} />`}
      ${(turn.steps || step) > 0 && html`<div><span>Steps</span><b>${turn.steps || step}${state.steps ? ` of ${state.steps[1]}` : ""}</b></div>`}
      ${turn.open && turn.since > 0 && html`<div><span>Time</span><b>${duration((Date.now() - turn.since) / 1000)}</b></div>`}
      ${now.tokens > 0 && html`<div><span>Tokens</span><b>${now.tokens.toLocaleString("en-US")}</b></div>`}
      <div><span>Model</span><b class="cutline">${(state.model || "").replace(/^[^:]+:/, "") || "none yet"}</b></div></div></section>`;
}

/** @param {{id: string, state: any, plan: any[], step: number, doing: string}} props */
export function Strip({ id, state, plan, step, doing }) {
  const [open, setOpen] = useState(false);
  const { work = [], questions = [], turn = {}, spent = {} } = state;
  const now = plan.find((one) => one.status === "active");
  return html`<button class="strip" aria-haspopup="dialog" onClick=${() => setOpen(true)}>${plan.length > 0 && html`<span class="num"><${Icon} name="list" />${done(plan)} of ${plan.length}</span>`}<span class="grow">${questions.length ? "Waits for you" : state.trouble ? "Nobody works on it" : doing || now?.text || (turn.open ? "At work" : "Nothing is going on")}</span>${work.length > 0 && html`<span class="num"><span class="dot live"></span>${work.length}<span class="sr"> at work</span></span>`}<span class="num">${paid((turn.open && turn.spent) || spent)}</span><${Icon} name="chevron" cls="chev" /></button>
    ${open && html`<${Dialog} cls="sheet" label="This turn" closed=${() => setOpen(false)}>${(/** @type {() => void} */ shut) => html`<div class="side"><${Side} id=${id} state=${state} plan=${plan} step=${step} /><button class="b" onClick=${shut}>Close</button></div>`}<//>`}`;
}
