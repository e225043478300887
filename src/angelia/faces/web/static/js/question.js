// A question that waits: its whole text, read to its end before a yes, and deaf for its first half second.
import { html, names, useLayoutEffect, useRef, useState } from "./html.js";
import { ApiError, at, post } from "./api.js";
import { Dialog } from "./dialog.js";
import { Icon, State } from "./icons.js";
import { line } from "./feed.js";
import { Media } from "./media.js";
import { link } from "./route.js";
import { useSignal } from "./signal.js";
import { alertTo, toast } from "./toasts.js";
import { count, second } from "./words.js";

const DEAF_MS = 500;

/** @typedef {{call: string, digest: string, question: string, why: string, whole: string, pattern: string, choices: string[], asks: string, expires: number, at: number, seq: number, marks?: [number, number][], picture?: any, facts?: [string, string][], covers?: string[]}} Question */

/** Answers it; what was answered elsewhere in the meantime is no failure. @param {string} conversation @param {Question} question @param {object} words @param {string} told */
export async function answer(conversation, question, words, told) {
  if (line.value.lost) return void alertTo("There is no connection: nothing is allowed until there is one. The question stays.");
  try {
    await post(at(conversation, "/answers"), { call: question.call, digest: question.digest, yes: true, words: "", scope: "once", until: 0, ...words });
    toast(told);
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) toast("It was answered elsewhere.");
    else alertTo(/** @type {Error} */ (error).message);
  }
}

/** The whole of what is asked, with control characters made visible and what leaves the machine marked. @param {{question: Question & {title?: string}}} props */
function Whole({ question }) {
  const text = question.whole || "";
  if (!text) return null;
  /** @type {any[]} */
  const pieces = [];
  let from = 0;
  for (const [start, end] of question.marks || []) {
    pieces.push(text.slice(from, start), html`<mark>${text.slice(start, end)}</mark>`);
    from = end;
  }
  pieces.push(text.slice(from));
  return html`<pre class="cmd" tabindex="0" role="region" aria-label=${`The whole of it, asked ${second(question.at)}${question.title ? ` in ${question.title}` : ""}`}>${pieces}</pre>`;
}

/** @param {{question: Question}} props */
function Facts({ question }) {
  const lines = question.whole ? question.whole.split("\n").length : 0;
  return html`<div class="facts">${lines > 0 && html`<span><b>${count(lines, "line")}</b>, all shown</span>`}${(question.facts || []).map(([name, value]) => html`<span><b>${name}</b> ${value}</span>`)}</div>`;
}

/** What it is about, to be seen and read whole. @param {{question: Question & {title?: string}, conversation: string}} props */
export const Matter = ({ question, conversation }) => html`${question.picture && html`<p><a class="b" href=${link("live", conversation)}>Act in the page</a></p><${Media} id=${conversation} file=${question.picture} />`}<${Whole} question=${question} />${question.asks === "permission" && html`<${Facts} question=${question} />`}`;

/** Deaf after it appears or changes, so that a press meant for something else does not land on it. @param {unknown[]} on */
export function useDeaf(on) {
  const since = useRef(performance.now());
  useLayoutEffect(() => {
    since.current = performance.now();
  }, on);
  return { deaf: () => performance.now() - since.current < DEAF_MS, again: () => (since.current = performance.now()) };
}

