// Words in which commands stand between backquotes, as errors have them.
import { html } from "./html.js";

/** What stands between backquotes is a command or a name; one that stands alone stays. @param {any} text */
export const withCode = (text) => (typeof text === "string" ? text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? html`<code>${part}</code>` : part)) : text);
