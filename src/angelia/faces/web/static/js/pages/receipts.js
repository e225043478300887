// What was sent, and what became of it.
import { html } from "../html.js";
import { Answered, Details, ListDetail, Notice, Trail, mono, useAnswer } from "../list_detail.js";
import { Again, FATES, receiver } from "../receipt_row.js";
import { link } from "../route.js";
import { parts } from "../rows.js";
import { second, sentence, size } from "../words.js";

/** What it is, in a few words. @param {any} one */
export const titleOf = (one) => one.files.join(", ") || one.words || "Message";

/** @param {{id: string, rest: string}} props */
export const Receipts = ({ id, rest }) => html`<${ListDetail} page="receipts" sub="What was sent, and what became of it" most=${100} id=${id && `${id}/${rest}`} none="Nothing was sent yet" hint="Each answer and each file that goes to somebody has a receipt here."
  row=${(one) => {
    const [state, word] = FATES[one.status] || FATES.queued;
    return { id: `${one.conversation}/${one.id}`, state, word, title: titleOf(one), line: `${receiver(one.to)} · ${word.toLowerCase()}${one.detail ? `: ${one.detail}` : ""}`, side: one.size ? size(one.size) : "", kind: state };
  }}
  filters=${[["failed", "Failed"], ["unknown", "Unknown"], ["way", "On its way"], ["arrived", "Arrived"]]}>${(_, __, ___, here) => {
  const [conversation, own] = here.split("/");
  return html`<${Receipt} conversation=${conversation} id=${own} />`;
}}<//>`;

/** What one fact says of it: node, tone, word. @type {Record<string, (one: any) => [string, string, string]>} */
const TRIES = {
  DeliveryQueued: () => ["", "", "Queued"],
  DeliveryStarted: (one) => ["", "", `Try ${one.attempt || 1}`],
  DeliveryPutOff: () => ["", "wait", "Put off"],
  PieceArrived: (one) => ["", "", `Piece ${one.piece || 1} arrived`],
  PreviewStarted: () => ["", "", "Shown as it grew"],
  PreviewShown: () => ["", "", "Shown as it grew"],
  DeliverySettled: (one) => ({ failed: /** @type {[string, string, string]} */ (["bad", "bad", "Refused"]), unknown: /** @type {[string, string, string]} */ (["miss", "wait", "No word"]), kept: /** @type {[string, string, string]} */ (["", "", "Kept here"]) })[/** @type {string} */ (one.status)] || ["good", "good", "Arrived"],
  DeliveryLetBe: (one) => ["", "", `Let be by ${one.by}`],
  DeliveryReached: (one) => ["good", "good", sentence(one.reached || "Reached")],
};

/** @param {{conversation: string, id: string}} props */
function Receipt({ conversation, id }) {
  const told = useAnswer(`/api/receipts/${encodeURIComponent(conversation)}/${encodeURIComponent(id)}`);
  return html`<${Answered} of=${told}>${(data, again) => {
    const failed = data.status === "failed";
    const unknown = data.status === "unknown";
    return html`<div><h2>${titleOf(data)}</h2><p>${[data.size && size(data.size), `to ${receiver(data.to)}`].filter(Boolean).join(", ")}</p></div>
      ${failed && html`<${Notice} tone="" icon="failed" title="It did not arrive.">${data.detail}<//>`}${unknown && html`<${Notice} tone="wait" icon="unknown" title="No word after sending.">It may have arrived. ${data.detail}<//>`}
      ${data.again && html`<div class="go"><${Again} conversation=${conversation} delivery=${id} sure=${!data.tries.some((one) => one.status === "unknown")} main=${failed} rests=${!failed && !unknown} heard=${again} /></div>`}
      <section><h3>What happened</h3><${Trail} steps=${data.tries.map((one) => {
        const [node, state, word] = (TRIES[one.kind] || TRIES.DeliveryQueued)(one);
        return { node, state, word, time: second(one.at), line: one.detail || one.why, side: `#${one.seq}` };
      })} /></section>
      <section><h3>What was sent</h3>${parts(data.parts, conversation)}</section>
      <${Details} rows=${[["Conversation", html`<a class="link" href=${link("c", conversation, data.seq)}>see it there</a>`], ["Receipt", mono(id)], ["Came from", data.origin]]} />`;
  }}<//>`;
}
