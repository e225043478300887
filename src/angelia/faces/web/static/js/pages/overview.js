// The first page: what waits, what is at work, what today cost, what comes next.
import { html, useState } from "../html.js";
import { Act, stopTurn } from "../acts.js";
import { conversations, heedHome, home, waiting, waits } from "../home.js";
import { Icon, State } from "../icons.js";
import { useAnswer } from "../list_detail.js";
import { Matter, Longer, answer, useDeaf } from "../question.js";
import { link } from "../route.js";
import { Top } from "../shell.js";
import { useSignal } from "../signal.js";
import { Bar, Days, spentOf, together } from "../spending.js";
import { Empty, Skeleton } from "../states.js";
import { count, money, paid, when } from "../words.js";
import { Again, receiver } from "../receipt_row.js";
import { titleOf } from "./receipts.js";
import { scheduled } from "./schedule.js";

export function Overview() {
  const about = useSignal(home);
  const { questions, deliveries, schedules: stopped } = useSignal(waiting);
  const all = useSignal(waits);
  const working = useSignal(conversations).filter((talk) => talk.open);
  const usage = useAnswer("/api/usage?days=7");
  const plans = useAnswer("/api/schedules");
  const next = (plans.data?.schedules || []).filter((one) => one.state === "active").slice(0, 5);
  const whole = [usage, plans].every((one) => one.data || one.error); // what comes late would move what stands
  const summary = [working.length ? `${count(working.length, "turn")} at work` : "Nothing is at work", deliveries.length ? `${count(deliveries.length, "delivery", "deliveries")} may not have arrived` : "no delivery is in doubt"].join(", ") + ".";
  return html`<${Top} title="Overview" /><div class="page" tabindex="0" role="region" aria-label="Overview"><div class="wrap">${!about ? html`<${Skeleton} />` : html`
    <div class="head"><h2>${all ? `${count(all, "thing")} ${all === 1 ? "waits" : "wait"} for you` : "Nothing waits for you"}</h2><p>${summary}</p></div>
    <div><section class="part" aria-labelledby="w"><h2 id="w" class="sr">Waits for you</h2>
      ${all ? html`<ol class="items">${questions.map((question) => html`<${Waiting} key=${`${question.conversation}.${question.seq}`} question=${question} />`)}
        ${deliveries.map((one) => html`<li key=${one.id}><${Icon} name=${one.status === "failed" ? "failed" : "unknown"} cls=${one.status === "failed" ? "ic bad" : "ic wait"} /><div><h3>“${titleOf(one)}” ${one.status === "failed" ? "did not arrive" : "may have arrived"}</h3><p>${one.detail || "No word came after it was sent."}</p><p class="from"><a href=${link("receipts", one.conversation, one.id)}>Receipt</a> · <a href=${link("c", one.conversation, one.seq)}>its conversation</a> · to ${receiver(one.to)}</p><div class="go"><${Again} conversation=${one.conversation} delivery=${one.id} sure=${one.status === "failed"} heard=${heedHome} /></div></div></li>`)}
        ${stopped.map((one) => html`<li key=${one.id}><${Icon} name="missed" cls="ic wait" /><div><h3>${scheduled(one)} is ${one.state}</h3><p>${one.why}</p><p class="from"><a href=${link("schedule", one.id)}>Schedule</a></p>${one.state !== "ended" && html`<div class="go"><${Act} path=${`/api/schedules/${one.id}/resume`} word="Resume" told="It goes on." again=${heedHome} /></div>`}</div></li>`)}</ol>`
      : html`<div class="box"><${Empty} icon="done" title="Questions stand here, and what did not arrive"><a class="b" href=${link("new")}>New conversation</a><//></div>`}</section>
      ${working.length > 0 && html`<section class="part" aria-labelledby="r"><h2 id="r">At work <span>${working.length}</span></h2><ol class="items runs">${working.map((talk) => html`<${Running} key=${talk.id} talk=${talk} />`)}</ol></section>`}</div>
    <div>${whole && html`<${Money} about=${about} usage=${usage.data} />${next.length > 0 && html`<section class="part" aria-labelledby="n"><h2 id="n">Next <a href=${link("schedule")}>Schedule</a></h2><ul class="next">${next.map((one) => html`<li><time>${one.next}</time><span class="cutline">${scheduled(one)}</span></li>`)}</ul></section>`}`}</div>`}
  </div></div>`;
}

