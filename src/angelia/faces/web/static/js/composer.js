// Where one writes: a draft for each conversation, files by button, drop and paste, a voice, and what Enter means.
import { html, names, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { stopTurn } from "./acts.js";
import { upload } from "./api.js";
import { Icon } from "./icons.js";
import { Naming } from "./naming.js";
import { Nodes } from "./nodes.js";
import { write } from "./outbox.js";
import { Recorder } from "./recorder.js";
import { go } from "./route.js";
import { alertTo, say, toast } from "./toasts.js";
import { size } from "./words.js";

const MODES = [["plan", "Only looks: nothing is changed"], ["ask", "Every write and every command asks"], ["edit", "Writes here and confined commands are allowed"]];
const byFinger = () => matchMedia("(pointer: coarse)").matches;

/** @typedef {{key: number, name: string, size: number, id: string, trouble: string}} Upload */

/** @param {string} id */
const draftKey = (id) => `angelia.draft:${id}`;

/**
 * @param {{id: string, turn: boolean, mode: string, waiting: boolean, sent: () => void, instead: ((words: string) => void) | null, begin?: () => Promise<string>, make?: () => Promise<string>}} props
 * `instead` takes the words as the answer to the question that waits; `begin` opens a conversation that is not there yet, and goes there; `make` only makes it.
 */
export function Composer({ id, turn, mode, waiting, sent, instead, begin, make = async () => id }) {
  const pen = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [files, setFiles] = useState(/** @type {Upload[]} */ ([]));
  const [reply, setReply] = useState(/** @type {any} */ (null));
  const [over, setOver] = useState(false);
  const [choosing, setChoosing] = useState(false);
  const [naming, setNaming] = useState(/** @type {{begun: string, from: number} | null} */ (null));
  const count = useRef(0);

  useLayoutEffect(() => {
    const field = /** @type {HTMLTextAreaElement} */ (pen.current);
    field.value = localStorage.getItem(draftKey(id)) || "";
    setFiles([]);
    setReply(null);
    if (!byFinger()) field.focus({ preventScroll: true });
  }, [id]);

  const keep = () => {
    const words = pen.current?.value || "";
    if (words) localStorage.setItem(draftKey(id), words);
    else localStorage.removeItem(draftKey(id));
  };

  /** What stands behind an @ up to the caret may be a name. */
  const look = () => {
    keep();
    const field = /** @type {HTMLTextAreaElement} */ (pen.current);
    const found = /(?<!\S)@("[^"\n]*|[^\s"]*)$/.exec(field.value.slice(0, field.selectionStart));
    setNaming(found && { begun: found[1].replace('"', ""), from: found.index });
  };

  /** @param {Iterable<Blob>} given @param {string} [named] */
  const take = async (given, named) => {
    for (const blob of given) {
      const key = ++count.current;
      const name = named || /** @type {File} */ (blob).name || `pasted.${blob.type.split("/")[1] || "bin"}`;
      setFiles((all) => [...all, { key, name, size: blob.size, id: "", trouble: "" }]);
      const settle = (/** @type {Partial<Upload>} */ change) => setFiles((all) => all.map((one) => (one.key === key ? { ...one, ...change } : one)));
      try {
        settle({ id: (await upload(blob, name)).id });
        say(`${name} is attached.`);
      } catch (error) {
        settle({ trouble: /** @type {Error} */ (error).message });
        alertTo(/** @type {Error} */ (error).message);
      }
    }
  };

  /** @param {"steer" | "queue"} arrival */
  const send = async (arrival) => {
    const field = /** @type {HTMLTextAreaElement} */ (pen.current);
    const text = field.value;
    const ready = files.filter((one) => one.id);
    if (!text.trim() && !ready.length) return;
    if (files.some((one) => !one.id && !one.trouble)) return void toast("A file is still being stored. Send once it is there.");
    field.value = "";
    keep();
    setFiles([]);
    setReply(null);
    setNaming(null);
    if (instead && text.trim() && !ready.length && !text.startsWith("/")) return instead(text);
    const conversation = begin ? await begin() : id;
    if (!conversation) {
      field.value = text;
      return keep();
    }
    sent();
    const answer = await write({ conversation, text, arrival, files: ready.map(({ id, name, size }) => ({ id, name, size })) });
    if (answer?.conversation) {
      toast("A fork: the conversation before it stays as it is.");
      go("c", answer.conversation);
    } else if (answer?.reply) setReply(answer);
    else if (answer && turn) say(arrival === "queue" ? "Stored. It is read after this turn." : "Stored. It is read at the next step.");
  };

  /** @param {KeyboardEvent} event */
  const key = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    const queue = event.ctrlKey || event.metaKey;
    if (byFinger() && !queue) return;
    event.preventDefault();
    void send(queue ? "queue" : "steer");
  };

  /** @param {ClipboardEvent} event */
  const paste = (event) => {
    const given = [...(event.clipboardData?.files || [])];
    if (!given.length) return;
    event.preventDefault();
    void take(given);
  };

  useEffect(() => {
    const enter = (/** @type {DragEvent} */ e) => {
      if (!e.dataTransfer?.types.includes("Files")) return;
      e.preventDefault();
      setOver(true);
    };
    const leave = (/** @type {DragEvent} */ e) => !e.relatedTarget && setOver(false);
    const drop = (/** @type {DragEvent} */ e) => {
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      setOver(false);
      void take(e.dataTransfer.files);
    };
    addEventListener("dragover", enter);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => (removeEventListener("dragover", enter), removeEventListener("dragleave", leave), removeEventListener("drop", drop));
  }, []);

  /** @param {string} name */
  const setMode = async (name) => {
    setChoosing(false);
    pen.current?.focus();
    const answer = await write({ conversation: id, text: `/mode ${name}`, arrival: "steer", files: [] });
    if (answer?.reply) setReply(answer);
  };

  return html`${reply && html`<section class="reply" aria-label="Answer to the command"><div class="text"><${Nodes} nodes=${reply.reply} />${reply.table && html`<div class="wide" tabindex="0" role="region" aria-label="Table"><table><tbody>${reply.table.map((/** @type {string[]} */ row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`}</div><button class="b bare sq" aria-label="Close the answer" onClick=${() => setReply(null)}><${Icon} name="close" /></button></section>`}
  <div class=${names("write", over && "over")}>
    ${files.length > 0 && html`<ul class="uploads" aria-label="Attached">${files.map((one) => html`<li key=${one.key} class=${one.trouble ? "bad" : ""}><${Icon} name=${one.trouble ? "failed" : "file"} /><span>${one.name}</span><span class="num">${one.trouble || (one.id ? size(one.size) : "is being stored…")}</span><button class="b bare" aria-label=${`Remove ${one.name}`} onClick=${() => setFiles((all) => all.filter((other) => other !== one))}><${Icon} name="close" /></button></li>`)}</ul>`}
    ${naming && html`<${Naming} make=${make} ...${naming} field=${pen.current} done=${() => (setNaming(null), keep())} />`}
    <label class="sr" for="pen">Message</label>
    <textarea id="pen" dir="auto" ref=${pen} rows="1" placeholder=${over ? "Drop the files here" : waiting ? "Say what to do instead" : turn ? "Say more; it is read at the next step" : "Write to Angelia"} onInput=${look} onKeyDown=${key} onPaste=${paste}></textarea>
    <div class="under">
      <input type="file" multiple hidden ref=${picker} onChange=${(e) => (void take([...e.target.files]), (e.target.value = ""))} />
      <button class="b bare sq" aria-label="Attach files" onClick=${() => picker.current?.click()}><${Icon} name="clip" /></button>
      <${Recorder} take=${(/** @type {Blob} */ blob) => take([blob], `voice.${blob.type.includes("mp4") ? "m4a" : blob.type.includes("ogg") ? "ogg" : "webm"}`)} />
      ${mode && html`<span class="menuhome" onKeyDown=${(e) => choosing && e.key === "Escape" && (e.stopPropagation(), setChoosing(false))}><button class="b bare" aria-haspopup="true" aria-expanded=${choosing} aria-label=${`Mode: ${mode}`} onClick=${() => setChoosing(!choosing)}>${mode}</button>
        ${choosing && html`<div class="menu" role="group" aria-label="Mode">${MODES.map(([name, what]) => html`<button aria-pressed=${name === mode} onClick=${() => setMode(name)}><b>${name}</b><span>${what}</span></button>`)}</div>`}</span>`}
      <span class="hint">${turn ? "Enter sends · Ctrl Enter after this turn" : "Enter sends · Shift Enter for a line"}</span>
      ${turn && html`<button class="b stop" aria-label="Stop this turn" onClick=${() => stopTurn(id)}><${Icon} name="stop" />Stop</button>`}
      <button class="b main sq sendbutton" aria-label="Send" onClick=${() => send("steer")}><${Icon} name="send" /></button>
    </div>
  </div>`;
}
