// Logging in: the one-time code in the link's fragment becomes a cookie, and leaves the address.
import { html, useState } from "./html.js";
import { loggedIn, post } from "./api.js";
import { Icon } from "./icons.js";

/** Takes the code out of the address, if it holds one, and spends it. */
export async function loginByFragment() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", "/#/");
  await post("/api/login", { code: decodeURIComponent(code) });
}

/** @param {{error: any, retry: () => void}} props */
export function Login({ error, retry }) {
  const [trouble, setTrouble] = useState(error);
  /** @param {SubmitEvent} event */
  const enter = async (event) => {
    event.preventDefault();
    const text = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("code")).trim();
    const code = /code=([^\s]+)/.exec(text)?.[1] || text;
    try {
      await post("/api/login", { code: decodeURIComponent(code) });
      loggedIn.set(true);
      retry();
    } catch (failed) {
      setTrouble(failed);
    }
  };
  return html`<main class="login" id="main"><form onSubmit=${enter}><${Icon} name="mark" cls="mark" /><h1>Log in</h1>
    <p>Run <code>angelia web</code> on the machine where Angelia lives: it opens this page with a link that is good once. Or paste that link here.</p>
    <label class="lab" for="code">Link or code</label><div class="field"><input id="code" name="code" autocomplete="one-time-code" spellcheck="false" required /></div>
    ${trouble && html`<p class="cannot" role="alert">${trouble.message} ${trouble.then || ""}</p>`}
    <button class="b main">Log in</button></form></main>`;
}
