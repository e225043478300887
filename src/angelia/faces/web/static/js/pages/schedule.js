// What runs by the clock or a signal, with each occurrence: those to come, and those that were missed.
import { html } from "../html.js";
import { home } from "../home.js";
import { Act } from "../acts.js";
import { Answered, Details, ListDetail, Notice, Trail, useAnswer } from "../list_detail.js";
import { receiver } from "../receipt_row.js";
import { link } from "../route.js";
import { useSignal } from "../signal.js";
import { count, sentence, when } from "../words.js";

/** @param {any} one */
export const scheduled = (one) => one.text.split("\n", 1)[0];

/** @param {{id: string}} props */
export function Schedule({ id }) {
  const about = useSignal(home);
  return html`<${ListDetail} page="schedule" sub=${about?.zone && `Times are in ${about.zone}`} find="Find in the schedule" path="/api/schedules" of=${({ schedules }) => schedules} id=${id} none="Nothing is scheduled" hint="Say in a conversation what should happen when: “every morning at 6:30, tell me the weather”."
    row=${(one) => ({ id: one.id, state: one.state === "active" ? "next" : one.why ? "failed" : "idle", word: one.state, title: scheduled(one), line: [one.said, `to ${receiver(one.to)}`].join(" · "), side: one.state === "active" ? one.next : one.state, group: sentence(one.state), kind: one.state })}
    filters=${[["active", "Active"], ["paused", "Paused"], ["ended", "Ended"]]}>${(_, reread, __, here) => html`<${One} id=${here} reread=${reread} />`}<//>`;
}

/** Node, tone and word of an occurrence. @param {any} one @returns {[string, string, string]} */
function occurred(one) {
  if (one.why === "missed" || (one.why && !one.ending && !one.conversation)) return ["miss", "wait", one.count > 1 ? `Missed ${count(one.count, "time")}` : "Missed"];
  if (!one.ending) return one.conversation ? ["live", "live", "At work"] : ["", "off", sentence(one.why || "Nothing to do")];
  return one.ending === "Answered" ? ["good", "good", "Answered"] : ["bad", "bad", one.ending];
}

/** @param {{id: string, reread: () => void}} props */
function One({ id, reread }) {
  const path = `/api/schedules/${encodeURIComponent(id)}`;
  const told = useAnswer(path);
  const both = () => (told.again(), reread());
  return html`<${Answered} of=${told}>${(data) => {
    const running = data.state === "active";
    const missed = data.occurrences.filter((one) => occurred(one)[1] === "wait").reduce((/** @type {number} */ sum, one) => sum + one.count, 0);
    return html`<div><h2>${scheduled(data)}</h2><p>${sentence(data.said)}, ${data.zone}. To ${receiver(data.to)}.</p></div>
      ${missed > 0 && html`<${Notice} tone="wait" icon="missed" title=${`${count(missed, "occurrence")} ${missed === 1 ? "was" : "were"} missed.`}>Late ones are treated by the rule “${data.late}”.<//>`}
      ${!running && data.why && html`<${Notice} tone="" icon="failed" title=${`It is ${data.state}.`}>${data.why}<//>`}
      ${data.state !== "ended" && html`<div class="go"><${Act} path=${`${path}/run`} word="Run now" told="Begun. Its times stay as they are." again=${both} /><${Act} path=${`${path}/${running ? "pause" : "resume"}`} word=${running ? "Pause" : "Resume"} told=${running ? "Paused. Nothing runs until you resume it." : "It goes on."} again=${both} /><${Act} path=${`${path}/end`} word="End" told="Ended. Its occurrences stay." again=${both} bad /></div>`}
      <section><h3>Every occurrence</h3><${Trail} steps=${[...(running ? [{ node: "next", state: "off", word: "Next", time: "", line: data.next }] : []), ...data.occurrences.map((one) => {
        const [node, state, word] = occurred(one);
        return { node, state, word, time: when(one.due), line: one.conversation ? html`<a class="link" href=${link("c", one.conversation, one.seq)}>see it in its conversation</a>` : one.why };
      })]} /></section>
      <${Details} rows=${[["Says", data.text], ["Late runs", data.late], ["Model", data.model], ["By", data.by]]} />`;
  }}<//>`;
}
