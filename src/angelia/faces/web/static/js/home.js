// What all pages share: who waits, which conversations there are, what today cost.
import { get } from "./api.js";
import { Signal } from "./signal.js";

/** @type {Signal<any>} */
export const home = new Signal(null);
/** How many things wait for the person. */
export const waits = new Signal(0);
/** The newest conversations. @type {Signal<any[]>} */
export const conversations = new Signal(/** @type {any[]} */ ([]));
/** Questions of all conversations. @type {Signal<any[]>} */
export const questions = new Signal(/** @type {any[]} */ ([]));
/** Grows when something changed anywhere. */
export const changes = new Signal(0);

let timer = 0;

export async function readHome() {
  const [about, talks, asked] = await Promise.all([get("/api/home"), get("/api/conversations?limit=50"), get("/api/questions")]);
  home.set(about);
  conversations.set(talks.conversations);
  questions.set(asked.questions);
  waits.set(asked.questions.length);
}

/** News of the whole home: read again, at most once in half a second. @param {any} news */
export function heedHome(news) {
  waits.set(news.waits ?? waits.value);
  if (timer) return;
  timer = window.setTimeout(async () => {
    timer = 0;
    try {
      await readHome();
      changes.set(changes.value + 1);
    } catch {
      // The line says that it is lost; the next news reads again.
    }
  }, 500);
}
