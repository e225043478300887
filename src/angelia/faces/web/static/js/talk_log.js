// One open conversation as the page holds it: its entries in one unbroken run up to the newest, and what is live.
import { at, get } from "./api.js";
import { Feed } from "./feed.js";
import { Fold } from "./fold.js";
import { dropSent } from "./outbox.js";
import { Signal } from "./signal.js";
import { say } from "./toasts.js";
import { second } from "./words.js";

/** @typedef {import("./fold.js").Entry} Entry */

const PAGE = 200;

export class TalkLog {
  /** @param {string} id @param {(data: any) => void} [home] what to do with news of the whole home */
  constructor(id, home = () => {}) {
    this.id = id;
    this.home = home;
    /** @type {Entry[]} */
    this.entries = [];
    this.last = 0;
    /** Where older ones begin; 0 if there are none. */
    this.before = 0;
    this.fold = new Fold();
    /** Grows with every change of `fold.items`. @type {Signal<number>} */
    this.version = new Signal(0);
    /** The conversation's own state: title, turn, questions, work, money. @type {Signal<any>} */
    this.state = new Signal(null);
    /** @type {Signal<Error | null>} */
    this.trouble = new Signal(/** @type {Error | null} */ (null));
    /** What the model does this moment, in words. */
    this.doing = new Signal("");
    /** Pieces of the reply, which are not durable. */
    this.live = { text: "", thinking: "", begun: 0, version: new Signal(0) };
    this.loading = false;
    this.frame = 0;
    /** @type {Feed | null} */
    this.feed = null;
    this.closed = false;
  }

  /** Reads the newest entries and follows from there. */
  async open() {
    try {
      const [state, page] = await Promise.all([get(at(this.id)), get(at(this.id, `/entries?limit=${PAGE}`))]);
      if (this.closed) return;
      this.take(page.entries);
      this.before = page.first;
      this.state.set(state);
      this.version.set(this.version.value + 1);
    } catch (error) {
      this.trouble.set(/** @type {Error} */ (error));
      return;
    }
    this.feed = new Feed(() => at(this.id, `/events?after=${this.last}`), {
      entry: (entry) => this.hear(entry),
      live: (piece) => this.piece(piece),
      state: (state) => this.heed(state),
      home: (data) => this.home(data),
    }, () => this.forget());
  }

  /** A letter's key as this page chose it: in the log it stands behind the conversation's own. @param {Entry} entry */
  known(entry) {
    return entry.key?.startsWith(`${this.id}:`) ? { ...entry, key: entry.key.slice(this.id.length + 1) } : entry;
  }

  /** @param {Entry[]} entries in ascending order */
  take(entries) {
    for (const entry of entries.map((one) => this.known(one))) {
      if (entry.seq <= this.last) continue;
      this.entries.push(entry);
      this.last = entry.seq;
      this.fold.add(entry);
      if (entry.key) dropSent(entry.key);
    }
  }

  /** @param {Entry} entry */
  hear(entry) {
    if (entry.seq <= this.last) return;
    this.take([entry]);
    if (entry.kind === "ModelSaid" || entry.kind === "ModelFailed" || entry.kind === "TurnClosed") this.forget();
    if (entry.kind === "ModelSaid" && !entry.calls?.length) say("Angelia has answered.");
    if (entry.kind === "TurnClosed" && entry.sentence) say(entry.sentence);
    this.soon();
  }

  /** One drawing for all that came within a frame. */
  soon() {
    if (this.frame) return;
    this.frame = 1;
    const draw = () => {
      this.frame = 0;
      this.version.set(this.version.value + 1);
    };
    if (document.visibilityState === "hidden") setTimeout(draw, 250);
    else requestAnimationFrame(draw);
  }

  /** What was live is a fact now, or was lost with the line: the log says which. */
  forget() {
    if (!this.live.text && !this.live.thinking) return;
    this.live.text = "";
    this.live.thinking = "";
    this.live.begun++;
    this.live.version.set(this.live.version.value + 1);
    this.soon();
  }

  /** @param {any} piece */
  piece(piece) {
    if (piece.kind === "writing" || piece.kind === "thinking") {
      const part = piece.kind === "writing" ? "text" : "thinking";
      const began = !this.live.text && !this.live.thinking;
      if (piece.whole) this.live.begun++;
      this.live[part] = piece.whole ? piece.text : this.live[part] + piece.text;
      this.doing.set("");
      if (began) {
        if (part === "text") say("Angelia is answering.");
        this.soon();
      }
      this.live.version.set(this.live.version.value + 1);
    } else if (piece.kind === "output") {
      const found = this.fold.calls.get(piece.call);
      if (!found) return;
      found.call.output = (found.call.output + piece.text).slice(-8000);
      found.item.rev++;
      this.soon();
    } else {
      this.doing.set(DOING[piece.kind]?.(piece) || "");
    }
  }

  /** @param {any} state */
  heed(state) {
    const before = this.state.value?.questions?.length || 0;
    if (state.turn?.open !== this.state.value?.turn?.open || state.questions?.length !== before) this.home({});
    this.state.set({ ...this.state.value, ...state });
    if (state.questions?.length > before) say(`Waits for you: ${state.questions.at(-1).question}`);
    if (state.turn && !state.turn.open) this.doing.set("");
  }

  /** Reads older entries, until `seq` is in or once. @param {number} [seq] */
  async older(seq = 0) {
    if (this.loading || !this.before) return;
    this.loading = true;
    try {
      do {
        const page = await get(at(this.id, `/entries?before=${this.before}&limit=${seq ? 1000 : PAGE}`));
        this.entries = [...page.entries.map((/** @type {Entry} */ one) => this.known(one)), ...this.entries];
        this.before = page.first;
      } while (seq && this.before && (this.entries[0]?.seq || 0) > seq);
      const again = new Fold();
      for (const entry of this.entries) again.add(entry);
      this.fold = again;
      this.version.set(this.version.value + 1);
    } catch (error) {
      this.trouble.set(/** @type {Error} */ (error));
    } finally {
      this.loading = false;
    }
  }

  close() {
    this.closed = true;
    this.feed?.close();
  }
}

/** @type {Record<string, (piece: any) => string>} */
const DOING = {
  asked: (piece) => `Waits for ${piece.name || "the model"} since ${second(piece.since)}${piece.until ? `, until ${second(piece.until)} at most` : ""}`,
  coming: (piece) => `Prepares ${piece.name}`,
  waiting: (piece) => `Waits until ${second(piece.until)}: ${piece.why}`,
  folding: () => "Folds what was said before, to make room",
};
