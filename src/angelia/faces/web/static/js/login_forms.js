// The page of who is not logged in: a passkey, the password or a link, as far as each is there.
import { html, useEffect, useState } from "./html.js";
import { loggedIn, post } from "./api.js";
import { Press } from "./acts.js";
import { Icon } from "./icons.js";
import { Notice } from "./list_detail.js";
import { passkeysWork, sign } from "./passkeys.js";

/** @typedef {{password: boolean, passkey: any}} Ways */

/** @param {{error: any}} props */
export function LoginForms({ error }) {
  const [ways, setWays] = useState(/** @type {Ways | null} */ (null));
  const [trouble, setTrouble] = useState(/** @type {any} */ (error));
  const [busy, setBusy] = useState("");
  const [until, setUntil] = useState(0);
  useEffect(() => {
    post("/api/login/begin").then(setWays, (failed) => (setWays({ password: false, passkey: null }), setTrouble(failed)));
  }, []);
  useEffect(() => {
    if (!until) return;
    const timer = setTimeout(() => (setUntil(0), setTrouble(null)), until - Date.now());
    return () => clearTimeout(timer);
  }, [until]);

  /** One attempt at a time, and none before it is looked at. @param {string} way @param {() => Promise<any>} attempt */
  const enter = async (way, attempt) => {
    if (busy || (until && way === "password")) return;
    setBusy(way);
    try {
      await attempt();
      loggedIn.set(true);
    } catch (failed) {
      setTrouble(failed);
      const { wait } = /** @type {any} */ (failed);
      if (wait) setUntil(Date.now() + wait * 1000);
      if (way === "password") document.getElementById("password")?.focus();
    } finally {
      setBusy("");
    }
  };
  const byPasskey = () => enter("passkey", async () => post("/api/login/passkey", { credential: await sign((await post("/api/login/begin")).passkey) }));
  /** @param {SubmitEvent} event */
  const byPassword = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    void enter("password", () => post("/api/login/password", { password: String(new FormData(form).get("password")) }));
  };
  /** @param {SubmitEvent} event */
  const byLink = (event) => {
    event.preventDefault();
    const given = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("code")).trim();
    const code = /code=([^\s]+)/.exec(given)?.[1] || given;
    void enter("link", () => post("/api/login", { code: decodeURIComponent(code) }));
  };
  const passkey = ways?.passkey && passkeysWork();
  const link = html`<form onSubmit=${byLink}><p>Run <code>angelia web</code> on the machine where Angelia lives: it opens this page with a link that is good once. Or paste that link here.</p>
    <label class="lab" for="code">Link or code</label><div class="field"><input id="code" name="code" autocomplete="one-time-code" spellcheck="false" required /></div>
    <${Press} busy=${busy === "link"} main=${!ways?.password && !passkey} word="Log in" /></form>`;
  return html`<main class="login" id="main"><div><${Icon} name="mark" cls="mark" /><h1>Log in</h1>
    <div role="alert">${trouble && html`<${Notice} tone="bad" icon="failed" title=${trouble.message}>${[trouble.why, trouble.then].filter(Boolean).join(" ")}<//>`}</div>
    ${ways && html`${passkey && html`<${Press} busy=${busy === "passkey"} main word="Log in with a passkey" act=${byPasskey} />`}
      ${passkey && ways.password && html`<p class="or">or</p>`}
      ${ways.password && html`<${Password} submit=${byPassword} busy=${busy === "password"} waits=${until > 0} main=${!passkey} />`}
      ${passkey || ways.password ? html`<details><summary>With a link instead</summary>${link}</details>` : link}`}</div></main>`;
}

/** @param {{submit: (event: SubmitEvent) => void, busy: boolean, waits: boolean, main: boolean}} props */
function Password({ submit, busy, waits, main }) {
  const [shown, setShown] = useState(false);
  return html`<form onSubmit=${submit}><input type="text" name="username" autocomplete="username" value="Angelia" hidden readonly />
    <label class="lab" for="password">Password</label>
    <div class="field"><input id="password" name="password" type=${shown ? "text" : "password"} autocomplete="current-password" autocapitalize="none" spellcheck="false" required /><button class="show" type="button" aria-pressed=${shown} aria-controls="password" onClick=${() => setShown(!shown)}>Show<span class="sr"> the password</span></button></div>
    <${Press} busy=${busy} off=${waits} main=${main} word="Log in" /></form>`;
}
