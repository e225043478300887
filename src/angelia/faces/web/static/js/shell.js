// The frame around every page: ways to go, the bar, the line's state.
import { html, useEffect } from "./html.js";
import { conversations, home, waits } from "./home.js";
import { Icon, State } from "./icons.js";
import { line, tryNow } from "./feed.js";
import { link, route } from "./route.js";
import { openPalette } from "./palette.js";
import { useSeconds } from "./seconds.js";
import { useSignal } from "./signal.js";
import { otherTheme } from "./theme.js";
import { MORE, TALKS, WAYS } from "./ways.js";
import { second } from "./words.js";

/** @param {{page: string, icon: import("./icons.js").IconName, word: string, here: boolean, count?: number}} props */
const WayThere = ({ page, icon, word, here, count = 0 }) => html`<a href=${link(page)} aria-current=${here ? "page" : null} title=${word}><${Icon} name=${icon} /><span>${word}</span>${count > 0 && html`<span class="count">${count}<span class="sr"> waiting</span></span>`}</a>`;

/** @param {{talk: any, here: boolean}} props */
export const TalkLink = ({ talk, here }) => html`<a href=${link("c", talk.id)} aria-current=${here ? "page" : null}><span>${talk.title || "New conversation"}</span>${talk.waits ? html`<${State} of="wait" />` : talk.open ? html`<${State} of="work" />` : null}</a>`;

function Nav() {
  const { page, id } = useSignal(route);
  const waiting = useSignal(waits);
  const talks = useSignal(conversations);
  return html`<nav class="nav" aria-label="Angelia"><div class="brand"><${Icon} name="mark" cls="mark" /><span>Angelia</span><a class="b bare sq" href=${link("new")} aria-label="New conversation"><${Icon} name="plus" /></a></div>
    <button class="b find" onClick=${() => openPalette()}><${Icon} name="find" /><span>Find anything</span><kbd aria-hidden="true">Ctrl K</kbd></button>
    <div class="scroll">${WAYS.map(([name, icon, word]) => html`<${WayThere} page=${name} icon=${icon} word=${word} here=${page === name} count=${name === "overview" ? waiting : 0} />`)}
      <h2>Conversations</h2><div class="convs">${talks.map((talk) => html`<${TalkLink} key=${talk.id} talk=${talk} here=${page === "c" && id === talk.id} />`)}<a href=${link("conversations")} aria-current=${page === "conversations" ? "page" : null}><span>${talks.length ? "All conversations" : "None yet"}</span></a></div></div>
    <div class="foot">${MORE.slice(-1).map(([name, icon, word]) => html`<${WayThere} page=${name} icon=${icon} word=${word} here=${page === name || MORE.some(([other]) => other === page)} />`)}</div></nav>`;
}

function Tabs() {
  const { page } = useSignal(route);
  const waiting = useSignal(waits);
  /** @type {import("./ways.js").WayTo[]} */
  const tabs = [WAYS[0], TALKS, WAYS[1], ["more", "list", "More"]];
  const known = tabs.some(([name]) => name === page);
  return html`<nav class="tabs" aria-label="Pages">${tabs.map(([name, icon, word]) => html`<a href=${link(name)} aria-current=${page === name || (!known && name === "more") ? "page" : null}><${Icon} name=${icon} />${word}${name === "overview" && waiting > 0 && html`<span class="count">${waiting}<span class="sr"> waiting</span></span>`}</a>`)}</nav>`;
}

/** The bar of a page. @param {{title: string, sub?: string, back?: boolean, children?: any}} props */
export function Top({ title, sub = "", back, children }) {
  const { lost } = useSignal(line);
  const { page } = useSignal(route);
  return html`<header class="top">${back && html`<a class="b bare sq back" href=${link("conversations")} aria-label="Back to the conversations"><${Icon} name="back" /></a>`}<h1>${title}</h1><span class="sub">${sub}</span><div class="end">${children}${MORE.some(([name]) => name === page) && html`<nav class="wideonly pagesmore" aria-label="Settings and more">${MORE.map(([name, , word]) => html`<a class="b bare" href=${link(name)} aria-current=${name === page ? "page" : null}>${word}</a>`)}</nav>`}
    <span class="line">${lost ? html`<span class="dot off"></span><span class="wideonly">No connection</span><span class="sr">No connection</span>` : html`<span class="dot"></span><span class="wideonly" aria-hidden="true">Live</span><span class="sr">Connected</span>`}</span>
    <button class="b bare sq" onClick=${otherTheme} aria-label="Dark or light"><${Icon} name="theme" /></button></div></header>`;
}

/** Since when nothing was heard, and when it is tried next. */
function Since() {
  const { lost, since, next } = useSignal(line);
  useSeconds(lost);
  if (!lost) return null;
  const seconds = Math.max(0, Math.ceil((next - Date.now()) / 1000));
  return html`<div class="since"><${Icon} name="cut" /><span role="alert">Nothing heard since <b>${second(since)}</b>. Your turn goes on without this page; what you write is kept here.</span><span class="num try">${next > Date.now() ? `Next try in ${seconds} s.` : "Trying."}</span><button class="b" onClick=${tryNow}>Try now</button></div>`;
}

/** @param {{children: any}} props */
export function Shell({ children }) {
  const { page } = useSignal(route);
  const about = useSignal(home);
  useEffect(() => {
    if (page !== "c") document.title = about ? "Angelia" : document.title;
  }, [page, about]);
  return html`<a class="skip" href="#main" onClick=${(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>To the content</a>
    <div class=${`app${page === "c" || page === "new" ? " talking" : ""}`}><${Nav} /><${Tabs} /><main class="pane" id="main" tabindex="-1"><${Since} />${children}</main></div>`;
}
