// Remembered yeses: what runs without asking, and until when.
import { html } from "../html.js";
import { Act } from "../acts.js";
import { Details, ListDetail } from "../list_detail.js";
import { folder, when } from "../words.js";

/** @param {{id: string}} props */
export const Grants = ({ id }) => html`<${ListDetail} page="grants" sub="What runs without asking" id=${id} none="No remembered yes" hint="“Allow for longer” at a question makes one; here it can be taken back."
  row=${(one) => ({ id: String(one.id), state: "done", word: "Allowed", title: one.pattern, line: [one.folder && folder(one.folder), one.conversation && "in one conversation", one.until ? `until ${when(one.until)}` : "no end"].filter(Boolean).join(" · "), side: when(one.at) })}>
  ${(one, again) => one && html`<div><h2 class="mono">${one.pattern}</h2><p>Whatever this covers runs without asking.</p></div><div class="go"><${Act} path=${`/api/grants/${one.id}/revoke`} word="Take it back" told="Taken back. It asks again." again=${again} main /></div>
    <${Details} rows=${[["Folder", one.folder && folder(one.folder)], ["Sandbox", one.sandbox], ["Given", when(one.at)], ["By", one.by], ["Until", one.until ? when(one.until) : "it has no end"], ["For", one.principal]]} />`}<//>`;
