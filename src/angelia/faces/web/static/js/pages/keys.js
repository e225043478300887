// The list of keys.
import { html } from "../html.js";
import { KEYS, letters } from "../keys.js";
import { Top } from "../shell.js";
import { useSignal } from "../signal.js";

export function Keys() {
  const on = useSignal(letters);
  return html`<${Top} title="Keys" /><div class="page" tabindex="0" role="region" aria-label="Keys"><div class="wrap narrow"><dl class="f2 keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <label class="check"><input type="checkbox" checked=${on} onChange=${(/** @type {any} */ e) => letters.set(e.target.checked)} />Single letters do something</label></div></div>`;
}
