// The page begins: logs in by the link's fragment, then shows what the address names.
import "./theme.js";
import "./keys.js";
import { html, render, useEffect } from "./html.js";
import { loggedIn } from "./api.js";
import { line } from "./feed.js";
import { followHome, heedHome, readHome } from "./home.js";
import { Large } from "./media.js";
import { loginByFragment } from "./login.js";
import { LoginForms } from "./login_forms.js";
import { Palette } from "./palette.js";
import { pageFor } from "./pages/all.js";
import "./notify.js";
import { route } from "./route.js";
import { Shell } from "./shell.js";
import { Signal, useSignal } from "./signal.js";
import { NewTalk, Talk } from "./talk.js";
import { Toasts } from "./toasts.js";

const refused = new Signal(/** @type {any} */ (null));

/** News of the whole home, where no conversation's own stream brings them. */
function HomeFeed() {
  useEffect(followHome, []);
  return null;
}

/** While a conversation is open its own stream is the tab's only one: what happens elsewhere is asked for. */
function HomeLook() {
  useEffect(() => {
    const timer = setInterval(() => line.value.lost || heedHome(), 15_000);
    return () => clearInterval(timer);
  }, []);
  return null;
}

function Page() {
  const { page, id, rest } = useSignal(route);
  const inside = useSignal(loggedIn);
  useEffect(() => {
    if (inside && page === "c") readHome().catch(() => {});
  }, [inside, page === "c" ? id : ""]);
  if (!inside) return html`<${LoginForms} error=${refused.value} /><${Toasts} />`;
  const talk = page === "c" && id;
  const Other = pageFor(page);
  return html`<${Shell}>${talk ? html`<${Talk} key=${id} id=${id} seq=${rest} />` : page === "new" ? html`<${NewTalk} />` : html`<${Other} key=${page === "conversations" ? rest : page} page=${page} id=${id} rest=${rest} />`}<//>
    ${talk ? html`<${HomeLook} key="look" />` : html`<${HomeFeed} key="home" />`}<${Palette} /><${Large} /><${Toasts} />`;
}

try {
  await loginByFragment();
} catch (error) {
  refused.set(error);
  loggedIn.set(false);
}
render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById("root")));
