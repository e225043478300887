// The chat networks, and how each connection is.
import { html } from "../html.js";
import { Details, ListDetail, Notice } from "../list_detail.js";
import { door, sentence, when } from "../words.js";

/** When that was, if it was. @param {number} at */
const since = (at) => (at ? when(at) : "");

/** @param {any} one @param {number} gateway since when it runs, or 0 */
function lineOf(one, gateway) {
  if (!one.enabled) return ["idle", "off"];
  if (!gateway) return ["idle", "no gateway is running"];
  return one.state === "connected" || one.state === "running" ? ["done", one.state] : one.why ? ["failed", one.state || "failed"] : ["way", one.state || "connecting"];
}

/** @param {{id: string}} props */
export const Channels = ({ id }) => html`<${ListDetail} page="channels" sub="Chat networks, and how each connection is" id=${id} none="No channel yet" hint=${"`angelia channels add` sets one up in the terminal."}
  row=${(one, { gateway }) => {
    const [state, word] = lineOf(one, gateway);
    return { id: one.door, state, word, title: one.door, line: [door(one.kind), word, one.failed && `${one.failed} failed`].filter(Boolean).join(" · "), side: since(one.heard) };
  }}>
  ${(one, again, data) => {
    if (!one) return null;
    const [state, word] = lineOf(one, data.gateway);
    return html`<div><h2>${one.door}</h2><p>${door(one.kind)}</p></div>${state === "failed" && html`<${Notice} tone="" icon="failed" title="It is not connected.">${one.why}<//>`}
      <${Details} rows=${[["State", sentence(word)], ["Since", since(one.since)], ["Last heard", since(one.heard)], ["Waiting to go", one.waiting], ["Unknown", one.unknown], ["Failed", one.failed]]} />`;
  }}<//>`;
