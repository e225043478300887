// What was written here and is not stored yet: kept in this browser, sent again unchanged until it is.
import { ApiError, at, post, saidBy } from "./api.js";
import { line } from "./feed.js";
import { Signal } from "./signal.js";

/** @typedef {{conversation: string, key: string, text: string, arrival: string, files: {id: string, name: string, size: number}[], at: number, trouble: string}} Letter */

const OUTBOX = "angelia.outbox";

/** @type {Signal<Letter[]>} */
export const outbox = new Signal(/** @type {Letter[]} */ (read()));
/** @type {Set<string>} */
const going = new Set();

function read() {
  try {
    return JSON.parse(localStorage.getItem(OUTBOX) || "[]");
  } catch {
    return [];
  }
}

/** @param {Letter[]} letters */
function keep(letters) {
  outbox.set(letters);
  localStorage.setItem(OUTBOX, JSON.stringify(letters));
}

/** The key is the letter's own for ever, so that a repeat is absorbed. @param {Omit<Letter, "key" | "at" | "trouble">} said */
export function write(said) {
  const letter = { ...said, key: crypto.randomUUID(), at: Date.now(), trouble: "" };
  keep([...outbox.value, letter]);
  return send(letter);
}

/** @param {Letter} letter @returns {Promise<any>} what the server answered, or null if the letter waits here */
export async function send(letter) {
  if (going.has(letter.key)) return null;
  going.add(letter.key);
  try {
    const { text, arrival, key, files } = letter;
    const answer = await post(at(letter.conversation, "/messages"), { text, arrival, key, files: files.map((one) => one.id) });
    if (answer.reply || answer.conversation) dropSent(key);
    else setTimeout(dropSent, 3000, key); // the log brings it before that; a line that is down must not show it as unsent
    return answer;
  } catch (error) {
    const trouble = error instanceof ApiError && error.status ? saidBy(error) : "There is no connection. It is kept here and sent when there is one.";
    keep(outbox.value.map((one) => (one.key === letter.key ? { ...one, trouble } : one)));
    return null;
  } finally {
    going.delete(letter.key);
  }
}

/** It is in the log, or was let go. @param {string} key */
export function dropSent(key) {
  if (outbox.value.some((one) => one.key === key)) keep(outbox.value.filter((one) => one.key !== key));
}

/** Whatever waits goes out in its order once the line is back. */
line.watch(async ({ lost }) => {
  if (!lost) for (const letter of outbox.value) await send(letter);
});
