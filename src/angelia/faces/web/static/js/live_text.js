// A reply as it is written: finished blocks are never touched, and only the last text node grows.
import { html, useEffect, useRef } from "./html.js";

const FENCE = /^\s*(```+|~~~+)\s*([\w+.-]*)/;

/** Raw text into paragraphs and code, block by block. */
export class LiveText {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    this.caret = document.createElement("span");
    this.caret.className = "caret";
    this.at = 0;
    this.shown = 0;
    this.fence = "";
    /** @type {Text | null} */
    this.node = null;
  }

  clear() {
    this.box.replaceChildren();
    this.at = 0;
    this.shown = 0;
    this.fence = "";
    this.node = null;
  }

  /** Shows what has been written so far; `text` only ever grows until `clear`. @param {string} text */
  write(text) {
    let end;
    while ((end = text.indexOf("\n", this.at)) >= 0) {
      this.line(text.slice(this.at, end));
      this.at = end + 1;
      this.shown = 0;
    }
    const rest = text.slice(this.at);
    // A line that may yet become a fence is held back until it is whole.
    if (rest && !/^\s*[`~]{1,}[^`\s]*$/.test(rest) && rest.length > this.shown) {
      this.append(rest.slice(this.shown));
      this.shown = rest.length;
    }
    this.node?.parentElement?.append(this.caret);
  }

  /** @param {string} line a whole one, of which `shown` characters stand there already */
  line(line) {
    const fence = this.shown ? null : FENCE.exec(line);
    if (this.fence) {
      if (fence && line.trim().startsWith(this.fence)) this.close();
      else this.append(`${line.slice(this.shown)}\n`);
    } else if (fence) {
      this.close();
      this.open("pre", "code");
      this.fence = fence[1];
    } else if (!line.trim()) this.close();
    else this.append(`${line.slice(this.shown)}\n`);
  }

  /** @param {string} text */
  append(text) {
    if (!this.node) this.open("p", "");
    this.node?.appendData(text);
  }

  /** @param {string} tag @param {string} cls */
  open(tag, cls) {
    const block = document.createElement(tag);
    if (cls) block.className = cls;
    block.dir = "auto";
    this.node = block.appendChild(document.createTextNode(""));
    this.box.append(block);
  }

  close() {
    if (this.node) this.node.data = this.node.data.replace(/\n$/, "");
    this.node = null;
    this.fence = "";
  }
}

/** The row at the end of the log that is not in the log yet. @param {{live: {text: string, thinking: string, begun: number, version: import("./signal.js").Signal<number>}}} props */
export function LiveRow({ live }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const thought = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const text = new LiveText(/** @type {HTMLElement} */ (box.current));
    let begun = live.begun;
    let frame = 0;
    const draw = () => {
      frame = 0;
      if (!thought.current) return; // it is taken out, and its effects are ended only afterwards
      if (begun !== live.begun) text.clear();
      begun = live.begun;
      text.write(live.text);
      const thinking = /** @type {HTMLElement} */ (thought.current);
      thinking.hidden = !live.thinking || Boolean(live.text);
      if (!thinking.hidden) thinking.textContent = live.thinking.slice(-400);
    };
    const soon = () => (frame ||= requestAnimationFrame(draw));
    draw();
    const end = live.version.watch(soon);
    return () => (end(), cancelAnimationFrame(frame));
  }, [live]);
  return html`<li class="live" key="live"><span class="node live"></span><div><p class="thinking" ref=${thought} hidden></p><div class="text growing" ref=${box}></div></div></li>`;
}
