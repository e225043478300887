// Settings, with where each comes from.
import { html, useState } from "../html.js";
import { Act } from "../acts.js";
import { Details, ListDetail, mono } from "../list_detail.js";

/** @param {any} value */
const shown = (value) => (value === "" || value === null ? "empty" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** @param {{id: string}} props */
export const Settings = ({ id }) => html`<${ListDetail} page="settings" sub="With where each comes from" find="Find a setting" id=${id} none="No settings" hint="This server tells none."
  row=${(one) => ({ id: one.name, state: one.from === "default" ? "idle" : "done", word: one.from, title: one.name, line: shown(one.value), side: one.from, group: one.name.includes(".") ? one.name.split(".")[0] : "general", kind: one.from === "default" ? "default" : "own" })}
  filters=${[["own", "Changed"]]}>
  ${(setting, again, data) => setting && html`<div><h2 class="mono">${setting.name}</h2></div><${Details} rows=${[["Value", mono(shown(setting.value))], ["Comes from", setting.from], ["File", mono(data.file)], ["From the next start on", setting.next !== undefined && mono(shown(setting.next))]]} /><${Change} key=${setting.name} setting=${setting} again=${again} />`}<//>`;

/** @param {{setting: any, again: () => void}} props */
function Change({ setting, again }) {
  const now = setting.next === undefined ? setting.value : setting.next;
  const [value, setValue] = useState(typeof now === "object" && now !== null ? JSON.stringify(now) : String(now ?? ""));
  const body = { name: setting.name, value };
  const told = "It is in the file, and holds from the next start on.";
  return html`<section><h3>Change it</h3><form class="change" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}><label class="sr" for="setting-value">Value of ${setting.name}</label><input id="setting-value" class="field mono" value=${value} onInput=${(/** @type {any} */ event) => setValue(event.target.value)} />
    <p class="acts"><${Act} path="/api/settings" word="Write it to the file" told=${told} again=${again} main body=${body} /><${Act} path="/api/settings" word="Back to the default" told="The default holds from the next start on." again=${again} body=${{ name: setting.name, value: null }} /></p></form></section>`;
}
