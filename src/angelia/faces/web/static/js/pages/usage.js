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
    <${Table} what="Model" rows=${together(data.days, "model").map((one) => [one.model, one])} />
    <${Table} what="Conversation" rows=${data.conversations.map((one) => [html`<a class="link" href=${link("c", one.conversation)}>${one.title || "New conversation"}</a>`, one])} />
    <${Table} what="Day" rows=${byDay.toReversed().map((one) => [dayName(one.day), one])} /></div>`;
  }}<//></div>`;
}

/** @param {{what: string, rows: [any, any][]}} props */
const Table = ({ what, rows }) => rows.length > 0 && html`<section class="part"><h2>By ${what.toLowerCase()}</h2><div class="wide" tabindex="0" role="region" aria-label=${what}><table class="table"><thead><tr><th scope="col">${what}</th><th scope="col" class="r">Money</th><th scope="col" class="r">Tokens</th></tr></thead><tbody>${rows.map(([name, one]) => html`<tr><td>${name}</td><td class="r">${paid(one)}</td><td class="r">${(one.input + one.output).toLocaleString("en-US")}</td></tr>`)}</tbody></table></div></section>`;
