// Logging in: the one-time code in the link's fragment becomes a cookie, and leaves the address.
import { html } from "./html.js";
import { post, saidBy } from "./api.js";
import { useLater } from "./later.js";
import { withCode } from "./with_code.js";

/** Takes the code out of the address, if it holds one, and spends it. */
export async function loginByFragment() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", "/#/");
  await post("/api/login", { code: decodeURIComponent(code) });
}

/** What is shown to who is not logged in; fetched then. @param {{error: any}} props */
export function Login({ error }) {
  const { data: rooms, error: away, again } = useLater(() => import("./pages/rooms.js"));
  if (rooms) return html`<${rooms.LoginForms} error=${error} />`;
  return html`<main class="login" id="main">${away && html`<div><h1>Log in</h1><p class="cannot" role="alert">${withCode(saidBy(away))}</p><button class="b" onClick=${again}>Try again</button></div>`}</main>`;
}
