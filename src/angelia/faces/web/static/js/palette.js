// Go to, do, said: one field for all of it.
import { html, useEffect, useState } from "./html.js";
import { stopTurn } from "./acts.js";
import { get } from "./api.js";
import { Dialog } from "./dialog.js";
import { conversations, waiting } from "./home.js";
import { Icon } from "./icons.js";
import { go, route } from "./route.js";
import { Signal, useSignal } from "./signal.js";
import { otherTheme } from "./theme.js";
import { MORE, TALKS, WAYS } from "./ways.js";
import { when } from "./words.js";

const opened = new Signal(false);
export const openPalette = () => opened.set(true);
export const closePalette = () => opened.set(false);
export const paletteIsOpen = () => opened.value;

/** @typedef {{words: string, hint?: string, key?: string, act: () => void}} Choice */

/** @returns {[string, Choice[]][]} */
function choices() {
  const here = route.value;
  /** @type {Choice[]} */
  const doing = [
    { words: "Answer what waits", key: "Ctrl .", act: nextThatWaits },
    { words: "New conversation", key: "N", act: () => go("new") },
    ...(here.page === "c" ? [{ words: "Stop this turn", key: "Esc Esc", act: () => void stopTurn(here.id) }] : []),
    { words: "Dark or light", act: otherTheme },
    { words: "Keys", key: "?", act: () => go("keys") },
  ];
  return [
    ["Do", doing],
    ["Go to", [...conversations.value.map((talk) => ({ words: talk.title || "New conversation", hint: talk.waits ? "waits for you" : talk.open ? "at work" : when(talk.last_at), act: () => go("c", talk.id) })), ...[TALKS, ...WAYS, ...MORE].map(([page, , word, key]) => ({ words: word, key: key && `G ${key}`, act: () => go(page) }))]],
  ];
}

/** To the oldest question; in its own conversation, with the focus on it. */
export function nextThatWaits() {
  const here = /** @type {HTMLElement | null} */ (document.querySelector(".ask"));
  if (here) return here.focus();
  const first = waiting.value.questions[0];
  if (first) go("c", first.conversation);
  else go("overview");
}

export function Palette() {
  const shown = useSignal(opened);
  return shown ? html`<${OpenPalette} />` : null;
}

function OpenPalette() {
  const [words, setWords] = useState("");
  const [picked, setPicked] = useState(0);
  const [found, setFound] = useState(/** @type {any[] | null} */ (null));
  useEffect(() => {
    setFound(null);
    if (words.trim().length < 2) return;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setFound((await get(`/api/conversations?limit=8&q=${encodeURIComponent(words.trim())}`, stop.signal)).found);
      } catch {
        if (!stop.signal.aborted) setFound([]);
      }
    }, 150);
    return () => (clearTimeout(timer), stop.abort());
  }, [words]);

  const wanted = words.toLowerCase();
  /** @type {[string, Choice[]][]} */
  const groups = choices();
  if (found?.length) groups.push(["Said in conversations", found.map((one) => ({ words: `“${one.line}”`, hint: `${one.title}, ${when(one.at)}`, act: () => go("c", one.conversation, one.seq) }))]);
  const fitting = groups.map(([title, all]) => /** @type {[string, Choice[]]} */ ([title, title.startsWith("Said") ? all : all.filter((one) => one.words.toLowerCase().includes(wanted)).slice(0, wanted ? 12 : 8)])).filter(([, all]) => all.length);
  const flat = fitting.flatMap(([, all]) => all);
  const current = flat[Math.min(picked, flat.length - 1)];
  /** @param {Choice} choice */
  const take = (choice) => {
    closePalette();
    choice.act();
  };
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const step = { ArrowDown: 1, ArrowUp: flat.length - 1 }[event.key];
    if (step && flat.length) {
      event.preventDefault();
      const next = (Math.min(picked, flat.length - 1) + step) % flat.length;
      setPicked(next);
      requestAnimationFrame(() => document.getElementById(`o${next}`)?.scrollIntoView({ block: "nearest" }));
    }
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (current) take(current);
      else if (words.trim()) take({ words, act: () => go("conversations", "find", words.trim()) });
    }
  };
  return html`<${Dialog} cls="pal" label="Find anything" closed=${closePalette} onKeyDown=${key}>${() => html`
    <label class="field"><${Icon} name="find" /><input type="text" role="combobox" aria-expanded="true" aria-controls="opts" aria-activedescendant=${current ? `o${flat.indexOf(current)}` : null} aria-label="Find anything" placeholder="Conversations, pages, commands, what was said" autofocus onInput=${(e) => (setWords(e.target.value), setPicked(0))} /></label>
    <div id="opts" role="listbox" aria-label="Found" class="opts" tabindex="0">${fitting.map(([title, all]) => html`<div role="group" aria-label=${title} key=${title}><p class="lab" aria-hidden="true">${title}</p>${all.map((one) => html`<div role="option" id=${`o${flat.indexOf(one)}`} aria-selected=${one === current} onClick=${() => take(one)}><span>${one.words}</span>${one.key ? html`<kbd>${one.key}</kbd>` : html`<span class="hint">${one.hint || ""}</span>`}</div>`)}</div>`)}</div>
    ${!flat.length && html`<p class="empty">Nothing is called that. Enter searches what was said.</p>`}`}<//>`;
}
