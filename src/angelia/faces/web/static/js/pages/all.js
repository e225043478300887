// Which page an address shows.
import { html } from "../html.js";
import { Audit } from "./audit.js";
import { Channels } from "./channels.js";
import { Conversations } from "./conversations.js";
import { Doctor } from "./doctor.js";
import { Grants } from "./grants.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import { Logins } from "./logins.js";
import { More } from "./more.js";
import { Notes } from "./notes.js";
import { Overview } from "./overview.js";
import { Receipts } from "./receipts.js";
import { Schedule } from "./schedule.js";
import { Servers } from "./servers.js";
import { Settings } from "./settings.js";
import { Skills } from "./skills.js";
import { Usage } from "./usage.js";

/** @param {{id: string}} props */
const Browser = ({ id }) => html`<${Live} key=${id} id=${id} />`;

/** @type {Record<string, any>} */
const PAGES = { overview: Overview, conversations: Conversations, receipts: Receipts, schedule: Schedule, live: Browser, notes: Notes, skills: Skills, channels: Channels, servers: Servers, grants: Grants, audit: Audit, usage: Usage, settings: Settings, doctor: Doctor, keys: Keys, logins: Logins, more: More };

/** The overview for what nobody knows. @param {string} name */
export const pageFor = (name) => PAGES[name] || Overview;
