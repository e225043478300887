// The list of keys, and what the page does by itself.
import { html } from "../html.js";
import { KEYS, letters } from "../keys.js";
import { notifies, setNotifies } from "../notify.js";
import { Top } from "../shell.js";
import { useSignal } from "../signal.js";
import { toast } from "../toasts.js";

export function Keys() {
  const on = useSignal(letters);
  const told = useSignal(notifies);
  /** @param {any} event */
  const notify = async ({ target }) => {
    if (!(await setNotifies(target.checked))) toast("The browser does not allow it. Its settings for this page say so.");
    target.checked = notifies.value;
  };
  return html`<${Top} title="Keys" /><div class="page" tabindex="0" role="region" aria-label="Keys"><div class="wrap narrow"><dl class="f2 keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <label class="check"><input type="checkbox" checked=${on} onChange=${(e) => letters.set(e.target.checked)} />Single letters do something</label>
    <label class="check"><input type="checkbox" checked=${told} onChange=${notify} />Tell me outside of the page when something waits</label></div></div>`;
}
