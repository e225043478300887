// What is asked of the server by a press: one at a time, and a word where it cannot be had.
import { html, names, useState } from "./html.js";
import { at, post, saidBy } from "./api.js";
import { alertTo, toast } from "./toasts.js";

/** Says why it failed, for those who listen. @param {Promise<any>} asked */
export const tried = (asked) => asked.catch((error) => alertTo(error.message));

/** @param {string} id */
export const stopTurn = (id) => tried(post(at(id, "/stop")));

/** @param {string} id */
export const goOn = (id) => tried(post(at(id, "/resume")));

/** Whether something is going on, and what begins it: nothing else begins meanwhile. @returns {[boolean, (act: () => Promise<any>) => Promise<void>]} */
export function useBusy() {
  const [busy, setBusy] = useState(false);
  const once = async (/** @type {() => Promise<any>} */ act) => {
    if (busy) return;
    setBusy(true);
    try {
      await act();
    } finally {
      setBusy(false);
    }
  };
  return [busy, once];
}

/** A dot that breathes. */
export const AtWork = () => html`<span class="st live"><span class="dot"></span></span>`;

/** Shows that its press is at work; without `act` it sends its form. @param {{busy: boolean, word: string, act?: () => void, off?: boolean, main?: boolean, bad?: boolean}} props */
export const Press = ({ busy, word, act, off, main, bad }) => html`<button class=${names("b", main && "main", bad && "bad")} type=${act ? "button" : "submit"} aria-disabled=${busy || Boolean(off)} onClick=${act}>${busy && html`<${AtWork} />`}${word}</button>`;

/** Asks for one thing, says what came of it, and reads again. @param {{path: string, word: string, told: string, again: () => void, main?: boolean, bad?: boolean, body?: object}} props */
export function Act({ path, word, told, again, main, bad, body }) {
  const [busy, once] = useBusy();
  const act = () => once(async () => {
    try {
      await post(path, body);
      toast(told);
      again();
    } catch (error) {
      alertTo(saidBy(error));
      toast(saidBy(error));
    }
  });
  return html`<${Press} busy=${busy} word=${word} act=${act} main=${main} bad=${bad} />`;
}
