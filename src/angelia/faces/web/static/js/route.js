// The page's addresses: every detail has one, and "back" works.
import { Signal } from "./signal.js";

/** @typedef {{page: string, id: string, rest: string}} Route */

/** @param {string} hash @returns {Route} */
export function parse(hash) {
  const [page = "", id = "", ...rest] = hash.replace(/^#\/?/, "").split("/").map(decode);
  return { page: page || "overview", id, rest: rest.join("/") };
}

/** A part that is no percent-encoding is taken as it stands. @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} page @param {...(string | number)} parts */
export const link = (page, ...parts) => `#/${[page, ...parts].map((part) => encodeURIComponent(String(part))).join("/")}`;

/** Where we are. */
export const route = new Signal(parse(location.hash));

addEventListener("hashchange", () => route.set(parse(location.hash)));

/** @param {string} page @param {...(string | number)} parts */
export function go(page, ...parts) {
  location.hash = link(page, ...parts);
}
