// Which pages there are: name, sign, word, and the letter that leads there after a G.

/** @typedef {[string, import("./icons.js").IconName, string, string?]} WayTo */

/** @type {WayTo[]} */
export const WAYS = [
  ["overview", "home", "Overview", "O"], ["receipts", "receipts", "Receipts", "R"], ["schedule", "schedule", "Schedule", "S"], ["notes", "notes", "Notes", "N"],
  ["skills", "skills", "Skills"], ["channels", "channels", "Channels", "C"],
];
/** Those that stand behind the settings. @type {WayTo[]} */
export const MORE = [
  ["servers", "servers", "MCP servers"], ["grants", "grants", "Grants"], ["audit", "audit", "Audit"], ["usage", "usage", "Usage"], ["doctor", "doctor", "Doctor"], ["logins", "logins", "Logins"], ["settings", "settings", "Settings"],
];
/** @type {WayTo} */
export const TALKS = ["conversations", "talk", "Conversations"];
