// Who decided what: every yes and no, and what was changed about this home.
import { html, useState } from "../html.js";
import { get } from "../api.js";
import { Details, ListDetail, useAnswer } from "../list_detail.js";
import { link } from "../route.js";
import { Empty } from "../states.js";
import { sentence, when } from "../words.js";

const MOST = 100;
/** What the filters know a fact by. @type {Record<string, string>} */
const FILTERS = { ApprovalGiven: "answer", ApprovalRefused: "answer", Administered: "home" };

/** @param {{id: string}} props */
export function Audit({ id }) {
  const { data, error, again } = useAnswer(`/api/audit?limit=${MOST}`);
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const [end, setEnd] = useState(false);
  const all = data && [...data.decided, ...older];
  const more = async () => {
    const page = await get(`/api/audit?limit=${MOST}&before=${all.at(-1).place}`);
    setOlder([...older, ...page.decided]);
    setEnd(page.decided.length < MOST);
  };
  const rows = all?.map((one) => ({ id: String(one.place), state: one.kind === "ApprovalRefused" ? "missed" : "done", word: one.by, title: sentence(one.did), line: one.question || one.by, side: when(one.at), kind: FILTERS[one.kind] || "rest" }));
  const chosen = all?.find((one) => String(one.place) === id);
  return html`<${ListDetail} page="audit" title="Audit" sub="Who decided what" find="Find in decisions" rows=${rows || null} error=${error} again=${again} id=${id} more=${all?.length >= MOST && !end ? more : null}
    filters=${[["answer", "Answers"], ["home", "This home"], ["rest", "The rest"]]}
    empty=${html`<${Empty} icon="audit" title="Nothing was decided yet">Each yes and no to a question stands here, and each change to settings, keys and people.<//>`}>
    ${chosen && html`<div><h2>${sentence(chosen.did)}</h2>${chosen.question && html`<p>${chosen.question}</p>`}</div>
      <section><h3>Details</h3><${Details} rows=${[["By", chosen.by], ["When", when(chosen.at)], ["Stands in", chosen.conversation ? html`<a class="link" href=${link("c", chosen.conversation, chosen.seq)}>its conversation, entry ${chosen.seq}</a>` : `the home's own log, entry ${chosen.seq}`]]} /></section>`}<//>`;
}
