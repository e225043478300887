// Money and tokens by day, model and conversation.
import { html, useState } from "../html.js";
import { Answered, Choice, useAnswer } from "../list_detail.js";
import { link } from "../route.js";
import { Top } from "../shell.js";
import { Days, together } from "../spending.js";
import { dayName, paid } from "../words.js";

export function Usage() {
  const [days, setDays] = useState(30);
  const told = useAnswer(`/api/usage?days=${days}`);
  return html`<${Top} title="Usage" /><div class="page" tabindex="0" role="region" aria-label="Usage"><${Answered} of=${told}>${(data) => {
    const byDay = together(data.days, "day");
    const sum = data.days.reduce((all, one) => ({ cost: all.cost + one.cost, unpriced: all.unpriced + one.unpriced }), { cost: 0, unpriced: 0 });
    return html`<div class="wrap one"><div class="head"><h2>${paid(sum)} in ${days} days</h2><${Choice} label="Days" among=${[7, 30, 90].map((n) => [n, `${n} days`])} chosen=${days} choose=${setDays} /></div>
    ${byDay.length > 1 && html`<section class="part money"><${Days} days=${byDay} many /></section>`}
    <section class="part"><h2>By model</h2><${Table} name="Costs by model" rows=${together(data.days, "model").map((one) => [one.model, one])} /></section>
    <section class="part"><h2>By conversation</h2><${Table} name="Costs by conversation" rows=${data.conversations.map((one) => [html`<a class="link" href=${link("c", one.conversation)}>${one.title || "New conversation"}</a>`, one])} /></section>
    <section class="part"><h2>By day</h2><${Table} name="Costs by day" rows=${byDay.toReversed().map((one) => [dayName(one.day), one])} /></section></div>`;
  }}<//></div>`;
}

/** @param {{name: string, rows: [any, any][]}} props */
const Table = ({ name, rows }) => html`<div class="wide" tabindex="0" role="region" aria-label=${name}><table class="table"><thead><tr><th scope="col">What</th><th scope="col" class="r">Money</th><th scope="col" class="r">Tokens</th></tr></thead><tbody>${rows.map(([what, one]) => html`<tr><td>${what}</td><td class="r">${paid(one)}</td><td class="r">${(one.input + one.output).toLocaleString("en-US")}</td></tr>`)}</tbody></table></div>`;
