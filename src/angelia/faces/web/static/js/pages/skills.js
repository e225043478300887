// Skills: which there are, all that is in one, how it differs from what was seen, and the yes to it.
import { html, useState } from "../html.js";
import { post, saidBy } from "../api.js";
import { Diff } from "../calls.js";
import { Act, Press, useBusy } from "../acts.js";
import { Answered, Details, ListDetail, Notice, mono, useAnswer } from "../list_detail.js";
import { go, link } from "../route.js";
import { count, sentence, size, when } from "../words.js";
import { withCode } from "../with_code.js";

/** In the order in which they are listed. @type {Record<string, string>} */
const SKILL_STATES = { proposed: "wait", changed: "wait", new: "wait", pinned: "done", declined: "idle", unusable: "failed" };
const ORDER = Object.keys(SKILL_STATES);

/** @param {{id: string}} props */
export const Skills = ({ id }) => html`<${ListDetail} page="skills" sub="Instructions in folders, used once you have seen them" id=${id} none="No skills yet" hint=${"`angelia skills` says where their folders lie."}
  of=${({ skills }) => skills.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))}
  row=${(one) => ({ id: one.key, state: SKILL_STATES[one.state], word: one.said, title: one.name, line: one.does, group: sentence(one.state) })}>${(_, reread, __, here) => html`<${Skill} id=${here} reread=${reread} />`}<//>`;

/** @param {{id: string, reread: () => void}} props */
function Skill({ id, reread }) {
  const path = `/api/skills/${encodeURIComponent(id)}`;
  const { data: told, error, again } = useAnswer(path);
  const [read, setRead] = useState(/** @type {any} */ (null));
  if (!told || error) return html`<${Answered} of=${{ error, again }} />`;
  const data = told.unseen && read ? read : told;
  const { source } = data;
  const both = () => (setRead(null), source ? go("skills") : again(), reread());
  const act = (/** @type {string} */ name, /** @type {string} */ word, /** @type {string} */ told, main = false) => html`<${Act} path=${`${path}/${name}`} word=${word} told=${told} again=${both} body=${{ digest: data.digest }} main=${main} />`;
  const served = data.of === "a server";
  const away = served && data.unseen && !read;
  const odd = data.remarks.length > 0 || source?.outside;
  return html`<div><h2>${data.name}</h2><p>${data.does}</p></div>
    ${source ? html`<${Notice} tone="wait" icon="wait" title="The model proposes it.">After a turn of ${count(source.calls, "call")} that began with “${source.words}”, ${when(source.at)}. <a class="link" href=${link("c", source.conversation)}>See it there</a>.${source.outside ? " Words from elsewhere were in view when it was written: look for them in it." : ""}<//>` : served ? html`<${Notice} tone=${data.unseen && !away ? "wait" : "calm"} icon=${data.unseen && !away ? "wait" : "servers"} title=${!data.unseen || away ? "Its files are with its server." : "This is all that its server has of it now."}>${!data.unseen ? "They are held to what you saw whenever it is used." : away ? "It is not used until you have read them and said yes." : "It is not used until you say yes. Whenever it is used it is held to what is below."}<//>` : data.unseen && html`<${Notice} tone="wait" icon="wait" title=${data.state === "changed" ? "It has changed since you saw it." : "You have not seen it yet."}>It is not used until you say yes, after all that is below.<//>`}
    ${data.remarks.length > 0 && html`<${Notice} tone="" icon="failed" title="Look at this first.">${data.remarks.map((/** @type {string} */ words) => html`<span class="remark">${words}</span>`)}<//>`}
    ${data.files.map((/** @type {any} */ file) => html`<${Shown} key=${file.path} file=${file} />`)}
    <div class="go">${source ? html`${act("decline", "Do not keep it", "It is not kept. The conversation still holds it.", odd)}${act("pin", "Keep it and use it", "It is with your skills now, and may be used.", !odd)}` : away ? html`${act("decline", "Do not use it", "It is not used, and not asked about until it changes.")}<${Fetch} path=${`${path}/read`} got=${setRead} />` : data.unseen ? html`${act("decline", "Do not use it", "It is not used, and not asked about until it changes.", odd)}${act("pin", "Use it as it is now", "It may be used as it is now.", !odd)}` : data.state === "pinned" ? act("unpin", "Use it no more", "It is not used until you say so again.") : data.state === "declined" ? act("unpin", "Ask about it again", "It is new again.") : null}</div>
    <${Details} rows=${[["State", data.said], ["Of", data.of], ["Tools", data.allowed.join(", ")], ["Folder", mono(data.path)], ["Version", mono(data.digest.slice(0, 12))]]} />`;
}

/** Asks the server for its files; why they cannot be had stands beneath. @param {{path: string, got: (data: any) => void}} props */
function Fetch({ path, got }) {
  const [busy, once] = useBusy();
  const [trouble, setTrouble] = useState(/** @type {any} */ (null));
  const read = () => once(() => (setTrouble(null), post(path).then(got, setTrouble)));
  return html`<${Press} busy=${busy} word="Read its files" act=${read} main />${trouble && html`<p class="cannot" role="alert">${withCode(saidBy(trouble))}</p>`}`;
}

/** @type {Record<string, string>} */
const CHANGES = { same: "as you saw it", new: "new", gone: "gone", changed: "changed" };

/** A file whole, or as it differs from what was seen. @param {{file: any}} props */
function Shown({ file }) {
  if (file.diff) return html`<${Diff} diff=${file.diff} whole />`;
  const about = [CHANGES[file.state], file.size !== undefined && size(file.size), file.executable && "may be executed"].filter(Boolean).join(" · ");
  const inside = file.text ?? (file.sha256 && file.state !== "same" ? `No text. SHA-256 ${file.sha256}` : null);
  return html`<div class="box"><header><span class="mono">${file.path}</span><span class="num">${about}</span></header>${inside !== null && html`<pre class="code whole" tabindex="0" role="region" aria-label=${file.path}>${inside}</pre>`}</div>`;
}
