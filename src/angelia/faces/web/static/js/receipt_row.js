// A delivery in a conversation: what goes to whom, and what became of it.
import { html, useState } from "./html.js";
import { Icon, State } from "./icons.js";
import { Media } from "./media.js";
import { post } from "./api.js";
import { alertTo, toast } from "./toasts.js";
import { clock, door, size } from "./words.js";

/** The network's statuses as states. @type {Record<string, [string, string]>} */
export const FATES = { queued: ["way", "Queued"], sending: ["way", "On its way"], sent: ["arrived", "Sent"], arrived: ["arrived", "Arrived"], confirmed: ["arrived", "Arrived"], kept: ["idle", "Kept here"], failed: ["failed", "Failed"], unknown: ["unknown", "Unknown"], let_be: ["idle", "Let be"] };

/** To whom. @param {{door: string, chat: string}} to */
export const receiver = (to) => [door(to?.door || ""), to?.chat].filter(Boolean).join(", ");

/** @param {{queued: any, settled: any, reached: any, id: string}} props */
export function ReceiptRow({ queued, settled, reached, id }) {
  const file = queued.parts?.find((part) => part.media);
  const rests = reached?.status === "let_be";
  const [state, word] = FATES[rests ? "let_be" : settled?.status || "queued"] || FATES.queued;
  const doubtful = settled && (settled.status === "failed" || settled.status === "unknown");
  const about = settled?.status === "unknown" ? "No word after sending. It may have arrived." : doubtful ? settled.detail : [file && size(file.size), `to ${receiver(queued.to)}`].filter(Boolean).join(" · ");
  const words = queued.parts?.find((part) => part.text)?.text || "Message";
  return html`${file?.media === "image" && html`<${Media} id=${id} file=${file} />`}<div class="receipt"><${Icon} name="file" /><div><p>${file?.name || words}</p><p>${about}</p></div>
    <div class="fates"><${State} of=${state} word=${`${reached?.status === "read" ? "Read" : word}${settled ? ` ${clock((reached || settled).at)}` : ""}`} shown />${doubtful && html`<${Again} conversation=${id} delivery=${queued.id} sure=${settled.status === "failed"} rests=${rests} />`}</div></div>`;
}

/** Sends a delivery once more (where it may have arrived, it asks first), or lets it be. @param {{conversation: string, delivery: string, sure: boolean, main?: boolean, rests?: boolean, heard?: () => void}} props */
export function Again({ conversation, delivery, sure, main, rests, heard }) {
  const [asking, setAsking] = useState(false);
  const ask = async (/** @type {string} */ what, /** @type {string} */ told) => {
    setAsking(false);
    try {
      await post(`/api/receipts/${encodeURIComponent(conversation)}/${encodeURIComponent(delivery)}/${what}`);
      toast(told);
      heard?.();
    } catch (error) {
      alertTo(/** @type {Error} */ (error).message);
    }
  };
  const again = () => (sure || asking ? void ask("again", "Queued once more.") : setAsking(true));
  return html`<button class=${main ? "b main" : "b"} onClick=${again}>${asking ? "Send it, though it may arrive twice" : sure ? "Send again" : "Send again…"}</button>${!rests && html`<button class="b bare" onClick=${() => ask("let_be", "Let be. Its receipt stays.")}>Let it be</button>`}`;
}
