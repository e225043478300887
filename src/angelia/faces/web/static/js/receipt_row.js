// A delivery in a conversation: what goes to whom, and what became of it.
import { html, useState } from "./html.js";
import { Icon, State } from "./icons.js";
import { Media } from "./media.js";
import { post } from "./api.js";
import { alertTo, toast } from "./toasts.js";
import { clock, door, size } from "./words.js";

/** The network's statuses as states. @type {Record<string, [string, string]>} */
export const FATES = { queued: ["way", "Queued"], sending: ["way", "On its way"], sent: ["arrived", "Sent"], arrived: ["arrived", "Arrived"], confirmed: ["arrived", "Arrived"], kept: ["idle", "Kept here"], failed: ["failed", "Failed"], unknown: ["unknown", "Unknown"] };

/** To whom. @param {{door: string, chat: string}} to */
export const receiver = (to) => [door(to?.door || ""), to?.chat].filter(Boolean).join(", ");

/** @param {{queued: any, settled: any, reached: any, id: string}} props */
export function ReceiptRow({ queued, settled, reached, id }) {
  const file = queued.parts?.find((part) => part.media);
  const [state, word] = FATES[settled?.status || "queued"] || FATES.queued;
  const doubtful = settled && (settled.status === "failed" || settled.status === "unknown");
  const about = settled?.status === "unknown" ? "No word after sending. It may have arrived." : doubtful ? settled.detail : [file && size(file.size), `to ${receiver(queued.to)}`].filter(Boolean).join(" · ");
  const words = queued.parts?.find((part) => part.text)?.text || "Message";
  return html`${file?.media === "image" && html`<${Media} id=${id} file=${file} />`}<div class="receipt"><${Icon} name="file" /><div><p>${file?.name || words}</p><p>${about}</p></div>
    <div class="fates"><${State} of=${state} word=${`${reached?.status === "read" ? "Read" : word}${settled ? ` ${clock((reached || settled).at)}` : ""}`} shown=${true} />${doubtful && html`<${Again} conversation=${id} delivery=${queued.id} sure=${settled.status === "failed"} />`}</div></div>`;
}

/** Sends a delivery once more; where it may have arrived, it asks first. @param {{conversation: string, delivery: string, sure: boolean, main?: boolean}} props */
export function Again({ conversation, delivery, sure, main }) {
  const [asking, setAsking] = useState(false);
  const again = async () => {
    if (!sure && !asking) return setAsking(true);
    setAsking(false);
    try {
      await post(`/api/receipts/${encodeURIComponent(conversation)}/${encodeURIComponent(delivery)}/again`);
      toast("Queued once more.");
    } catch (error) {
      alertTo(/** @type {Error} */ (error).message);
    }
  };
  return html`<button class=${main ? "b main" : "b"} onClick=${again}>${asking ? "Send it, though it may arrive twice" : sure ? "Send again" : "Send again…"}</button>`;
}
