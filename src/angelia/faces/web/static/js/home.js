// What all pages share: who waits, which conversations there are, what today cost.
import { get } from "./api.js";
import { Feed, line } from "./feed.js";
import { Signal } from "./signal.js";

/** @type {Signal<any>} */
export const home = new Signal(null);
/** What waits for the person: questions, deliveries in doubt, schedules that stopped. */
export const waiting = new Signal(/** @type {Record<"questions" | "deliveries" | "schedules", any[]>} */ ({ questions: [], deliveries: [], schedules: [] }));
/** How many things that is. */
export const waits = new Signal(0);
/** The newest conversations. @type {Signal<any[]>} */
export const conversations = new Signal(/** @type {any[]} */ ([]));
/** Grows when something changed anywhere; 0 until the stream that tells of it stands, since what is read before that would be read again, or for `STANDS_MS` at most. */
export const changes = new Signal(0);

const PAUSE_MS = 500;
/** A stream may be held back for long (a proxy between that gathers what it sends). */
const STANDS_MS = 5000;
let timer = 0;
let readAt = -PAUSE_MS;
let told = 0;
let follows = false;

export async function readHome() {
  const [about, talks, found] = await Promise.all([get("/api/home"), get("/api/conversations?limit=50"), get("/api/waiting")]);
  home.set(about);
  conversations.set(talks.conversations);
  waiting.set(found);
  waits.set(found.questions.length + found.deliveries.length + found.schedules.length);
}

/** The stream of the whole home's news: the first ones come at once. @returns {() => void} what ends it */
export function followHome() {
  const feed = new Feed(() => "/api/events", { home: () => ((follows = true), heedHome()) });
  const late = setTimeout(readAtLast, STANDS_MS);
  return () => {
    clearTimeout(late);
    feed.close();
    follows = false;
    changes.set(0);
  };
}

const readAtLast = () => changes.value || changes.set(++told);

/** Where the stream cannot be had either, what cannot be read says so itself. */
line.watch(({ lost }) => lost && readAtLast());

/** News of the whole home: read again, at most once in half a second. */
export function heedHome() {
  if (timer) return;
  timer = window.setTimeout(async () => {
    timer = 0;
    readAt = performance.now();
    if (follows) changes.set(++told);
    await readHome().catch(() => {}); // the line says that it is lost; the next news reads again
  }, Math.max(0, readAt + PAUSE_MS - performance.now()));
}
