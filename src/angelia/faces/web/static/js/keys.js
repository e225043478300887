// The keyboard: single letters only where nobody is typing, and they can be turned off.
import { stopTurn } from "./acts.js";
import { closePalette, nextThatWaits, openPalette, paletteIsOpen } from "./palette.js";
import { go, route } from "./route.js";
import { Signal } from "./signal.js";
import { toast } from "./toasts.js";
import { WAYS } from "./ways.js";

/** Whether single letters do something. */
export const letters = new Signal(localStorage.getItem("angelia.letters") !== "off");
letters.watch((on) => localStorage.setItem("angelia.letters", on ? "on" : "off"));

/** @type {[string, string][]} */
export const KEYS = [
  ["Ctrl K, ⌘ K", "Find anything"], ["Ctrl ., ⌘ .", "To the next that waits"], ["Y, N, L", "In a question: allow once, do not allow, allow for longer"], ["/", "Write"], ["Enter", "Send"], ["Shift Enter", "A new line"],
  ["Ctrl Enter, ⌘ Enter", "Send; it is read after this turn"], ["Esc", "Closes; twice stops the turn"], ["J, K", "Next row, row before"], ["O", "Open the row"], ["G then O R S N C", "Overview, receipts, schedule, notes, channels"], ["N", "New conversation"], ["?", "These keys"],
];

let went = -Infinity;
let escaped = -Infinity;

/** @param {number} step */
function move(step) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".rows a")]);
  if (!rows.length) return false;
  const here = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  rows[Math.max(0, Math.min(rows.length - 1, here + step))].focus();
  return true;
}

function heedEscape() {
  const twice = performance.now() - escaped < 1000;
  escaped = performance.now();
  const { page, id } = route.value;
  if (page !== "c" || !document.querySelector(".write .stop")) return;
  if (twice) void stopTurn(id);
  else toast("Esc once more stops this turn.");
}

/** @type {Record<string, () => unknown>} */
const LETTERS = {
  "/": () => /** @type {HTMLElement | null} */ (document.querySelector("#pen"))?.focus() ?? (document.querySelector("#pen") || openPalette()),
  j: () => move(1),
  k: () => move(-1),
  o: () => document.activeElement?.matches(".rows a") && /** @type {HTMLElement} */ (document.activeElement).click(),
  n: () => go("new"),
  "?": () => go("keys"),
};

addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  const typing = target.matches("input, textarea, select, [contenteditable]");
  const mod = event.ctrlKey || event.metaKey;
  if (mod && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (paletteIsOpen()) closePalette();
    else openPalette();
  } else if (mod && event.key === ".") {
    event.preventDefault();
    nextThatWaits();
  } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) heedEscape();
  else if (!typing && !mod && !event.altKey && letters.value && !document.querySelector("dialog[open]")) {
    const key = event.key.toLowerCase();
    const way = performance.now() - went < 1500 && WAYS.find(([, , , letter]) => letter === key.toUpperCase());
    if (way) {
      went = -Infinity;
      event.preventDefault();
      go(way[0]);
    } else if (key === "g") went = performance.now();
    else if (LETTERS[key]) {
      event.preventDefault();
      LETTERS[key]();
    }
  }
});
