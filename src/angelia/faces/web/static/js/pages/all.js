// Which page an address shows.
import { html } from "../html.js";
import { useLater } from "../later.js";
import { Answered } from "../list_detail.js";
import { Top } from "../shell.js";
import { sentence } from "../words.js";
import { Conversations } from "./conversations.js";
import { Overview } from "./overview.js";
import { Receipts } from "./receipts.js";
import { Schedule } from "./schedule.js";

/** @type {Record<string, any>} */
const AT_ONCE = { overview: Overview, conversations: Conversations, receipts: Receipts, schedule: Schedule };

/** One that is fetched first; the overview for what nobody knows. @param {{page: string, id: string, rest: string}} props */
function Room({ page, id, rest }) {
  const later = useLater(() => import("./rooms.js"));
  const Shown = later.data?.ROOMS[page] || Overview;
  return later.data ? html`<${Shown} id=${id} rest=${rest} />` : html`<${Top} title=${sentence(page)} /><${Answered} of=${later} />`;
}

/** @param {string} name */
export const pageFor = (name) => AT_ONCE[name] || Room;
