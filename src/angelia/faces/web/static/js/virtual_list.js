// A list of any length in a scroll that belongs to its reader.
//
// Rows near the view and the last thirty are in the document; the rest is two gaps of their height. Heights are kept
// by key and width and are never dropped by new rows. Before each paint the first visible row is put back to where it
// was, so nothing that arrives or grows moves what is read. Following ends only by a person's movement up, and begins
// again only when the end is reached: by direction, never by distance.
import { Component, html } from "./html.js";
import { Signal } from "./signal.js";

const GUESS = 64;
const AROUND = 900;
const TAIL = 30;
const NEAR = 24;

/**
 * @typedef {{key: string}} Keyed
 * @typedef {{items: any[], version: number, row: (item: any) => any, tail: any, label: string, top: any, older: (() => void) | null, hold: {current: VirtualList | null}}} Props  hold: where who draws the list finds it
 */
export class VirtualList extends Component {
  /** @param {Props} props */
  constructor(props) {
    super(props);
    /** @type {Props} */
    this.props;
    props.hold.current = this;
    this.following = new Signal(true);
    /** @type {Map<number, Map<string, number>>} */
    this.widths = new Map();
    /** @type {Map<string, number>} */
    this.heights = new Map();
    /** @type {HTMLElement | null} */
    this.roll = null;
    /** @type {HTMLElement | null} */
    this.list = null;
    /** @type {{key: string, offset: number} | null} */
    this.anchor = null;
    this.lastTop = 0;
    this.lastHeight = 0;
    this.touch = 0;
    this.from = 0;
    this.to = 0;
    /** @type {Float64Array} where each row begins; one more for the end */
    this.starts = new Float64Array(1);
  }

  componentDidMount() {
    const look = new ResizeObserver(() => this.layout());
    if (this.roll) look.observe(this.roll);
    if (this.list) look.observe(this.list);
    this.look = look;
    this.layout();
  }

  componentWillUnmount() {
    this.look?.disconnect();
  }

  componentDidUpdate() {
    this.layout();
  }

  sum() {
    const { items } = this.props;
    const starts = new Float64Array(items.length + 1);
    for (let n = 0; n < items.length; n++) starts[n + 1] = starts[n] + (this.heights.get(items[n].key) ?? GUESS);
    this.starts = starts;
  }

  /** The rows that must be there now. */
  range() {
    const { items } = this.props;
    const roll = this.roll;
    const height = roll?.clientHeight || 800;
    const top = this.following.value || !roll ? (this.starts[items.length] || 0) - height : roll.scrollTop;
    const from = this.index(top - AROUND);
    const to = Math.min(items.length, this.index(top + height + AROUND) + 1);
    return [from, to];
  }

  /** The row that stands at that height. @param {number} y */
  index(y) {
    let low = 0;
    let high = Math.max(0, this.props.items.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  atEnd() {
    const roll = /** @type {HTMLElement} */ (this.roll);
    return roll.scrollHeight - roll.scrollTop - roll.clientHeight < NEAR;
  }

  scrolled = () => {
    const roll = /** @type {HTMLElement} */ (this.roll);
    const shrunk = roll.scrollHeight < this.lastHeight;
    if (roll.scrollTop < this.lastTop - 1 && !shrunk) this.following.set(false);
    else if (this.atEnd()) this.following.set(true);
    this.lastTop = roll.scrollTop;
    this.lastHeight = roll.scrollHeight;
    this.keep();
    const [from, to] = this.range();
    if (from < this.from || to > this.to || from > this.from + 40 || to < this.to - 40) this.forceUpdate();
    if (roll.scrollTop < AROUND) this.props.older?.();
  };

  /** A person moves up: whatever comes, it does not pull them back. */
  up = () => this.following.set(false);

  /** @param {KeyboardEvent} event */
  key = (event) => {
    if (["PageUp", "ArrowUp", "Home"].includes(event.key)) this.up();
  };

  toEnd = () => {
    this.following.set(true);
    this.forceUpdate();
    this.layout();
    this.roll?.focus();
  };

  /** Puts a row a little below the top. @param {string} key */
  show(key) {
    const { items } = this.props;
    const found = items.findIndex((item) => item.key === key);
    if (found < 0 || !this.roll) return;
    this.following.set(false);
    this.sum();
    this.roll.scrollTop = this.starts[found] - 80;
    this.anchor = { key, offset: 80 };
    this.forceUpdate();
  }

  rows() {
    return /** @type {NodeListOf<HTMLElement>} */ (/** @type {HTMLElement} */ (this.list).querySelectorAll(":scope > li[data-key]"));
  }

  /** Notes which row is the first in view, and where. */
  keep() {
    const top = /** @type {HTMLElement} */ (this.roll).getBoundingClientRect().top;
    this.anchor = null;
    for (const row of this.rows()) {
      const box = row.getBoundingClientRect();
      if (box.bottom <= top) continue;
      this.anchor = { key: row.dataset.key || "", offset: box.top - top };
      return;
    }
  }

  /** Measures, sets the gaps, and puts the view back before it is painted. */
  layout() {
    const { roll, list } = this;
    if (!roll || !list) return;
    const width = list.clientWidth;
    let heights = this.widths.get(width);
    if (!heights) this.widths.set(width, (heights = new Map(this.heights)));
    this.heights = heights;
    const rows = this.rows();
    for (const row of rows) heights.set(row.dataset.key || "", row.getBoundingClientRect().height);
    this.sum();
    const [above, between] = /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(":scope > li.gap"));
    const tail = Math.max(this.to, this.props.items.length - TAIL);
    above.style.height = `${this.starts[this.from]}px`;
    between.style.height = `${this.starts[tail] - this.starts[this.to]}px`;
    if (this.following.value) {
      roll.scrollTop = roll.scrollHeight;
    } else if (this.anchor) {
      const { key, offset } = this.anchor;
      for (const row of rows) {
        if (row.dataset.key !== key) continue;
        const moved = row.getBoundingClientRect().top - roll.getBoundingClientRect().top - offset;
        if (Math.abs(moved) > 0.5) roll.scrollTop += moved;
      }
    }
    this.lastTop = roll.scrollTop;
    this.lastHeight = roll.scrollHeight;
    this.keep();
    const [from, to] = this.range();
    if (from < this.from || to > this.to) this.forceUpdate();
  }

  render() {
    const { items, row, tail, label, top } = this.props;
    if (this.starts.length !== items.length + 1) this.sum();
    [this.from, this.to] = this.range();
    const rest = Math.max(this.to, items.length - TAIL);
    return html`<div class="roll" tabindex="0" role="log" aria-live="off" aria-label=${label}
        ref=${(e) => (this.roll = e)} onScroll=${this.scrolled} onKeyDown=${this.key}
        onWheel=${(/** @type {WheelEvent} */ e) => e.deltaY < 0 && this.up()}
        onTouchStart=${(/** @type {TouchEvent} */ e) => (this.touch = e.touches[0].clientY)}
        onTouchMove=${(/** @type {TouchEvent} */ e) => e.touches[0].clientY > this.touch + 4 && this.up()}>
      <ol class="log" ref=${(e) => (this.list = e)}>
        ${top}
        <li class="gap" key="above" aria-hidden="true"></li>
        ${items.slice(this.from, this.to).map(row)}
        <li class="gap" key="between" aria-hidden="true"></li>
        ${items.slice(rest).map(row)}
        ${tail}
      </ol>
    </div>`;
  }
}
