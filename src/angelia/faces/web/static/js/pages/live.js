// The browser of a conversation, live: watched, taken over, and handed back.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { ApiError, at, post, saidBy } from "../api.js";
import { conversations, waiting } from "../home.js";
import { Icon } from "../icons.js";
import { Hand } from "../live_input.js";
import { answer } from "../question.js";
import { go, link } from "../route.js";
import { Top } from "../shell.js";
import { useSignal } from "../signal.js";
import { Failure, Skeleton } from "../states.js";
import { say, toast } from "../toasts.js";

/** @typedef {{tabs: {name: string, site: string}[], shown: string, asks: string, takes_words: boolean}} Around */

/** Pictures as they come, for as long as this is shown: one request at a time, and none while the tab is hidden. @param {string} path @param {(frame: {src: string, size: number[]}) => void} shown @param {(mine: boolean) => void} held @param {(state: Around) => void} around @param {(error: any) => void} over */
function watch(path, shown, held, around, over) {
  const stop = new AbortController();
  let source = "";
  const seen = () => new Promise((done) => (document.visibilityState === "visible" ? done(null) : document.addEventListener("visibilitychange", done, { once: true })));
  const look = async () => {
    while (!stop.signal.aborted) {
      await seen();
      const came = await fetch(path, { signal: stop.signal, credentials: "same-origin" });
      if (!came.ok) throw new ApiError(came.status, (await came.json().catch(() => ({}))).error || {});
      held(came.headers.get("x-mine") === "yes");
      const state = came.headers.get("x-state");
      if (state) around({ asks: "", takes_words: false, ...JSON.parse(decodeURIComponent(state)) });
      if (came.status === 204) continue;
      const before = source;
      source = URL.createObjectURL(await came.blob());
      shown({ src: source, size: (came.headers.get("x-view") || "1280x800").split("x").map(Number) });
      setTimeout(() => URL.revokeObjectURL(before), 1000);
    }
  };
  look().catch((error) => stop.signal.aborted || over(error instanceof ApiError ? error : new ApiError(0, { what: "There is no connection.", then: "Try again when there is one." })));
  return () => (stop.abort(), URL.revokeObjectURL(source));
}

