// Tool calls in a conversation: one row each, neighbours together, a failure never inside a closed group.
import { html, names, useEffect, useRef } from "./html.js";
import { Icon } from "./icons.js";
import { Media } from "./media.js";
import { Copy } from "./nodes.js";
import { at } from "./api.js";
import { steps } from "./fold.js";
import { duration } from "./words.js";

/** @typedef {import("./fold.js").Call} Call */

/** What a tool does, done and doing, and its sign. @type {Record<string, [string, string, import("./icons.js").IconName]>} */
const VERBS = {
  shell: ["Ran", "Runs", "shell"], process: ["Looked at", "Looks at", "shell"], read: ["Read", "Reads", "eye"], write: ["Wrote", "Writes", "pen"], edit: ["Changed", "Changes", "pen"],
  find: ["Searched", "Searches", "find"], fetch: ["Fetched", "Fetches", "globe"], search: ["Searched the web", "Searches the web", "globe"], todo: ["Plan", "Plans", "list"], send_file: ["Sent", "Sends", "receipts"], ask_user: ["Asked", "Asks", "talk"],
  delegate: ["Delegated", "Delegates", "channels"], helper: ["Helper", "Helper", "channels"], remember: ["Noted", "Notes", "notes"], recall: ["Recalled", "Recalls", "notes"], look_again: ["Looked again", "Looks again", "eye"],
  open_page: ["Opened", "Opens", "globe"], look_at_page: ["Looked at", "Looks at", "eye"], act_on_page: ["Acted on", "Acts on", "globe"],
};

/** @param {Call} call */
const verb = (call) => VERBS[call.name] || [call.name, call.name, "settings"];
/** The call without its verb. @param {Call} call */
function object(call) {
  if (call.name === "todo") return `${steps(call).length} steps`;
  const line = call.line || "";
  if (call.name === "shell") return line.replace(/^\$ /, "");
  const first = line.split(/[ :]/, 1)[0];
  return first === call.name || /^(read|write|edit|find|fetch|send|ask|delegate|search)$/.test(first) ? line.slice(first.length).replace(/^[: ]+/, "") : line;
}
/** @param {Call} call */
const good = (call) => call.finished?.status === "ok";
/** @param {Call} call */
const plain = (call) => good(call) && !call.finished?.diffs?.length && !call.finished?.parts?.some((part) => part.media) && call.name !== "todo";

/** @param {{calls: Call[], id: string, rev: number}} props */
export function Calls({ calls, id }) {
  /** @type {Call[][]} */
  const groups = [];
  for (const call of calls) {
    const last = groups.at(-1);
    if (last && plain(call) && plain(last[0]) && last[0].name === call.name) last.push(call);
    else groups.push([call]);
  }
  return html`<div>${groups.map((group) => (group.length > 2 || (group.length === 2 && group[0].name !== "shell") ? html`<${Group} key=${group[0].id} calls=${group} id=${id} />` : group.map((call) => html`<${OneCall} key=${call.id} call=${call} id=${id} />`)))}</div>`;
}

/** @param {{calls: Call[], id: string}} props */
function Group({ calls, id }) {
  const [did, , sign] = verb(calls[0]);
  const seconds = calls.reduce((sum, call) => sum + (call.finished?.seconds || 0), 0);
  return html`<details class="tool"><summary><${Icon} name="chevron" cls="chev" /><${Icon} name=${sign} /><b>${did}</b><span class="mono">${calls.map(object).join(", ")}</span><span class="res">${calls.length} times · ${duration(seconds)}</span></summary>
    <div class="inner">${calls.map((call) => html`<${OneCall} key=${call.id} call=${call} id=${id} />`)}</div></details>`;
}

/** @param {Call} call */
function result(call) {
  const end = call.finished;
  if (!end) return call.running ? "running" : call.waits ? "waits for you" : "";
  const words = call.name === "todo" ? `${steps(call).filter((one) => one.status === "done").length} of ${steps(call).length} done` : end.result;
  return [words || (end.status === "ok" ? "" : end.status), end.seconds >= 0.05 ? duration(end.seconds) : ""].filter(Boolean).join(" · ");
}

/** @param {{call: Call, id: string}} props */
function OneCall({ call, id }) {
  const [did, does, sign] = verb(call);
  const end = call.finished;
  const bad = end && end.status !== "ok";
  const media = end?.parts?.filter((part) => part.media) || [];
  return html`<details class="tool"><summary><${Icon} name="chevron" cls="chev" />${call.running ? html`<span class="st live"><span class="dot"></span></span>` : html`<${Icon} name=${bad ? "failed" : call.waits ? "wait" : sign} cls=${bad ? "badsign" : call.waits ? "waitsign" : ""} />`}<b>${end ? did : does}</b><span class="mono">${object(call)}</span><span class=${names("res", bad && "bad")}>${result(call)}</span></summary>
    <div class="inner"><${OpenedCall} call=${call} id=${id} /></div></details>
    ${end?.diffs?.map((diff) => html`<${Diff} key=${diff.path} diff=${diff} />`)}
    ${media.map((file) => html`<${Media} key=${file.part} id=${id} file=${file} />`)}`;
}

/** Everything of a call: its arguments whole, its output at its end. @param {{call: Call, id: string}} props */
function OpenedCall({ call, id }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const end = call.finished;
  const words = call.output || (end?.parts || []).map((part) => part.text || "").join("\n");
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [words]);
  const given = Object.entries(call.arguments || {});
  return html`${given.length > 0 && html`<dl class="given">${given.map(([name, value]) => html`<dt>${name}</dt><dd><code>${value}</code></dd>`)}</dl>`}
    ${words && html`<pre class="code out" tabindex="0" role="region" aria-label="Output" ref=${box}>${words}</pre>`}
    ${end?.whole && html`<p class="from"><a class="link" href=${at(id, `/media/${end.seq}/full`)} download>Whole output</a></p>`}
    ${end && !words && html`<p class="from">No output.</p>`}`;
}

/** Long ones are closed, and opened per file, but for those that are said yes to. @param {{diff: any, whole?: boolean}} props */
export function Diff({ diff, whole }) {
  const rows = diff.rows || [];
  const body = html`<div class="diff" tabindex="0" role="region" aria-label=${`Changes in ${diff.path}`}>${rows.map(([sign, text]) => html`<div class=${names("dl", sign === "+" && "add", sign === "-" && "del", sign === "@" && "hunk")}><span>${sign === "-" ? "−" : sign === "@" ? "" : sign}</span><span>${text}</span></div>`)}${diff.cut && html`<div class="dl"><span></span><span>… it goes on; the file has the rest</span></div>`}</div>`;
  const head = html`<${Icon} name="pen" /><span class="mono">${diff.path}</span><span class="stat num"><span class="p">+${diff.added}</span> <span class="m">−${diff.removed}</span></span>`;
  if (rows.length > 60 && !whole) return html`<details class="box tool diffbox"><summary><${Icon} name="chevron" cls="chev" />${head}</summary>${body}</details>`;
  return html`<div class="box diffbox"><header>${head}<${Copy} text=${() => rows.map((row) => row.join("")).join("\n")} /></header>${body}</div>`;
}

