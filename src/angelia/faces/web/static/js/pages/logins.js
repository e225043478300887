// Who is logged in, who tried, and by what one can.
import { html, useState } from "../html.js";
import { loggedIn, post, saidBy } from "../api.js";
import { Act, Press, useBusy } from "../acts.js";
import { Details, ListDetail } from "../list_detail.js";
import { make, passkeysWork } from "../passkeys.js";
import { toast } from "../toasts.js";
import { withCode } from "../with_code.js";
import { count, sentence, when } from "../words.js";

/** What a browser calls itself, in two words. @param {string} text */
function browserIn(text) {
  const name = /Firefox/.test(text) ? "Firefox" : /Edg\//.test(text) ? "Edge" : /Chrom/.test(text) ? "Chrome" : /Safari/.test(text) ? "Safari" : text.split(/[ /]/)[0] || "Unknown browser";
  const system = [["Android", /Android/], ["iPhone", /iPhone/], ["iPad", /iPad/], ["Windows", /Windows/], ["macOS", /Mac OS/], ["Linux", /Linux/]].find(([, found]) => /** @type {RegExp} */ (found).test(text));
  return system ? `${name}, ${system[0]}` : name;
}

/** @param {any} data @returns {import("../list_detail.js").ListRow[]} */
const rowsOf = (data) => [
  ...data.logins.map((one) => ({ id: one.id, state: "done", word: "Logged in", group: "Logged in", title: browserIn(one.browser), line: `${one.id === data.here ? "This one · " : ""}${one.address}`, side: when(one.seen) })),
  { id: "password", state: data.password ? "done" : "idle", word: data.password ? "Set" : "Not set", group: "Ways in", title: "Password", line: data.password ? `Set ${when(data.password)}` : "Not set" },
  ...data.passkeys.map((one) => ({ id: one.id, state: "done", word: "Kept", group: "Ways in", title: one.name, line: `Passkey at ${one.site}`, side: one.used ? when(one.used) : "" })),
  { id: "new", state: "idle", word: "Not yet", group: "Ways in", title: "New passkey", line: "A key in this device, or one that you plug in" },
  ...data.attempts.map((one) => ({ id: `attempt-${one.first}`, state: one.failed ? "failed" : "done", word: one.failed ? "Failed" : "Let in", group: "Who came", title: `${sentence(one.by)}${one.times > 1 ? `, ${count(one.times, "time")}` : ""}`, line: one.address, side: when(one.at) })),
];

/** @param {{id: string}} props */
export const Logins = ({ id }) => html`<${ListDetail} page="logins" sub="Who gets in" id=${id} of=${rowsOf} row=${(one) => one}>${(_, again, data, here) => data && html`<${Detail} id=${here} data=${data} again=${again} />`}<//>`;

/** @param {{id: string, data: any, again: () => void}} props */
function Detail({ id, data, again }) {
  const login = data.logins.find((one) => one.id === id);
  const passkey = data.passkeys.find((one) => one.id === id);
  const attempt = data.attempts.find((one) => id === `attempt-${one.first}`);
  return html`${login && html`<div><h2>${browserIn(login.browser)}</h2><p>${login.id === data.here ? "It is the one that you look at." : "It can do here all that you can."}</p></div><div class="go"><${Act} path=${`/api/logins/${login.id}/end`} word="End this login" told="It is ended." again=${again} main=${login.id !== data.here} /><${Everywhere} /></div>
      <${Details} rows=${[["Since", when(login.since)], ["Last seen", when(login.seen)], ["Ends unused", when(login.until)], ["By", login.by], ["From", login.address], ["Browser", login.browser]]} />`}
    ${id === "password" && html`<div><h2>Password</h2><p>${data.password ? `It was set ${when(data.password)}. Only its hash is stored.` : "There is none."}</p></div><section><h3>Change it</h3><p>At a terminal of the machine where Angelia lives: <code>angelia web password</code>. It ends every login.</p></section>`}
    ${passkey && html`<div><h2>${passkey.name}</h2><p>It logs in at ${passkey.site}.</p></div><div class="go"><${Act} path=${`/api/passkeys/${passkey.id}/remove`} word="Remove it" told="Removed. It logs in nowhere." again=${again} main /></div>
      <${Details} rows=${[["Made", when(passkey.since)], ["Last used", passkey.used ? when(passkey.used) : "never"]]} />`}
    ${id === "new" && html`<${NewPasskey} site=${data.site} again=${again} />`}
    ${attempt && html`<div><h2>${sentence(attempt.by)}</h2><p>${attempt.failed || "It let them in."}</p></div><${Details} rows=${[["When", when(attempt.at)], ["Times in a row", attempt.times], ["From", attempt.address], ["Browser", attempt.browser]]} />`}`;
}

function Everywhere() {
  const end = async () => {
    await post("/api/logins/end");
    loggedIn.set(false);
  };
  return html`<button class="b" onClick=${end}>Log out everywhere</button>`;
}

/** @param {{site: string, again: () => void}} props */
function NewPasskey({ site, again }) {
  const [trouble, setTrouble] = useState(/** @type {any} */ (null));
  const [busy, once] = useBusy();
  const made = async (/** @type {HTMLFormElement} */ form) => {
    try {
      const credential = await make(await post("/api/passkeys/begin"));
      const { name } = await post("/api/passkeys", { name: String(new FormData(form).get("name")), credential });
      setTrouble(null);
      form.reset();
      toast(`${name} logs in from now on.`);
      again();
    } catch (error) {
      setTrouble(error);
    }
  };
  /** @param {SubmitEvent} event */
  const keep = (event) => {
    event.preventDefault();
    void once(() => made(/** @type {HTMLFormElement} */ (event.target)));
  };
  const cannot = !site ? "Passkeys are bound to a name, and this page was opened by an address." : !passkeysWork() ? "This browser has none." : "";
  return html`<div><h2>New passkey</h2><p>${cannot || `It will log in at ${site}: with this device, or with a key that you plug in.`}</p></div>
    ${!cannot && html`<section><form class="change" onSubmit=${keep}><label class="lab" for="passkey-name">What you call it</label><input id="passkey-name" name="name" class="field" maxlength="60" autocomplete="off" required placeholder="My phone" />
      <div role="alert">${trouble && html`<p class="cannot">${withCode(saidBy(trouble))}</p>`}</div>
      <p class="acts"><${Press} busy=${busy} word="Make a passkey" main /></p></form></section>`}`;
}
