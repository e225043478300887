// What was just done, for a few seconds; and the one polite voice for screen readers.
import { html } from "./html.js";
import { Signal, useSignal } from "./signal.js";
import { withCode } from "./with_code.js";

/** @typedef {{id: number, text: string, undo: (() => void) | null}} Toast */
/** @type {Signal<Toast[]>} */
const toasts = new Signal(/** @type {Toast[]} */ ([]));
const spoken = new Signal("");
const alerted = new Signal("");
let last = 0;

/** Beginnings, ends and questions; never pieces. @param {string} text */
export const say = (text) => spoken.set(text.replaceAll("`", ""));
/** A failure, at once. @param {string} text */
export const alertTo = (text) => alerted.set(text.replaceAll("`", ""));

/** Never for an error, and never the only trace. @param {string} text @param {() => void} [undo] */
export function toast(text, undo) {
  const id = ++last;
  const remove = () => toasts.set(toasts.value.filter((one) => one.id !== id));
  toasts.set([...toasts.value, { id, text, undo: undo ? () => (undo(), remove()) : null }]);
  say(text);
  setTimeout(remove, undo ? 12_000 : 5_000);
}

export function Toasts() {
  const shown = useSignal(toasts);
  return html`${shown.length > 0 && html`<section class="toasts" aria-label="What was just done">${shown.map((one) => html`<div class="toast" key=${one.id}><span>${withCode(one.text)}</span>${one.undo && html`<button class="b" onClick=${one.undo}>Undo</button>`}</div>`)}</section>`}
    <div class="sr" role="status">${useSignal(spoken)}</div><div class="sr" role="alert">${useSignal(alerted)}</div>`;
}
