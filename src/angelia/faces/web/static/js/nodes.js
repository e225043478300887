// Markdown as the server read it, a tree of known nodes, as elements; an unknown name is shown as its text.
import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { say } from "./toasts.js";

/** @typedef {string | [string, Record<string, any>, any[]?]} Node */

const PLAIN = new Set(["p", "ul", "ol", "blockquote", "em", "strong", "s", "hr", "br", "thead", "tbody", "tr"]);
const HEADINGS = { h1: "h3", h2: "h3", h3: "h4", h4: "h5", h5: "h6", h6: "h6" };
/** Of MathML: what the server makes of a formula. */
const MATH = /^m(row|style|sqrt|padded|phantom|enclose|table|tr|td|i|n|o|text|space|frac|root|sub|sup|over|under|subsup|underover)$/;
const LINKS = /^(https?|mailto):/i;

/** The words of a node alone. @param {Node} node @returns {string} */
export const wordsOf = (node) => (typeof node === "string" ? node : node[0] === "br" ? "\n" : (node[2] || []).map(wordsOf).join(""));

/** @param {{nodes: Node[]}} props */
export const Nodes = ({ nodes }) => nodes.map(element);

/** @param {Node} node @returns {any} */
function element(node) {
  if (typeof node === "string") return node;
  const [name, given, inside = []] = node;
  const children = () => inside.map(element);
  if (PLAIN.has(name)) return html`<${name} dir="auto" ...${name === "ol" && given.start > 1 ? { start: given.start } : {}}>${children()}<//>`;
  if (name in HEADINGS) return html`<${HEADINGS[/** @type {keyof typeof HEADINGS} */ (name)]} dir="auto">${children()}<//>`;
  if (name === "code") return html`<code>${children()}</code>`;
  if (name === "li") return html`<li>${given.task && html`<span class="task"><${Icon} name=${given.task === "done" ? "done" : "idle"} /><span class="sr">${given.task === "done" ? "Done: " : "Open: "}</span></span>`}${children()}</li>`;
  if (name === "pre") return html`<${Code} lang=${given.lang || ""} text=${wordsOf(node)}>${inside.map(coloured)}<//>`;
  if (name === "a") {
    const words = inside.length ? children() : given.href;
    return LINKS.test(given.href || "") ? html`<a class="link" href=${given.href} target="_blank" rel="noopener noreferrer">${words}</a>` : html`<span>${words}</span>`;
  }
  if (name === "table") return html`<div class="wide" tabindex="0" role="region" aria-label="Table"><table>${children()}</table></div>`;
  if (name === "th") return html`<th dir="auto" scope="col" class=${given.align === "right" ? "r" : ""}>${children()}</th>`;
  if (name === "td") return html`<td dir="auto" class=${given.align === "right" ? "r" : ""}>${children()}</td>`;
  if (MATH.test(name)) return html`<${name} ...${given}>${children()}<//>`;
  if (name === "math" && typeof inside[0] !== "string") return given.block ? html`<div class="wide formula" tabindex="0" role="group" aria-label="Formula"><math display="block">${children()}</math></div>` : html`<math tabindex=${wordsOf(node).length > 20 ? 0 : null}>${children()}</math>`;
  if (name === "math") return html`<code class=${given.block ? "tex block" : "tex"} aria-label="Formula in TeX">${inside.map(wordsOf).join("")}</code>`;
  return wordsOf(node);
}

/** A piece of code: what kind it is of says its colour. @param {Node} node */
const coloured = (node) => (typeof node === "string" ? node : html`<span class=${node[0]}>${wordsOf(node)}</span>`);

/** Copies, and says that it copied. @param {{text: () => string}} props */
export function Copy({ text }) {
  const [word, setWord] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setWord("Copied");
      say("Copied.");
    } catch {
      setWord("Not copied: the browser refused");
    }
    setTimeout(() => setWord("Copy"), 1600);
  };
  return html`<button class="b bare" onClick=${copy}><${Icon} name="copy" /><span>${word}</span></button>`;
}

/** @param {{lang: string, text: string, children?: any}} props */
export const Code = ({ lang, text, children }) => html`<div class="box">
  <header><span class="mono">${lang || "text"}</span><${Copy} text=${() => text} /></header>
  <pre class="code" tabindex="0" role="region" aria-label=${lang ? `Code, ${lang}` : "Code"}>${children}</pre>
</div>`;
