// MCP servers, as the settings name them.
import { html } from "../html.js";
import { Details, ListDetail, useAnswer } from "../list_detail.js";
import { Empty } from "../states.js";

/** @param {any} one */
const where = (one) => one.url || [one.command].flat().join(" ");
/** @param {Record<string, string>} named */
const pairs = (named) => Object.entries(named || {}).map(([name, value]) => `${name}=${value}`).join(" ");

/** @param {{id: string}} props */
export function Servers({ id }) {
  const { data, error, again } = useAnswer("/api/servers");
  const rows = data?.servers.map((one) => ({ id: one.name, state: "idle", word: "Set up", title: one.name, line: where(one) }));
  const server = data?.servers.find((one) => one.name === id);
  return html`<${ListDetail} page="servers" title="MCP servers" sub="Tools of other programs" find="Find in servers" rows=${rows || null} error=${error} again=${again} id=${id} empty=${html`<${Empty} icon="servers" title="No MCP server yet">angelia mcp says how to add one.<//>`}>
    ${server && html`<div><h2>${server.name}</h2><p class="mono">${where(server)}</p></div><section><h3>Details</h3><${Details} rows=${[["Environment", pairs(server.env)], ["Headers", pairs(server.headers)]]} /></section>`}<//>`;
}
