// A stream of server-sent events that comes back by itself, and says since when it hears nothing.
import { loggedIn } from "./api.js";
import { Signal } from "./signal.js";

/** A beat comes every 10 s; without one for this long the line counts as lost. */
const SILENT_MS = 25_000;
const WAITS_MS = [300, 1000, 2000, 4000, 8000, 15_000];

/** @typedef {{lost: boolean, since: number, next: number}} Line since: last heard; next: when the next try begins, or 0 */
/** @type {Signal<Line>} */
export const line = new Signal(/** @type {Line} */ ({ lost: false, since: Date.now(), next: 0 }));

/** The one stream of this tab: a browser has six connections to a host, and tabs share them. @type {Feed | null} */
let current = null;

export class Feed {
  /**
   * @param {() => string} url asked again before each try, so that it names the last event that was taken
   * @param {Record<string, (data: any, id: number) => void>} on what to do with each kind of event
   * @param {() => void} [opened]
   */
  constructor(url, on, opened = () => {}) {
    this.url = url;
    this.on = on;
    this.opened = opened;
    this.heard = Date.now();
    this.tries = 0;
    /** @type {EventSource | null} */
    this.source = null;
    this.timer = 0;
    this.watch = window.setInterval(() => this.look(), 1000);
    current?.close();
    current = this;
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    this.source?.close();
    const source = new EventSource(this.url());
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.hear();
      this.opened();
    };
    source.onerror = () => source === this.source && this.lose();
    for (const [kind, act] of Object.entries(this.on)) {
      source.addEventListener(kind, (event) => {
        this.hear();
        act(JSON.parse(event.data), Number(event.lastEventId) || 0);
      });
    }
    source.addEventListener("beat", () => this.hear());
  }

  hear() {
    this.heard = Date.now();
    if (line.value.lost) line.set({ lost: false, since: this.heard, next: 0 });
    else line.value.since = this.heard;
  }

  /** The connection ended: try again soon, and say so once a second try was needed. */
  lose() {
    this.source?.close();
    this.source = null;
    const wait = WAITS_MS[Math.min(this.tries++, WAITS_MS.length - 1)];
    this.timer = window.setTimeout(() => this.connect(), wait);
    if (this.tries > 1) line.set({ lost: true, since: this.heard, next: Date.now() + wait });
    if (this.tries === 1) void this.mayStillAsk();
  }

  /** A cookie that is no longer good ends a stream without saying why; a plain request says it. */
  async mayStillAsk() {
    const answer = await fetch("/api/home").catch(() => null);
    if (answer?.status === 401) loggedIn.set(false);
  }

  /** Nothing for 25 s is a lost line, whatever the browser believes. */
  look() {
    if (Date.now() - this.heard > SILENT_MS && this.source) this.lose();
  }

  close() {
    clearTimeout(this.timer);
    clearInterval(this.watch);
    this.source?.close();
    this.source = null;
    if (current === this) current = null;
  }
}

/** Try now, if the line is lost. */
export function tryNow() {
  if (current && line.value.lost) current.connect();
}

addEventListener("online", tryNow);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && tryNow());
