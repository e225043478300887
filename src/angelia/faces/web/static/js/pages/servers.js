// MCP servers, as the settings name them.
import { html } from "../html.js";
import { Details, ListDetail } from "../list_detail.js";

/** @param {any} one */
const where = (one) => one.url || [one.command].flat().join(" ");
/** @param {Record<string, string>} named */
const pairs = (named) => Object.entries(named || {}).map(([name, value]) => `${name}=${value}`).join(" ");

/** @param {{id: string}} props */
export const Servers = ({ id }) => html`<${ListDetail} page="servers" sub="Tools of other programs" id=${id} none="No MCP server yet" hint=${"`angelia mcp add` adds one in the terminal."}
  row=${(one) => ({ id: one.name, state: "idle", word: "Set up", title: one.name, line: where(one) })}>
  ${(one) => one && html`<div><h2>${one.name}</h2><p class="mono">${where(one)}</p></div><${Details} rows=${[["Environment", pairs(one.env)], ["Headers", pairs(one.headers)]]} />`}<//>`;
