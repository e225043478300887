// What was paid, as bars and columns.
import { html, names } from "./html.js";
import { dayName, money, paid, weekday } from "./words.js";

/** @param {{part: number, whole: number, label: string, live?: boolean, big?: boolean}} props */
export const Bar = ({ part, whole, label, live, big }) => html`<svg class=${names("bar", big && "big")} viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=${label}><rect class="a" width="100" height="4" /><rect class=${names("f", live && "live", part >= whole && "full")} width=${Math.min(100, (100 * part) / Math.max(1, whole))} height="4" /></svg>`;

/** @param {{cost: number, unpriced?: number}} spent @param {number} cap */
export const spentOf = (spent, cap) => (cap > 0 && spent.cost >= 0 ? `${paid(spent)} of ${money(cap)}` : paid(spent));

/** What was paid, added up for each day or model, in the order in which they first stand there. @param {any[]} rows @param {"day" | "model"} by @returns {any[]} */
export function together(rows, by) {
  /** @type {Map<any, any>} */
  const sums = new Map();
  for (const row of rows) {
    const sum = sums.get(row[by]) || { [by]: row[by], cost: 0, input: 0, output: 0, unpriced: 0 };
    for (const name of ["cost", "input", "output", "unpriced"]) sum[name] += row[name];
    sums.set(row[by], sum);
  }
  return [...sums.values()];
}

/** Columns by day. @param {{days: any[], many?: boolean}} props */
export function Days({ days, many }) {
  const most = Math.max(1, ...days.map((one) => one.cost));
  return html`<div class=${many ? "days many" : "days"}>${days.map((one, n) => {
    const height = Math.max(2, (51 * Math.max(0, one.cost)) / most);
    return html`<div class=${n === days.length - 1 ? "today" : ""}><svg viewBox="0 0 20 56" preserveAspectRatio="none" role="img" aria-label=${`${dayName(one.day)}: ${paid(one)}`}><rect x="2" width="16" y=${56 - height} height=${height} rx="2" /></svg>${many ? "" : weekday(one.day)}</div>`;
  })}</div>`;
}
