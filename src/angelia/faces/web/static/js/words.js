// Times, sizes, money and durations in words.

/** @param {Intl.DateTimeFormatOptions} options */
const format = (options) => new Intl.DateTimeFormat("en-GB", options).format;

export const clock = format({ hour: "2-digit", minute: "2-digit" });
export const second = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const weekday = format({ weekday: "short" });
export const longDay = format({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
const date = format({ day: "numeric", month: "short" });
const dateAndYear = format({ day: "numeric", month: "short", year: "numeric" });
const DAY = 86_400_000;

/** The day an instant falls on, comparable. @param {number} at */
export const dayOf = (at) => new Date(at).setHours(0, 0, 0, 0);

/** Whole days from today to that day; negative in the past. @param {number} at @param {number} now */
const daysAway = (at, now) => Math.round((dayOf(at) - dayOf(now)) / DAY);

/** Today the clock, then the weekday with it, then the date. @param {number} at @param {number} [now] */
export function when(at, now = Date.now()) {
  const away = daysAway(at, now);
  if (away === 0) return clock(at);
  if (Math.abs(away) < 7) return `${weekday(at)} ${clock(at)}`;
  return (new Date(at).getFullYear() === new Date(now).getFullYear() ? date : dateAndYear)(at);
}

/** The heading under which something of that day stands. @param {number} at @param {number} [now] */
export function dayName(at, now = Date.now()) {
  const away = daysAway(at, now);
  if (away === 0) return "Today";
  if (away === -1) return "Yesterday";
  if (away === 1) return "Tomorrow";
  return longDay(at);
}

/** Millionths of a dollar, small ones with more digits; a price that nobody knows is never nothing. As the terminal says it (usage_meter.py). @param {number | undefined} cost */
export function money(cost) {
  if (cost === undefined || cost < 0) return "Price unknown";
  if (cost > 0 && cost < 100) return "under $0.0001";
  return `$${cost < 1e5 ? (cost / 1e6).toFixed(4).replace(/0{1,2}$/, "") : (cost / 1e6).toFixed(2)}`;
}

/** What something cost at least, where some of it has no known price. @param {{cost: number, unpriced?: number}} spent */
export const paid = ({ cost, unpriced }) => (!unpriced ? money(cost) : cost < 100 ? money(-1) : `At least ${money(cost)}`);

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${Math.round(bytes / 1e3)} kB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** @type {[number, string, number, string][]} */
const UNITS = [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"], [1, "s", 1, ""]];

/** In its largest unit, and in the next one where that says more. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 9.95) return seconds < 0 ? "0 s" : `${seconds.toFixed(1)} s`; // this clock is behind that of the server
  const whole = Math.round(seconds);
  const [unit, name, part, small] = /** @type {[number, string, number, string]} */ (UNITS.find((one) => whole >= one[0]));
  const rest = Math.floor((whole % unit) / part);
  return `${Math.floor(whole / unit)} ${name}${rest ? ` ${rest} ${small}` : ""}`;
}

/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;

/** A sentence begins large. */
export const sentence = (text = "") => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Doors that are not called by their own names. @type {Record<string, string>} */
const DOORS = { irc: "IRC", whatsapp: "WhatsApp", web: "This page", acp: "Editor", python: "Program", api: "Program", parent: "Helper" };
/** A door as people call it. @param {string} name */
export const door = (name) => DOORS[name] || sentence(name);

/** A home's own folder as people write it. @param {string} path */
export const folder = (path) => path.replace(/^\/(home|Users)\/[^/]+/, "~").replace(/^\/root(?=\/|$)/, "~");
