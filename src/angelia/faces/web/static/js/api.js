// Requests to the house's own API, and what is thrown when one is refused.
import { Signal } from "./signal.js";

/** What went wrong, in three sentences: what, why, what next. Status 0 is no answer at all. */
export class ApiError extends Error {
  /** `wait` is in how many seconds it may be tried again. @param {number} status @param {{what?: string, why?: string, then?: string}} said */
  constructor(status, said, wait = 0) {
    super(said.what || `The server answered ${status}.`);
    this.status = status;
    this.why = said.why || "";
    this.then = said.then || "";
    this.wait = wait;
  }
}

/** All that an error says, in one line. @param {any} error */
export const saidBy = (error) => [error.message, error.why, error.then].filter(Boolean).join(" ");

/** Whether the cookie is good: false shows the page for logging in. */
export const loggedIn = new Signal(true);

/** @param {string} method @param {string} path @param {BodyInit | null} body @param {string} type @param {AbortSignal} [signal] */
async function ask(method, path, body, type, signal) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { method, body, signal, credentials: "same-origin", headers: type ? { "content-type": type } : {} });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, { what: "There is no connection.", why: "Angelia did not answer.", then: "What you wrote is kept." });
  }
  const text = response.status === 204 ? "" : await response.text();
  /** @type {any} */
  let answer = {};
  try {
    answer = text ? JSON.parse(text) : {};
  } catch {
    throw new ApiError(response.status, { what: "The answer cannot be read.", why: `It is not what this page expects (status ${response.status}).` });
  }
  if (response.ok) return answer;
  if (response.status === 401 && path !== "/api/login") loggedIn.set(false);
  throw new ApiError(response.status, answer.error || {}, Number(response.headers.get("retry-after")) || 0);
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => ask("GET", path, null, "", signal);
/** @param {string} path @param {object} [body] */
export const post = (path, body = {}) => ask("POST", path, JSON.stringify(body), "application/json");
/** Bytes of a file; the answer is what the server made of it. @param {Blob} blob @param {string} name */
export const upload = (blob, name) => ask("POST", `/api/uploads?name=${encodeURIComponent(name)}`, blob, "application/octet-stream");

/** A conversation's address in the API. @param {string} id @param {string} [rest] */
export const at = (id, rest = "") => `/api/conversations/${encodeURIComponent(id)}${rest}`;
