// A part of the page that is fetched when it is first shown.
import { useEffect, useState } from "./html.js";

/** What `load` brings; why it could not be had, and another try. @template T @param {() => Promise<T>} load @returns {{data: T | null, error: any, again: () => void}} */
export function useLater(load) {
  const [state, set] = useState(/** @type {{data: T | null, error: any}} */ ({ data: null, error: null }));
  const again = () => void load().then((data) => set({ data, error: null }), () => set({ data: null, error: { message: "This part of the page could not be fetched.", why: "Angelia did not answer, or is another version by now.", then: "If it stays so, load the page again." } }));
  useEffect(again, []);
  return { ...state, again };
}
