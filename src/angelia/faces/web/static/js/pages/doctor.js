// How everything is, as angelia doctor sees it: each part as soon as it was looked at.
import { html, useEffect, useState } from "../html.js";
import { State } from "../icons.js";
import { Top } from "../shell.js";
import { count } from "../words.js";

/** @type {Record<string, [string, string]>} */
const FOUND = { well: ["done", "Well"], broken: ["failed", "Not well"], absent: ["idle", "Not there"] };

export function Doctor() {
  const [found, setFound] = useState(/** @type {any[]} */ ([]));
  const [done, setDone] = useState(false);
  const [look, setLook] = useState("?");
  useEffect(() => {
    setFound([]);
    setDone(false);
    const source = new EventSource(`/api/doctor${look}`);
    source.addEventListener("finding", (event) => setFound((all) => [...all, JSON.parse(event.data)]));
    const end = () => (source.close(), setDone(true));
    source.addEventListener("done", end);
    source.onerror = end;
    return () => source.close();
  }, [look]);
  const broken = found.filter((one) => one.state === "broken");
  const rest = found.filter((one) => one.state !== "broken");
  return html`<${Top} title="Doctor" /><div class="page" tabindex="0" role="region" aria-label="Doctor"><div class="wrap one"><div class="head"><h2>${!done ? "Looking at each part" : broken.length ? `${count(broken.length, "thing")} to mend` : found.length ? "All is well" : "Nothing was heard"}</h2><p>${count(found.length, "part")} looked at${look.includes("online") ? "" : ", without asking models, servers or networks"}.</p>
      <div class="go"><button class="b" onClick=${() => setLook(`?again=${Date.now()}`)}>Look again</button><button class="b" onClick=${() => setLook(`?online&again=${Date.now()}`)}>Ask models and networks too</button></div></div>
    ${found.length > 0 && html`<ol class="items checks">${[...broken, ...rest].map((one) => {
      const [state, word] = FOUND[one.state] || FOUND.absent;
      return html`<li key=${one.about}><${State} of=${state} word=${word} /><div><h3>${one.about}</h3><p>${one.seen}</p>${one.mend && html`<p class="from">${one.mend}</p>`}</div></li>`;
    })}</ol>`}</div></div>`;
}
