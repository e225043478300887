// What somebody comes to now and then: fetched when they do, at once, since alike things packed together are smaller.
import { html } from "../html.js";
import { LoginForms } from "../login_forms.js";
import { Naming } from "../naming.js";
import { Audit } from "./audit.js";
import { Channels } from "./channels.js";
import { Doctor } from "./doctor.js";
import { Grants } from "./grants.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import { Logins } from "./logins.js";
import { More } from "./more.js";
import { Notes } from "./notes.js";
import { Servers } from "./servers.js";
import { Settings } from "./settings.js";
import { Skills } from "./skills.js";
import { Usage } from "./usage.js";

export { LoginForms, Naming };

/** @param {{id: string}} props */
const Browser = ({ id }) => html`<${Live} key=${id} id=${id} />`;

/** @type {Record<string, any>} */
export const ROOMS = { live: Browser, notes: Notes, skills: Skills, channels: Channels, servers: Servers, grants: Grants, audit: Audit, usage: Usage, settings: Settings, doctor: Doctor, keys: Keys, logins: Logins, more: More };
