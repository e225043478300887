// What a message can name behind an @: files of the folder, and what servers serve, offered while it is typed.
import { html, useEffect, useLayoutEffect, useState } from "./html.js";
import { at, get } from "./api.js";
import { say } from "./toasts.js";
import { size } from "./words.js";

/** @typedef {{path: string, mention: string, size: number}} Named */

/** `begun` stands in the field from `from` up to the caret, in the conversation that `make` gives. @param {{make: () => Promise<string>, begun: string, from: number, field: HTMLTextAreaElement, done: () => void}} props */
export function Naming({ make, begun, from, field, done }) {
  const [found, setFound] = useState(/** @type {Named[]} */ ([]));
  const [chosen, choose] = useState("");
  const picked = Math.max(found.findIndex((one) => one.path === chosen), 0); // it stays while later answers hold it
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const names = (await get(at(await make(), `/names?begun=${encodeURIComponent(begun)}`), stop.signal)).found;
        setFound(names);
        if (names.length) say(`${names.length} names. Arrows choose, Tab takes.`);
      } catch {
        if (!stop.signal.aborted) setFound([]);
      }
    }, 80);
    return () => (clearTimeout(timer), stop.abort());
  }, [begun]);

  /** @param {Named} one */
  const take = (one) => {
    field.setRangeText(`${one.mention} `, from, field.selectionStart, "end");
    field.focus();
    done();
  };
  useLayoutEffect(() => {
    if (!found.length) return;
    /** @param {KeyboardEvent} event */
    const key = (event) => {
      const step = { ArrowDown: 1, ArrowUp: found.length - 1 }[event.key];
      const takes = event.key === "Tab" ? !event.shiftKey : event.key === "Enter" && found[picked].path !== begun;
      if (event.isComposing || (!step && !takes && event.key !== "Escape")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (step) choose(found[(picked + step) % found.length].path);
      else if (takes) take(found[picked]);
      else setFound([]);
    };
    field.addEventListener("keydown", key, true);
    field.setAttribute("aria-controls", "names");
    field.setAttribute("aria-activedescendant", `n${picked}`);
    return () => {
      field.removeEventListener("keydown", key, true);
      field.removeAttribute("aria-controls");
      field.removeAttribute("aria-activedescendant");
    };
  }, [found, picked, begun]);

  return found.length ? html`<div class="menu naming" id="names" role="listbox" aria-label="Files and resources">${found.map((one, index) => html`<button role="option" id=${`n${index}`} key=${one.path} tabindex="-1" aria-selected=${index === picked} onMouseDown=${(/** @type {Event} */ e) => e.preventDefault()} onClick=${() => take(one)}><b>${one.path}</b>${one.size >= 0 && html`<span>${size(one.size)}</span>`}</button>`)}</div>` : null;
}
