// The pages that somebody goes to now and then: fetched when they do.
import { Channels } from "./channels.js";
import { Doctor } from "./doctor.js";
import { Grants } from "./grants.js";
import { Keys } from "./keys.js";
import { Logins } from "./logins.js";
import { More } from "./more.js";
import { Notes } from "./notes.js";
import { Servers } from "./servers.js";
import { Settings } from "./settings.js";
import { Skills } from "./skills.js";
import { Usage } from "./usage.js";

/** @type {Record<string, any>} */
export const ROOMS = { notes: Notes, skills: Skills, channels: Channels, servers: Servers, grants: Grants, usage: Usage, settings: Settings, doctor: Doctor, keys: Keys, logins: Logins, more: More };
