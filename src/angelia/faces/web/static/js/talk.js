// The page of one conversation: log, dock, side.
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "./html.js";
import { post } from "./api.js";
import { goOn, stopTurn } from "./acts.js";
import { Composer } from "./composer.js";
import { conversations, heedHome, home } from "./home.js";
import { Icon } from "./icons.js";
import { LiveRow } from "./live_text.js";
import { outbox, send, dropSent } from "./outbox.js";
import { Ask, answer } from "./question.js";
import { go, link } from "./route.js";
import { Row } from "./rows.js";
import { Empty, Failure, Skeleton } from "./states.js";
import { Side, Strip } from "./side.js";
import { Top } from "./shell.js";
import { useSignal } from "./signal.js";
import { TalkLog } from "./talk_log.js";
import { alertTo } from "./toasts.js";
import { withCode } from "./with_code.js";
import { VirtualList } from "./virtual_list.js";
import { clock, door, folder } from "./words.js";

/** @param {{id: string, seq: string}} props */
export function Talk({ id, seq }) {
  const log = useMemo(() => new TalkLog(id, heedHome), [id]);
  const list = useRef(/** @type {any} */ (null));
  useEffect(() => {
    void log.open();
    return () => log.close();
  }, [log]);
  const version = useSignal(log.version);
  const state = useSignal(log.state);
  const trouble = useSignal(log.trouble);
  const doing = useSignal(log.doing);
  const letters = useSignal(outbox).filter((one) => one.conversation === id && !log.entries.some((entry) => entry.key === one.key));
  const ready = Boolean(state);

  useEffect(() => {
    if (!ready || !seq) return;
    void (async () => {
      const wanted = Number(seq);
      if ((log.entries[0]?.seq || 0) > wanted) await log.older(wanted);
      const item = log.fold.items.findLast((one) => one.seq <= wanted && one.kind !== "day") || log.fold.items[0];
      if (item) list.current?.show(item.key);
    })();
  }, [log, ready, seq]);

  const title = useSignal(conversations).find((one) => one.id === id)?.title || state?.title;
  useLayoutEffect(() => {
    if (title) document.title = `${title} · Angelia`;
  }, [title]);

  if (trouble && !ready) return html`<${Top} title="Conversation" back /><${Failure} error=${trouble} again=${() => location.reload()} />`;
  if (!state) return html`<${Top} title="" back /><${Skeleton} />`;
  const { questions = [], turn = {} } = state;
  const { items, step } = log.fold;
  const plan = state.plan?.map((one) => ({ text: one.text, status: one.state })) || log.fold.plan;
  const sub = [state.folder && folder(state.folder), door(state.door)].filter(Boolean).join(" · ");
  const writing = log.live.text || log.live.thinking;
  const tail = html`${letters.map((letter) => html`<${Unsent} key=${`said:${letter.key}`} letter=${letter} />`)}
    ${writing ? html`<${LiveRow} key="live" live=${log.live} />` : turn.program?.length ? html`<${Parked} key="parked" id=${id} words=${`The program that asked has ${turn.program.join(", ")} to do. The turn goes on when it brings the result, and costs nothing until then.`} />` : state.trouble && !questions.length ? html`<${Parked} key="parked" id=${id} words=${["Nobody works on this now. ", withCode(state.trouble)]} again />` : turn.open && !questions.length ? html`<li class="live" key="live"><span class="node live"></span><div><p class="doing"><span class="dot live"></span>${doing || "At work"}</p></div></li>` : null}`;
  return html`<${Top} title=${title || "New conversation"} sub=${sub} back>${turn.open && [...log.fold.calls.values()].some(({ call }) => call.name.startsWith("browser_")) && html`<a class="b" href=${link("live", id)}>Watch the browser</a>`}<//>
    <${Strip} id=${id} state=${state} plan=${plan} step=${step} doing=${doing} />
    <div class="talk"><div class="stream">
      <${VirtualList} hold=${list} items=${items} version=${version} label="Conversation" tail=${tail} older=${log.before ? () => log.older() : null}
        row=${(item) => html`<${Row} key=${item.key} item=${item} id=${id} waits=${Boolean(turn.waits?.includes(item.seq))} />`}
        top=${log.before ? html`<li class="gapnote" key="top"><span></span><p class="day">Older ones are being read</p></li>` : null} />
      ${!items.length && !letters.length && html`<div class="overlay"><${Empty} icon="talk" title="Nothing said yet">Write below, or begin in the terminal: it appears here.<//></div>`}
      <${Dock} id=${id} questions=${questions} turn=${Boolean(turn.open)} mode=${state.mode || ""} list=${list} />
    </div><aside class="side" aria-label="This turn"><${Side} id=${id} state=${state} plan=${plan} step=${step} /></aside></div>`;
}

/** @param {{id: string, questions: any[], turn: boolean, mode: string, list: any}} props */
function Dock({ id, questions, turn, mode, list }) {
  const oldest = questions[0];
  return html`<div class="dock">${list.current && html`<${ToEnd} list=${list.current} />`}<div class="dockin">
    ${oldest && html`<${Ask} key=${oldest.call} question=${oldest} number=${1} of=${questions.length} conversation=${id} />`}
    <${Composer} id=${id} turn=${turn} mode=${mode} waiting=${Boolean(oldest)} sent=${() => list.current?.toEnd && list.current.following.set(true)}
      instead=${oldest ? (words) => void answer(id, oldest, oldest.asks === "choice" ? { yes: true, words } : { yes: false, words }, "Angelia was told what to do instead.") : null} />
  </div></div>`;
}

/** What an open turn waits for, or why nobody works on it. @param {{id: string, words: any, again?: boolean}} props */
const Parked = ({ id, words, again }) => html`<li class="live"><span class="node"></span><div><p>${words}</p>
  <div class="go">${again && html`<button class="b" onClick=${() => goOn(id)}>Go on</button>`}<button class="b" onClick=${() => stopTurn(id)}>Stop the turn</button></div></div></li>`;

/** @param {{list: VirtualList}} props */
function ToEnd({ list }) {
  const following = useSignal(list.following);
  return following ? null : html`<button class="b pill" onClick=${list.toEnd}><${Icon} name="chevron" />To the end</button>`;
}

/** What was written here and is not in the log. @param {{letter: import("./outbox.js").Letter}} props */
function Unsent({ letter }) {
  return html`<li class="live" data-key=${`said:${letter.key}`}><span class="node live"></span><div><div class="said"><h2 class="who"><b>You</b><span>${letter.trouble ? "not sent" : "is being stored"}</span><time>${clock(letter.at)}</time></h2>
    <div class="text"><p class="raw">${letter.text}</p></div>${letter.files.map((file) => html`<p class="from">${file.name}</p>`)}
    ${letter.trouble && html`<p class="cannot">${withCode(letter.trouble)}</p><div class="go"><button class="b" onClick=${() => send(letter)}>Send</button><button class="b bare" onClick=${() => dropSent(letter.key)}>Let it be</button></div>`}</div></div></li>`;
}

/** The page on which a conversation begins. */
export function NewTalk() {
  const { folder: here = "" } = useSignal(home) || {};
  const made = useRef("");
  const make = async () => (made.current ||= (await post("/api/conversations", { folder: "", sandbox: "" })).id);
  const begin = async () => {
    try {
      const id = await make();
      setTimeout(() => go("c", id), 50);
      return id;
    } catch (error) {
      alertTo(/** @type {Error} */ (error).message);
      return "";
    }
  };
  return html`<${Top} title="New conversation" sub=${folder(here)} back /><div class="talk alone"><div class="stream"><div class="roll fill"><${Empty} icon="talk" title="Nothing said yet">Write below.<//></div>
    <div class="dock"><div class="dockin"><${Composer} id="new" turn=${false} mode="" waiting=${false} sent=${() => {}} instead=${null} begin=${begin} make=${make} /></div></div></div></div>`;
}