/** @param {{id: string}} props */
export function Live({ id }) {
  const [view, setView] = useState("");
  const [tries, setTries] = useState(0);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [frame, setFrame] = useState(/** @type {{src: string, size: number[]} | null} */ (null));
  const [mine, setMine] = useState(false);
  const [around, setAround] = useState(/** @type {Around | null} */ (null));
  const [busy, setBusy] = useState(false);
  const screen = useRef(/** @type {HTMLElement | null} */ (null));
  const bar = useRef(/** @type {HTMLElement | null} */ (null));
  const talk = useSignal(conversations).find((one) => one.id === id);
  const question = useSignal(waiting).questions.find((one) => one.conversation === id && one.asks === "choice" && one.picture);
  const path = at(id, `/browser/${view}`);
  const hand = useMemo(() => new Hand(`${path}/inputs`, (why) => (why.status === 410 ? setError(why) : toast(saidBy(why)))), [path]);

  useEffect(() => {
    let left = false;
    let name = "";
    setError(null);
    setFrame(null);
    post(at(id, "/browser")).then((made) => {
      name = made.id;
      if (left) void post(at(id, `/browser/${name}/end`)).catch(() => {});
      else setView(name);
    }, (why) => left || setError(why));
    return () => {
      left = true;
      setView("");
      if (name) void post(at(id, `/browser/${name}/end`)).catch(() => {});
    };
  }, [id, tries]);

  useEffect(() => {
    if (!view) return;
    let shown = "";
    const stands = (/** @type {Around} */ state) => {
      if (state.shown !== shown) setFrame(null); // no page stands below another one's name
      shown = state.shown;
      setAround(state);
    };
    return watch(path, (now) => ((hand.size = now.size), setFrame(now)), setMine, stands, setError);
  }, [view]);

  useEffect(() => {
    const part = screen.current;
    if (!part || !mine) return;
    const turn = (/** @type {WheelEvent} */ event) => hand.wheel(event);
    part.addEventListener("wheel", turn, { passive: false });
    return () => part.removeEventListener("wheel", turn);
  }, [mine, hand, Boolean(frame)]);

  /** @param {boolean} wanted */
  const take = async (wanted) => {
    if (busy) return;
    setBusy(true);
    try {
      await hand.done;
      await post(`${path}/hand`, { mine: wanted });
      setMine(wanted);
      say(wanted ? "The page is in your hand." : "The page is Angelia’s again.");
      if (wanted) screen.current?.focus();
    } catch (why) {
      toast(/** @type {Error} */ (why).message);
    } finally {
      setBusy(false);
    }
  };
  /** @param {string} what @param {object} given */
  const tell = (what, given) => post(`${path}/${what}`, given).catch((why) => toast(/** @type {Error} */ (why).message));
  /** @param {string} words */
  const done = async (words) => {
    await hand.done;
    await answer(id, question, { yes: true, words }, words === "Done" ? "Handed back. Angelia goes on." : `Answered: ${words}`);
    go("c", id);
  };
  /** @param {KeyboardEvent} event */
  const keys = (event) => {
    if (!mine) return;
    if (event.key === "Escape") bar.current?.querySelector("button")?.focus();
    else hand.key(event);
  };
  const only = (/** @type {(event: any) => void} */ act) => (/** @type {any} */ event) => mine && act.call(hand, event);
  const top = html`<${Top} title="Browser" sub=${talk?.title || ""}><a class="b" href=${link("c", id)}>Conversation</a><//>`;
  if (error) return html`${top}<${Failure} error=${error} again=${() => setTries((n) => n + 1)} />`;
  return html`${top}<div class="livepage">
    <div class=${question ? "livebar waits" : "livebar"} ref=${bar}><div><p role="status">${question ? html`<b><${Icon} name="wait" cls="ic wait" />${question.question.split("\n")[0]}</b>` : html`<b>${mine ? "The page is in your hand" : "You are watching"}</b>`}</p>
      ${around && html`<p>${around.tabs.find((tab) => tab.name === around.shown)?.site || "an empty page"}</p>`}
      <p>${mine ? "What you press and type goes to the page; Angelia waits. Esc leads back here." : "Take it over to press and type in it. Angelia neither acts nor looks meanwhile."}</p></div>
      <div class="go">${mine ? html`${!question && html`<button class="b main" aria-disabled=${busy} onClick=${() => take(false)}>Give it back</button>`}` : html`<button class="b main" aria-disabled=${busy || !frame} onClick=${() => frame && take(true)}>Take over</button>`}
        ${question?.choices.map((/** @type {string} */ words, /** @type {number} */ n) => html`<button class=${mine && !n ? "b main" : "b"} onClick=${() => done(words)}>${words}</button>`)}</div></div>
    ${around && around.tabs.length > 1 && html`<div class="livetabs" role="group" aria-label="Tabs">${around.tabs.map((tab) => html`<button class="b bare" aria-pressed=${String(tab.name === around.shown)} onClick=${() => tell("tab", { name: tab.name })}>${tab.name} ${tab.site}</button>`)}</div>`}
    ${around?.asks && html`<${Asks} key=${around.asks} around=${around} mine=${mine} decide=${(/** @type {boolean} */ accept, /** @type {string} */ text) => tell("dialog", { accept, text })} />`}
    ${frame ? html`<div class=${mine ? "screen mine" : "screen"} ref=${screen} tabindex="0" role=${mine ? "application" : "group"} aria-label=${mine ? "The page, in your hand. It is a picture: what stands on it cannot be read out. Escape leads back." : "The page, as a picture: what stands on it cannot be read out. Ask Angelia to read it to you."} onKeyDown=${keys} onPaste=${(/** @type {ClipboardEvent} */ event) => mine && hand.type(event.clipboardData?.getData("text") || "")} onContextMenu=${(/** @type {Event} */ event) => mine && event.preventDefault()}
      onPointerDown=${only(hand.down)} onPointerMove=${only(hand.move)} onPointerUp=${only(hand.up)} onPointerCancel=${only(hand.cancel)}><img src=${frame.src} width=${frame.size[0]} height=${frame.size[1]} alt="What the page looks like now" draggable=${false} /></div>` : html`<${Skeleton} />`}
    ${mine && html`<${LiveKeys} hand=${hand} />`}</div>`;
}

/** What the page asks before it goes on, which no picture shows. @param {{around: Around, mine: boolean, decide: (accept: boolean, text: string) => void}} props */
function Asks({ around, mine, decide }) {
  const [words, setWords] = useState("");
  const send = (/** @type {Event} */ event) => (event.preventDefault(), decide(true, words));
  return html`<form class="livekeys" onSubmit=${send}><p role="alert"><b>${around.asks}</b></p>
    ${mine && around.takes_words && html`<label class="field"><span class="sr">Your words for it</span><input type="text" value=${words} autocomplete="off" onInput=${(/** @type {any} */ event) => setWords(event.target.value)} /></label>`}
    ${mine && html`<button class="b main">OK</button><button type="button" class="b" onClick=${() => decide(false, "")}>Cancel</button>`}</form>`;
}

/** For fingers and input methods: words are written here and go to where the page has its focus. @param {{hand: Hand}} props */
function LiveKeys({ hand }) {
  const [words, setWords] = useState("");
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (words) hand.type(words);
    setWords("");
  };
  return html`<form class="livekeys" onSubmit=${send}><label class="field"><span class="sr">Words for the page</span><input type="text" value=${words} placeholder="Words for the page" autocomplete="off" autocapitalize="off" spellcheck=${false} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} /></label><button class="b">Type it</button>
    ${["Enter", "Tab", "Backspace", "Escape"].map((name) => html`<button type="button" class="b bare" onClick=${() => hand.press(name)}>${name}</button>`)}</form>`;
}
