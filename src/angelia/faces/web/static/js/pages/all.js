// Which page an address shows.
import { Channels } from "./channels.js";
import { Conversations } from "./conversations.js";
import { Doctor } from "./doctor.js";
import { Grants } from "./grants.js";
import { Keys } from "./keys.js";
import { More } from "./more.js";
import { Notes } from "./notes.js";
import { Overview } from "./overview.js";
import { Receipts } from "./receipts.js";
import { Schedule } from "./schedule.js";
import { Servers } from "./servers.js";
import { Settings } from "./settings.js";
import { Skills } from "./skills.js";
import { Usage } from "./usage.js";

/** @type {Record<string, any>} */
const PAGES = { overview: Overview, conversations: Conversations, receipts: Receipts, schedule: Schedule, notes: Notes, skills: Skills, channels: Channels, servers: Servers, grants: Grants, usage: Usage, settings: Settings, doctor: Doctor, keys: Keys, more: More };

/** The overview for what nobody knows. @param {string} name */
export const pageFor = (name) => PAGES[name] || Overview;
