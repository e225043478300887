// Pictures, sounds and files in a conversation; a picture opens large.
import { html } from "./html.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { at } from "./api.js";
import { Signal, useSignal } from "./signal.js";
import { duration, size } from "./words.js";

/** @typedef {{media: string, name: string, mime: string, size: number, width: number, height: number, seconds: number, words: string, seq: number, part: number | string}} File */

/** @type {Signal<{src: string, words: string, name: string} | null>} */
const large = new Signal(/** @type {any} */ (null));

/** Where the bytes are. @param {string} id @param {File} file */
export const source = (id, file) => at(id, `/media/${file.seq}/${file.part}`);

/** @param {File} file */
const about = (file) => [file.name, file.width ? `${file.width} × ${file.height}` : "", file.seconds ? duration(file.seconds) : "", size(file.size)].filter(Boolean).join(" · ");

/** @param {{id: string, file: File}} props */
export function Media({ id, file }) {
  const src = source(id, file);
  if (file.media === "image") {
    const open = () => large.set({ src, words: file.words, name: file.name });
    return html`<figure class="pic"><button aria-label=${`Open ${file.name || "the picture"} large`} onClick=${open}>
      <img src=${file.width > 960 ? `${src}?thumb=1` : src} width=${file.width || 640} height=${file.height || 400} alt=${file.words || file.name || "A picture"} loading="lazy" decoding="async" /></button>
      <figcaption>${about(file)}</figcaption></figure>`;
  }
  const sound = file.media === "audio" && html`<audio controls preload="none" src=${src} aria-label=${file.name || "Recording"}></audio>`;
  const film = file.media === "video" && html`<video controls preload="none" src=${src} aria-label=${file.name || "Video"}></video>`;
  return html`<div class="filebox"><div class="receipt"><${Icon} name="file" /><div><p>${file.name || file.mime}</p><p>${about({ ...file, name: "" })}</p></div><a class="b" href=${src} download=${file.name || ""}>Save</a></div>${sound}${film}${file.words && file.media === "audio" && html`<p class="heard">“${file.words}”</p>`}</div>`;
}

/** The picture that is open large. */
export function Large() {
  const shown = useSignal(large);
  return shown && html`<${Dialog} cls="large" label=${shown.name || "Picture"} closed=${() => large.set(null)}>${(/** @type {() => void} */ shut) => html`<img src=${shown.src} alt=${shown.words || shown.name || "A picture"} onClick=${shut} /><button class="b" onClick=${shut} autofocus>Close</button>`}<//>`;
}
