// The page of a window of ours: another page, drawn as it moves, and what pointer and keys do to it, told as events.
"use strict";
const part = (id) => document.getElementById(id);
const page = part("page");
const picture = part("picture");
const tell = (said) => window.told(JSON.stringify(said));
const NAMED = new Set(["Enter", "Tab", "Backspace", "Delete", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);
/** With Control: what is pasted is told as words, and the window is closed as any. */
const OURS = new Set(["v", "w", "q"]);
const BUTTONS = ["left", "middle", "right"];
let size = [1280, 800];
let held = "none";
let shown = "";

function asks(title, choices) {
  part("question").textContent = title;
  for (const words of choices) {
    const button = document.createElement("button");
    button.textContent = words;
    button.onclick = () => tell({ do: "answer", words });
    part("choices").append(button);
  }
  page.focus();
}

/** Resolves once it is drawn, so that the next picture is fetched only then. */
function draw(jpeg, width, height) {
  size = [width, height];
  picture.src = `data:image/jpeg;base64,${jpeg}`;
  return picture.decode().then(() => true, () => false);
}

/** Which tabs there are, which of them is shown, and what its page asks before it goes on. */
function around(state) {
  if (state.shown !== shown) picture.removeAttribute("src"); // no page stands below another one's name
  shown = state.shown;
  part("where").textContent = state.tabs.find((tab) => tab.name === shown)?.site || "an empty page";
  part("tabs").replaceChildren(...(state.tabs.length < 2 ? [] : state.tabs).map((tab) => {
    const button = document.createElement("button");
    button.textContent = `${tab.name} ${tab.site}`;
    button.setAttribute("aria-pressed", String(tab.name === shown));
    button.onclick = () => tell({ do: "tab", name: tab.name });
    return button;
  }));
  const asked = part("asks").textContent;
  part("dialog").hidden = !state.asks;
  part("asks").textContent = state.asks;
  part("reply").hidden = !state.takes_words;
  if (state.asks && state.asks !== asked) part(state.takes_words ? "reply" : "accept").focus();
  if (!state.asks && asked) page.focus();
}

const decide = (accept) => {
  tell({ do: "dialog", accept, text: part("reply").value });
  part("reply").value = "";
};
part("dialog").onsubmit = (event) => (event.preventDefault(), decide(true));
part("cancel").onclick = () => decide(false);

function say(words) {
  part("said").textContent = words;
}

function place(event) {
  const box = picture.getBoundingClientRect();
  const within = (at, whole, most) => Math.round(Math.min(Math.max(at / (whole || 1), 0), 1) * most);
  const modifiers = Number(event.altKey) + 2 * Number(event.ctrlKey) + 4 * Number(event.metaKey) + 8 * Number(event.shiftKey);
  return { x: within(event.clientX - box.left, box.width, size[0]), y: within(event.clientY - box.top, box.height, size[1]), modifiers };
}

const clicks = (event) => Math.min(Math.max(event.detail, 1), 3);
page.onpointerdown = (event) => page.setPointerCapture(event.pointerId); // what is dragged out of the window, too
page.onmousedown = (event) => {
  event.preventDefault();
  page.focus();
  held = BUTTONS[event.button] || "left";
  tell({ do: "down", button: held, count: clicks(event), ...place(event) });
};
page.onmousemove = (event) => tell({ do: "move", held, ...place(event) });
page.onmouseup = (event) => {
  if (held !== "none") tell({ do: "up", button: held, count: clicks(event), ...place(event) });
  held = "none";
};
page.oncontextmenu = (event) => event.preventDefault();
page.addEventListener("wheel", (event) => {
  event.preventDefault();
  const most = (by) => Math.max(-5000, Math.min(5000, Math.round(by * (event.deltaMode ? 40 : 1))));
  const { x, y } = place(event);
  tell({ do: "wheel", x, y, right: most(event.deltaX), down: most(event.deltaY) });
}, { passive: false });
page.onpaste = (event) => type(event.clipboardData.getData("text"));
page.onkeydown = (event) => {
  const single = [...event.key].length === 1;
  if (event.isComposing || (OURS.has(event.key) && (event.ctrlKey || event.metaKey))) return;
  if (event.key === "Escape") return void part("choices").querySelector("button")?.focus();
  if (!single && !NAMED.has(event.key)) return;
  event.preventDefault();
  const beside = [event.ctrlKey && "Control", event.metaKey && "Meta", event.altKey && "Alt", event.shiftKey && !single && "Shift"].filter(Boolean);
  if (single && !beside.length) type(event.key);
  else tell({ do: "key", keys: [...beside, event.key === " " ? "space" : event.key].join("+") });
};

function type(text) {
  for (let at = 0; at < text.length; at += 5000) tell({ do: "type", text: text.slice(at, at + 5000) });
}

part("words").onsubmit = (event) => {
  event.preventDefault();
  const words = part("answer").value.trim();
  if (words) tell({ do: "answer", words });
};
tell({ do: "ready" });
