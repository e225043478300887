// A value that can be watched: what several parts of the page share.
import { useEffect, useState } from "./html.js";

/** @template T */
export class Signal {
  /** @param {T} value */
  constructor(value) {
    this.value = value;
    /** @type {Set<(value: T) => void>} */
    this.watchers = new Set();
  }

  /** Sets it, and tells whoever watches. @param {T} value */
  set(value) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const watcher of [...this.watchers]) watcher(value);
  }

  /** @param {(value: T) => void} watcher @returns {() => void} what ends it */
  watch(watcher) {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }
}

/** The signal's value; the component is drawn again when it changes, and when it has changed between being drawn and being watched. @template T @param {Signal<T>} signal @returns {T} */
export function useSignal(signal) {
  const [, draw] = useState(signal.value);
  useEffect(() => {
    draw(signal.value);
    return signal.watch(draw);
  }, [signal]);
  return signal.value;
}
