// Remembered yeses: what runs without asking, and until when.
import { html } from "../html.js";
import { Act } from "../acts.js";
import { Details, ListDetail, useAnswer } from "../list_detail.js";
import { Empty } from "../states.js";
import { folder, when } from "../words.js";

/** @param {{id: string}} props */
export function Grants({ id }) {
  const { data, error, again } = useAnswer("/api/grants");
  const rows = data?.grants.map((one) => ({ id: String(one.id), state: "done", word: "Allowed", title: one.pattern, line: [one.folder && folder(one.folder), one.conversation && "in one conversation", one.until ? `until ${when(one.until)}` : "no end"].filter(Boolean).join(" · "), side: when(one.at) }));
  const grant = data?.grants.find((one) => String(one.id) === id);
  return html`<${ListDetail} page="grants" title="Grants" sub="What runs without asking" find="Find in grants" rows=${rows || null} error=${error} again=${again} id=${id} empty=${html`<${Empty} icon="grants" title="No remembered yes">“Allow for longer” at a question makes one; here it can be taken back.<//>`}>
    ${grant && html`<div><h2 class="mono">${grant.pattern}</h2><p>Whatever this covers runs without asking.</p></div><div class="go"><${Act} path=${`/api/grants/${encodeURIComponent(id)}/revoke`} word="Take it back" told="Taken back. It asks again." again=${again} main=${true} /></div>
      <section><h3>Details</h3><${Details} rows=${[["Folder", grant.folder && folder(grant.folder)], ["Sandbox", grant.sandbox], ["Given", when(grant.at)], ["By", grant.by], ["Until", grant.until ? when(grant.until) : "it has no end"], ["For", grant.principal]]} /></section>`}<//>`;
}
