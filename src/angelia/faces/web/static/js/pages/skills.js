// Skills: which there are, and which wait to be looked at.
import { html } from "../html.js";
import { Details, ListDetail, Notice, useAnswer } from "../list_detail.js";
import { Empty } from "../states.js";
import { sentence } from "../words.js";

/** @type {Record<string, string>} */
const STATES = { pinned: "done", new: "wait", changed: "wait", declined: "idle", unusable: "failed" };

/** @param {{id: string}} props */
export function Skills({ id }) {
  const { data, error, again } = useAnswer("/api/skills");
  const rows = data?.skills.map((one) => ({ id: one.name, state: STATES[one.state] || "idle", word: one.said, title: one.name, line: one.does, group: sentence(one.state), kind: one.state }));
  const skill = data?.skills.find((one) => one.name === id);
  const waits = skill?.state === "new" || skill?.state === "changed";
  return html`<${ListDetail} page="skills" title="Skills" sub="Instructions in folders, used once you have seen them" find="Find in skills" rows=${rows || null} error=${error} again=${again} id=${id} empty=${html`<${Empty} icon="skills" title="No skills yet">angelia skills says where their folders lie.<//>`}>
    ${skill && html`<div><h2>${skill.name}</h2><p>${skill.does}</p></div>
      ${waits && html`<${Notice} tone="wait" icon="wait" title=${skill.state === "changed" ? "It has changed since you saw it." : "You have not seen it yet."}>It is not used until you say yes, at a terminal of this machine: angelia skills pin ${skill.name}.<//>`}
      <section><h3>Details</h3><${Details} rows=${[["State", skill.said], ["Of", skill.of], ["Digest", html`<span class="mono">${(skill.digest || "").slice(0, 16)}</span>`]]} /></section>`}<//>`;
}
