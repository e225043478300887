// A button that asks the server for one thing, says what came of it, and reads again.
import { html, names, useState } from "../html.js";
import { post } from "../api.js";
import { alertTo, toast } from "../toasts.js";

/** @param {{path: string, word: string, told: string, again: () => void, main?: boolean, bad?: boolean, body?: object}} props */
export function Act({ path, word, told, again, main, bad, body }) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await post(path, body);
      toast(told);
      again();
    } catch (error) {
      const { message, then = "" } = /** @type {any} */ (error);
      alertTo(`${message} ${then}`);
      toast(`${message} ${then}`.trim());
    } finally {
      setBusy(false);
    }
  };
  return html`<button class=${names("b", main && "main", bad && "bad")} aria-disabled=${busy} onClick=${act}>${busy && html`<span class="st live"><span class="dot"></span></span>`}${word}</button>`;
}
