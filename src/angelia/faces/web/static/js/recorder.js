// A voice, recorded in the page and attached like a file.
import { html, useEffect, useRef, useState } from "./html.js";
import { AtWork } from "./acts.js";
import { Icon } from "./icons.js";
import { useSeconds } from "./seconds.js";
import { alertTo, say } from "./toasts.js";

/** @param {{take: (blob: Blob) => void}} props */
export function Recorder({ take }) {
  const recorder = useRef(/** @type {MediaRecorder | null} */ (null));
  const [since, setSince] = useState(0);
  useSeconds(since);
  useEffect(() => () => recorder.current?.stop(), []);
  if (!navigator.mediaDevices?.getUserMedia || typeof MediaRecorder === "undefined") return null;

  const begin = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const made = new MediaRecorder(stream);
      /** @type {Blob[]} */
      const pieces = [];
      made.ondataavailable = (event) => event.data.size && pieces.push(event.data);
      made.onstop = () => {
        for (const track of stream.getTracks()) track.stop();
        recorder.current = null;
        setSince(0);
        if (pieces.length) take(new Blob(pieces, { type: made.mimeType }));
      };
      made.start(1000);
      recorder.current = made;
      setSince(Date.now());
      say("Recording.");
    } catch {
      alertTo("The microphone cannot be used. The browser or the system refused it; its settings for this page say whether it may.");
    }
  };
  const seconds = since ? Math.floor((Date.now() - since) / 1000) : 0;
  return since
    ? html`<button class="b bare recording" onClick=${() => recorder.current?.stop()}><${AtWork} />${`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`} · End</button>`
    : html`<button class="b bare sq" aria-label="Record your voice" onClick=${begin}><${Icon} name="voice" /></button>`;
}