/** @param {{question: Question, number: number, of: number, conversation: string}} props */
export function Ask({ question, number, of, conversation }) {
  const inner = useRef(/** @type {HTMLElement | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [read, setRead] = useState(false);
  const [folded, setFolded] = useState(false);
  const [busy, setBusy] = useState(false);
  const [longer, setLonger] = useState(false);
  const { lost } = useSignal(line);
  const { deaf, again } = useDeaf([question.call, question.digest]);

  useLayoutEffect(() => {
    setRead(false);
    const part = /** @type {HTMLElement} */ (inner.current);
    let done = false;
    const look = () => {
      if (done || !part.clientHeight || part.scrollHeight - part.scrollTop - part.clientHeight >= 8) return;
      done = true;
      again();
      setRead(true);
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(part);
    part.addEventListener("scroll", look, { passive: true });
    look();
    return () => (sizes.disconnect(), part.removeEventListener("scroll", look));
  }, [question.call, question.digest]);

  /** @param {object} words @param {string} told */
  const give = async (words, told) => {
    if (deaf() || busy) return;
    setBusy(true);
    const inside = box.current?.contains(document.activeElement);
    await answer(conversation, question, words, told);
    setBusy(false);
    if (inside) requestAnimationFrame(() => /** @type {HTMLElement | null} */ (document.querySelector(".ask") || document.querySelector("#pen"))?.focus());
  };
  const yes = () => {
    const part = /** @type {HTMLElement} */ (inner.current);
    if (!read) part.scrollTop += Math.max(64, part.clientHeight - 64);
    else void give({ yes: true }, "Allowed once. It runs now.");
  };
  const no = () => give({ yes: false }, "Not allowed. Angelia was told.");
  /** @param {KeyboardEvent} event */
  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /** @type {Element} */ (event.target).matches("input, textarea, select")) return;
    const act = { y: yes, n: no, l: () => read && setLonger(true) }[event.key.toLowerCase()];
    if (!act || question.asks === "choice") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const choice = question.asks === "choice";
  return html`<section class=${names("ask", folded && "folded")} tabindex="-1" ref=${box} aria-label=${`Waits for you: ${question.question}`} data-read=${read ? "yes" : null} onKeyDown=${keys}>
    <div class="q"><${State} of="wait" shown />${of > 1 && html`<span>${number} of ${of}</span>`}<strong>${question.question}</strong><span class="end">asked ${second(question.at)}</span>
      <button class="b" aria-expanded=${!folded} aria-label=${folded ? "Unfold the question" : "Fold the question; it stays"} onClick=${() => setFolded(!folded)}><${Icon} name="chevron" /></button></div>
    <div class="in" ref=${inner} tabindex="-1"><div><h2>${question.question}</h2>${question.why && html`<p>${question.why}</p>`}</div><${Matter} question=${question} conversation=${conversation} /></div>
    ${lost && html`<p class="cannot">No connection: answering waits until there is one.</p>`}
    <div class="go">${choice
      ? question.choices.map((words, n) => html`<button class=${n ? "b" : "b main"} aria-disabled=${lost || busy} onClick=${() => give({ yes: true, words }, `Answered: ${words}`)}>${words}</button>`)
      : html`<button class="b main" aria-disabled=${lost || busy} onClick=${yes}>${read ? "Allow once" : "Read on"} <kbd aria-hidden="true">Y</kbd></button>
        <button class="b" aria-disabled=${lost || busy} onClick=${no}>Don’t allow <kbd aria-hidden="true">N</kbd></button>
        ${question.pattern && html`<button class="b bare push" aria-haspopup="dialog" aria-label="Allow for longer…" aria-disabled=${lost || busy || !read} onClick=${() => read && setLonger(true)}><span class="long">Allow for longer…</span><span class="short">Longer…</span></button>`}`}</div>
    ${longer && html`<${Longer} question=${question} close=${() => setLonger(false)} give=${(/** @type {object} */ words, /** @type {string} */ told) => (setLonger(false), again(), answer(conversation, question, words, told))} />`}
  </section>`;
}

/** For how long: the end is always said. @type {[string, string, (() => number)][]} */
const ENDS = [
  ["conversation", "In this conversation", () => 0],
  ["hour", "For an hour", () => Date.now() + 3_600_000],
  ["day", "Until midnight", () => new Date().setHours(24, 0, 0, 0)],
  ["month", "For 30 days", () => Date.now() + 30 * 86_400_000],
];

/** Never one tap: the exact pattern, what else it would have covered, and an end. @param {{question: Question, close: () => void, give: (words: object, told: string) => void}} props */
export function Longer({ question, close, give }) {
  const [until, setUntil] = useState("conversation");
  const opened = useRef(performance.now());
  const allow = () => {
    if (performance.now() - opened.current < DEAF_MS) return;
    const [, words, end] = ENDS.find(([name]) => name === until) || ENDS[0];
    give({ yes: true, scope: until === "conversation" ? "conversation" : "remembered", until: end(), at: Date.now() }, `Allowed: ${words.toLowerCase()}.`);
  };
  return html`<${Dialog} cls="longer" label="Allow for longer" closed=${close} onKeyDown=${(/** @type {Event} */ e) => e.stopPropagation()}>${(/** @type {() => void} */ shut) => html`
    <h2>Allow for longer</h2><p>Whatever this covers runs without asking, until the end that you choose.</p>
    <h3>What it covers</h3><pre class="cmd" tabindex="0" role="region" aria-label="The exact pattern">${question.pattern}</pre>
    ${question.covers?.length ? html`<h3>It would also have covered</h3><ul class="covers">${question.covers.map((one) => html`<li><code>${one}</code></li>`)}</ul>` : null}
    <fieldset><legend>Until when</legend>${ENDS.map(([name, words]) => html`<label><input type="radio" name="until" value=${name} checked=${until === name} onChange=${() => setUntil(name)} />${words}</label>`)}</fieldset>
    <div class="go"><button class="b" onClick=${shut} autofocus>Cancel</button><button class="b main" onClick=${allow}>Allow until then</button></div>`}<//>`;
}
