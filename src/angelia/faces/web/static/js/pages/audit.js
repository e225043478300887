// Who decided what: every yes and no, and what was changed about this home.
import { html } from "../html.js";
import { Details, ListDetail } from "../list_detail.js";
import { link } from "../route.js";
import { sentence, when } from "../words.js";

/** What the filters know a fact by. @type {Record<string, string>} */
const FILTERS = { ApprovalGiven: "answer", ApprovalRefused: "answer", Administered: "home" };

/** @param {{id: string}} props */
export const Audit = ({ id }) => html`<${ListDetail} page="audit" sub="Who decided what" find="Find in decisions" of=${({ decided }) => decided} most=${100} id=${id} none="Nothing was decided yet" hint="Each yes and no to a question stands here, and each change to settings, keys and people."
  row=${(one) => ({ id: String(one.place), state: one.kind === "ApprovalRefused" || !one.by ? "missed" : "done", word: one.by || "cannot be read", title: sentence(one.did), line: one.question || one.by || one.did, side: when(one.at), kind: FILTERS[one.kind] || "rest" })}
  filters=${[["answer", "Answers"], ["home", "This home"], ["rest", "The rest"]]}>
  ${(one) => one && html`<div><h2>${sentence(one.did)}</h2>${one.question && html`<p>${one.question}</p>`}</div>
    <${Details} rows=${[["By", one.by], ["When", when(one.at)], ["Stands in", one.conversation ? html`<a class="link" href=${link("c", one.conversation, one.seq)}>its conversation, entry ${one.seq}</a>` : `the home's own log, entry ${one.seq}`]]} />`}<//>`;
