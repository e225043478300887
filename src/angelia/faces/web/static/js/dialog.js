// What floats above the page until it is closed: by a key, by a press beside it, or from within.
import { html, useEffect, useRef } from "./html.js";

/** Its `children` are drawn with what closes it. @param {{cls: string, label: string, closed: () => void, children: (shut: () => void) => any} & Record<string, any>} props */
export function Dialog({ cls, label, closed, children, ...more }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const shut = () => box.current?.close();
  useEffect(() => box.current?.showModal(), []);
  return html`<dialog class=${cls} ref=${box} aria-label=${label} onClose=${closed} onClick=${(e) => e.target === box.current && shut()} ...${more}>${children(shut)}</dialog>`;
}
