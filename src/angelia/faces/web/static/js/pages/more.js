// On a phone: the pages that have no tab.
import { html } from "../html.js";
import { Icon } from "../icons.js";
import { link } from "../route.js";
import { Top } from "../shell.js";
import { MORE, WAYS } from "../ways.js";

export function More() {
  return html`<${Top} title="More" /><nav class="page morelist" aria-label="More pages">${[...WAYS.slice(2), ...MORE].map(([page, icon, word]) => html`<a href=${link(page)}><${Icon} name=${icon} /><span>${word}</span><${Icon} name="chevron" /></a>`)}</nav>`;
}
