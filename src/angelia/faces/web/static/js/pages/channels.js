// The chat networks, and how each connection is.
import { html } from "../html.js";
import { Details, ListDetail, Notice, useAnswer } from "../list_detail.js";
import { Empty } from "../states.js";
import { door, sentence, when } from "../words.js";

/** @param {any} one @param {number} gateway since when it runs, or 0 */
function lineOf(one, gateway) {
  if (!one.enabled) return ["idle", "off"];
  if (!gateway) return ["idle", "no gateway is running"];
  return one.state === "connected" || one.state === "running" ? ["done", one.state] : one.why ? ["failed", one.state || "failed"] : ["way", one.state || "connecting"];
}

/** @param {{id: string}} props */
export function Channels({ id }) {
  const { data, error, again } = useAnswer("/api/channels");
  const rows = data?.channels.map((one) => {
    const [state, word] = lineOf(one, data.gateway);
    return { id: one.door, state, word, title: one.door, line: [door(one.kind), word, one.failed && `${one.failed} failed`].filter(Boolean).join(" · "), side: one.heard ? when(one.heard) : "" };
  });
  const channel = data?.channels.find((one) => one.door === id);
  const [state, word] = channel ? lineOf(channel, data.gateway) : ["", ""];
  return html`<${ListDetail} page="channels" title="Channels" sub="Chat networks, and how each connection is" find="Find in channels" rows=${rows || null} error=${error} again=${again} id=${id} empty=${html`<${Empty} icon="channels" title="No channel yet">angelia channels add sets one up in the terminal.<//>`}>
    ${channel && html`<div><h2>${channel.door}</h2><p>${door(channel.kind)}</p></div>${state === "failed" && html`<${Notice} tone="" icon="failed" title="It is not connected.">${channel.why}<//>`}
      <section><h3>Details</h3><${Details} rows=${[["State", sentence(word)], ["Since", channel.since ? when(channel.since) : ""], ["Last heard", channel.heard ? when(channel.heard) : ""], ["Waiting to go", channel.waiting], ["Unknown", channel.unknown], ["Failed", channel.failed]]} /></section>`}<//>`;
}