/** @param {{question: any}} props */
function Waiting({ question }) {
  const [longer, setLonger] = useState(false);
  const choice = question.asks !== "permission"; // one that cannot be read has none
  const { deaf } = useDeaf([question.call, question.digest]);
  /** @param {object} words @param {string} told */
  const give = (words, told) => void (deaf() || answer(question.conversation, question, words, told));
  return html`<li><${Icon} name="wait" cls="ic wait" /><div><h3>${question.question}<time>${when(question.at)}</time></h3>${question.why && html`<p>${question.why}</p>`}
    <p class="from"><a href=${link("c", question.conversation)}>${question.title || "New conversation"}</a> · the turn waits</p><${Matter} question=${question} conversation=${question.conversation} />
    <div class="go">${choice ? question.choices.map((/** @type {string} */ words, /** @type {number} */ n) => html`<button class=${n ? "b" : "b main"} onClick=${() => give({ yes: true, words }, `Answered: ${words}`)}>${words}</button>`)
      : html`<button class="b main" onClick=${() => give({ yes: true }, "Allowed once. It runs now.")}>Allow once</button><button class="b" onClick=${() => give({ yes: false }, "Not allowed. Angelia was told.")}>Don’t allow</button>${question.pattern && html`<button class="b bare" aria-haspopup="dialog" aria-label="Allow for longer…" onClick=${() => setLonger(true)}><span class="long">Allow for longer…</span><span class="short">Longer…</span></button>`}`}</div>
    ${longer && html`<${Longer} question=${question} close=${() => setLonger(false)} give=${(/** @type {object} */ words, /** @type {string} */ told) => (setLonger(false), give(words, told))} />`}</div></li>`;
}

/** @param {{talk: any}} props */
function Running({ talk }) {
  const spent = { cost: talk.spent };
  return html`<li><${State} of=${talk.waits ? "wait" : "work"} /><div><a href=${link("c", talk.id)}>${talk.title || "New conversation"}</a><p class="what">${talk.waits ? "waits for you" : `at work; last heard ${when(talk.last_at)}`}</p></div>
    <div class="cash num">${talk.spent !== undefined && html`<span><span>${spentOf(spent, talk.cap || 0)}</span></span>${talk.cap > 0 && html`<${Bar} part=${talk.spent} whole=${talk.cap} label=${`${spentOf(spent, talk.cap)} spent`} live />`}`}</div><button class="b bare" onClick=${() => stopTurn(talk.id)}><${Icon} name="stop" /><span>Stop</span></button></li>`;
}

/** @param {{about: any, usage: any}} props */
function Money({ about, usage }) {
  const spent = about.spent_today;
  const cap = about.day_cost;
  const days = together(usage?.days || [], "day");
  return html`<section class="part money" aria-labelledby="m"><h2 id="m">Money today <a href=${link("usage")}>Usage</a></h2><p class="fig">${paid(spent)} ${cap > 0 && html`<small>of ${money(cap)}</small>`}</p>${cap > 0 && html`<${Bar} part=${Math.max(spent.cost, 0)} whole=${cap} label=${`${spentOf(spent, cap)} spent today`} big />`}
    ${spent.unpriced > 0 && html`<p class="besides">${count(spent.unpriced, "request")} without a known price.</p>`}
    ${days.length > 0 && html`<div class="kv">${together(usage.days.filter((one) => one.day === usage.days.at(-1).day), "model").slice(0, 4).map((one) => html`<div><span>${one.model.replace(/^[^:]+:/, "")}</span><b>${paid(one)}</b></div>`)}</div>`}${days.length > 1 && html`<${Days} days=${days.slice(-7)} />`}</section>`;
}
