// A hand on a page that is elsewhere: what pointer and keys do here, as events that are sent in order.
import { post } from "./api.js";

const NAMED = new Set(["Enter", "Tab", "Backspace", "Delete", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);
const BUTTONS = ["left", "middle", "right"];
/** By finger: what moved less is a tap, what moved more turns the page's wheel. */
const TAP_PX = 10;

/** @typedef {Record<string, any>} LiveEvent */

/** Where the picture lies. @param {Event} event */
const picture = (event) => {
  const whole = /** @type {HTMLElement} */ (event.currentTarget);
  return (whole.querySelector("img") || whole).getBoundingClientRect();
};

export class Hand {
  /** @param {string} path @param {(error: any) => void} refused */
  constructor(path, refused) {
    this.path = path;
    this.refused = refused;
    /** @type {LiveEvent[]} */
    this.waiting = [];
    this.sending = false;
    /** Resolves once all that was done is there. */
    this.done = Promise.resolve();
    /** Of the page in its own pixels. */
    this.size = [1280, 800];
    /** @type {{x: number, y: number, at: [number, number], moved: boolean} | null} */
    this.finger = null;
    this.held = "none";
    this.last = { x: 0, y: 0, time: 0, count: 0 };
  }

  /** One after the other: a move that is followed by another was on the way only. @param {LiveEvent} event */
  push(event) {
    if (event.do === "move" && this.waiting.at(-1)?.do === "move") this.waiting.pop();
    this.waiting.push(event);
    if (!this.sending) this.done = this.send();
  }

  async send() {
    this.sending = true;
    try {
      while (this.waiting.length) await post(this.path, { events: this.waiting.splice(0, 100) });
    } catch (error) {
      this.waiting = [];
      this.refused(error);
    } finally {
      this.sending = false;
    }
  }

  /** @param {MouseEvent} event */
  place(event) {
    const box = picture(event);
    const within = (/** @type {number} */ part, /** @type {number} */ whole, /** @type {number} */ most) => Math.round(Math.min(Math.max(part / (whole || 1), 0), 1) * most);
    return { x: within(event.clientX - box.left, box.width, this.size[0]), y: within(event.clientY - box.top, box.height, this.size[1]), modifiers: Number(event.altKey) + 2 * Number(event.ctrlKey) + 4 * Number(event.metaKey) + 8 * Number(event.shiftKey) };
  }

  /** A second finger zooms, which is the browser's own affair. @param {PointerEvent} event */
  down(event) {
    if (!event.isPrimary) return;
    const at = this.place(event);
    const element = /** @type {HTMLElement} */ (event.currentTarget);
    element.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") {
      this.finger = { x: event.clientX, y: event.clientY, at: [at.x, at.y], moved: false };
      return;
    }
    const { x, y, time, count } = this.last;
    const again = event.timeStamp - time < 500 && Math.hypot(at.x - x, at.y - y) < 5;
    this.last = { x: at.x, y: at.y, time: event.timeStamp, count: again ? Math.min(count + 1, 3) : 1 };
    this.held = BUTTONS[event.button] || "left";
    this.push({ do: "down", button: this.held, count: this.last.count, ...at });
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!event.isPrimary) return;
    const at = this.place(event);
    if (!this.finger) return this.push({ do: "move", held: this.held, ...at });
    const [dx, dy] = [this.finger.x - event.clientX, this.finger.y - event.clientY];
    if (!this.finger.moved && Math.hypot(dx, dy) < TAP_PX) return;
    const scale = this.size[0] / (picture(event).width || 1);
    this.push({ do: "wheel", x: this.finger.at[0], y: this.finger.at[1], right: Math.round(dx * scale), down: Math.round(dy * scale) });
    this.finger = { ...this.finger, x: event.clientX, y: event.clientY, moved: true };
  }

  /** @param {PointerEvent} event */
  up(event) {
    if (!event.isPrimary) return;
    const at = this.place(event);
    const finger = this.finger;
    this.finger = null;
    if (finger?.moved) return;
    if (finger) this.push({ do: "down", ...at });
    this.push({ do: "up", button: finger ? "left" : this.held, count: finger ? 1 : this.last.count, ...at });
    this.held = "none";
  }

  /** It became a gesture of the browser's. @param {PointerEvent} event */
  cancel(event) {
    this.finger = null;
    if (this.held !== "none") this.up(event);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const line = event.deltaMode ? 40 : 1;
    const most = (/** @type {number} */ by) => Math.max(-5000, Math.min(5000, Math.round(by * line)));
    const { x, y } = this.place(event);
    this.push({ do: "wheel", x, y, right: most(event.deltaX), down: most(event.deltaY) });
  }

  /** Escape is ours: it leads out. True where it was one for the page. @param {KeyboardEvent} event */
  key(event) {
    if (event.isComposing || event.key === "Escape") return false;
    const single = [...event.key].length === 1;
    if (!single && !NAMED.has(event.key)) return false;
    event.preventDefault();
    event.stopPropagation();
    const held = [event.ctrlKey && "Control", event.metaKey && "Meta", event.altKey && "Alt", event.shiftKey && !single && "Shift"].filter(Boolean);
    if (single && !held.length) this.push({ do: "type", text: event.key });
    else this.push({ do: "key", keys: [...held, event.key === " " ? "space" : event.key].join("+") });
    return true;
  }

  /** @param {string} text */
  type(text) {
    for (let at = 0; at < text.length; at += 5_000) this.push({ do: "type", text: text.slice(at, at + 5_000) });
  }

  /** @param {string} keys */
  press(keys) {
    this.push({ do: "key", keys });
  }
}
