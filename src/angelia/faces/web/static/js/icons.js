// The signs: one for each meaning, always beside a word.
import { html, names } from "./html.js";

const PATHS = {
  mark: "M3 13 8 2.5 13 13M5 9.5c2 1.2 4 1.2 6 0",
  plus: "M8 3v10M3 8h10",
  find: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5l3 3",
  home: "M2.5 7 8 2.5 13.5 7M4 6v7.5h8V6",
  receipts: "M2.5 9.5v4h11v-4M8 10V2.5M5 5.5l3-3 3 3",
  schedule: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3l2 1.5",
  notes: "M3.5 2.5h9v8l-3 3h-6zM9.5 13.5v-3h3",
  skills: "M8 2v12M2 8h12M4 4l8 8M12 4l-8 8",
  channels: "M6 2.5v3M10 2.5v3M4 5.5h8v2.5a4 4 0 0 1-8 0zM8 12v2",
  logins: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5M8 10v1.5",
  servers: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  grants: "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4zM5.5 8l2 2 3-3.5",
  audit: "M3.5 2.5h9v11h-9zM5.5 6l1 1 1.5-2M5.5 10.5l1 1 1.5-2M9.5 6.5h1.5M9.5 11h1.5",
  usage: "M3 13.5V8M7 13.5V3M11 13.5V6M2 13.5h12",
  doctor: "M2 8h3l1.5-4 3 8L11 8h3",
  settings: "M3 4.5h6M12 4.5h1M3 8h1M7 8h6M3 11.5h5M11 11.5h2M10.5 3v3M5.5 6.5v3M9.5 10v3",
  talk: "M2.5 3.5h11v7.5H7L4 13.5V11H2.5z",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  back: "M10 3.5 5.5 8l4.5 4.5",
  more: "M3 7.5h1v1H3zM7.5 7.5h1v1h-1zM12 7.5h1v1h-1z",
  theme: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5",
  chevron: "M6 3.5 10.5 8 6 12.5",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  shell: "M3 4.5 6.5 8 3 11.5M8 12h5",
  pen: "M10.5 2.5l3 3-8 8h-3v-3z",
  copy: "M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3",
  file: "M4 1.5h5.5L12.5 4.5v10h-8.5zM9 1.5v3.5h3.5",
  done: "M3 8.5 6.5 12 13 4.5",
  failed: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5v.01",
  unknown: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M6.5 6.75a1.5 1.5 0 1 1 1.5 1.75v.5M8 11v.01",
  missed: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3M5 8h6",
  idle: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3",
  way: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3M8 6.75a1.25 1.25 0 1 0 0 2.5a1.25 1.25 0 0 0 0-2.5",
  wait: "M8 2.5 13.5 8 8 13.5 2.5 8z",
  clip: "M12.5 7 7.5 12a3 3 0 0 1-4.2-4.2l5.4-5.4a2 2 0 0 1 2.8 2.8L6.3 10.5",
  voice: "M8 2a2 2 0 0 0-2 2v3.5a2 2 0 0 0 4 0V4a2 2 0 0 0-2-2M3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2.5",
  stop: "M4.5 4.5h7v7h-7z",
  send: "M8 13V3M4 7l4-4 4 4",
  close: "M4 4l8 8M12 4l-8 8",
  cut: "M2.5 2.5l11 11M6 3.5h7.5v7.5M3 5v8.5h8.5",
  globe: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M2.5 8h11M8 2.5c-4 4-4 7 0 11 4-4 4-7 0-11",
  thought: "M4 11.5a3 3 0 0 1 .5-6 3.5 3.5 0 0 1 6.8.8 2.6 2.6 0 0 1 .2 5.2z",
};

/** @typedef {keyof typeof PATHS} IconName */

/** @param {{name: IconName, cls?: string}} props */
export const Icon = ({ name, cls }) =>
  html`<svg class=${names("i", name === "wait" && "fill", cls)} viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

/** How a state is said: sign, tone and word. @type {Record<string, [IconName | "dot", string, string]>} */
export const STATES = {
  wait: ["wait", "wait", "Waits for you"],
  work: ["dot", "live", "At work"],
  arrived: ["done", "good", "Arrived"],
  done: ["done", "good", "Done"],
  failed: ["failed", "bad", "Failed"],
  unknown: ["unknown", "wait", "Unknown"],
  missed: ["missed", "wait", "Missed"],
  next: ["idle", "off", "Next"],
  idle: ["idle", "off", "Idle"],
  way: ["way", "live", "On its way"],
};

/** A state as a sign, with its word for those who do not see it, or for all. @param {{of: string, word?: string, shown?: boolean}} props */
export function State({ of, word, shown }) {
  const [sign, tone, usual] = STATES[of] || STATES.idle;
  return html`<span class=${`st ${tone}`}>${sign === "dot" ? html`<span class="dot"></span>` : html`<${Icon} name=${sign} />`}<span class=${shown ? "" : "sr"}>${word || usual}</span></span>`;
}
