// What a person sees of a page, as lines, and where to click. Runs in a world of its own: the page cannot see or change
// it. `first` is the number of the first reference, so that none is given out twice in the life of a tab.
(first) => {
  const WIDGETS = new Set(["button", "link", "checkbox", "radio", "textbox", "searchbox", "combobox", "listbox", "option",
    "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "switch", "slider", "spinbutton", "treeitem", "gridcell"]);
  const POINTED = ["click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "dblclick"];
  const INPUTS = { button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox",
    radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", file: "file", color: "color" };
  const TAGS = { A: (e) => (e.hasAttribute("href") ? "link" : ""), BUTTON: () => "button", SELECT: (e) =>
    e.multiple || e.size > 1 ? "listbox" : "combobox", TEXTAREA: () => "textbox", SUMMARY: () => "button",
    INPUT: (e) => (e.type === "hidden" ? "" : INPUTS[e.type] || (e.list ? "combobox" : "textbox")), OPTION: () => "option",
    H1: () => "heading", H2: () => "heading", H3: () => "heading", H4: () => "heading", H5: () => "heading",
    H6: () => "heading", IMG: (e) => (e.getAttribute("alt") === "" ? "" : "img"), VIDEO: () => "video",
    AUDIO: () => "audio", CANVAS: () => "canvas", IFRAME: () => "frame", FRAME: () => "frame" };
  const refs = new WeakMap(), elements = new Map();
  let last = first - 1;

  const ref = (element) => {
    let known = refs.get(element);
    if (!known) {
      known = `e${++last}`;
      refs.set(element, known);
      elements.set(known, new WeakRef(element));
    }
    return known;
  };
  const squeeze = (text, most = 200) => {
    const one = (text || "").replace(/\s+/g, " ").trim();
    return one.length > most ? one.slice(0, most - 1) + "…" : one;
  };
  const written = (element) => element.isContentEditable && !element.parentElement?.isContentEditable;
  const role = (element) => {
    const said = (element.getAttribute("role") || "").trim().split(/\s+/)[0];
    if (said && said !== "presentation" && said !== "none") return said;
    if (written(element)) return "textbox";
    const own = TAGS[element.tagName];
    return own ? own(element) : "";
  };
  const root = (element) => element.getRootNode();
  const labelled = (element) => (element.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean)
    .map((id) => root(element).getElementById?.(id)?.innerText || "").join(" ");
  // Accessible name, as far as pages use it: https://www.w3.org/TR/accname-1.2/
  const name = (element, kind) => {
    const said = labelled(element) || element.getAttribute("aria-label");
    if (squeeze(said)) return squeeze(said);
    const tag = element.tagName;
    if (tag === "IMG" || tag === "AREA") return squeeze(element.alt || element.title);
    if (tag === "INPUT" || tag === "SELECT" || tag === "TEXTAREA") {
      if (tag === "INPUT" && ["submit", "button", "reset"].includes(element.type))
        return squeeze(element.value || { submit: "Submit", reset: "Reset" }[element.type] || element.title);
      if (tag === "INPUT" && element.type === "image") return squeeze(element.alt || element.title || "Submit");
      const labels = [...(element.labels || [])].map((one) => one.innerText).join(" ");
      return squeeze(labels || element.title || element.placeholder);
    }
    if (written(element)) return squeeze(element.title || element.getAttribute("aria-placeholder"));
    if (kind === "frame") return squeeze(element.title || element.name);
    const inner = squeeze(element.innerText);
    if (inner) return inner;
    const picture = element.querySelector?.("img[alt], [aria-label], svg > title");
    return squeeze(picture?.getAttribute("alt") || picture?.getAttribute("aria-label") || picture?.textContent
      || element.title);
  };
  const states = (element, kind) => {
    const found = [];
    const secret = element.type === "password" || /one-time-code/.test(element.autocomplete || "");
    if (["textbox", "searchbox", "spinbutton", "combobox", "slider"].includes(kind) && "value" in element) {
      const value = element.tagName === "SELECT" ? element.selectedOptions[0]?.label : element.value;
      if (value) found.push(`= ${secret ? "•••" : JSON.stringify(squeeze(value, 100))}`);
    } else if (written(element) && squeeze(element.innerText))
      found.push(`= ${JSON.stringify(squeeze(element.innerText, 100))}`);
    if (element.checked || element.getAttribute("aria-checked") === "true") found.push("checked");
    if (element.selected || element.getAttribute("aria-selected") === "true") found.push("selected");
    if (element.disabled || element.getAttribute("aria-disabled") === "true") found.push("disabled");
    if (element.required) found.push("required");
    if (element.readOnly) found.push("read-only");
    const open = element.getAttribute("aria-expanded");
    if (open) found.push(open === "true" ? "open" : "closed");
    if (element.matches?.(":focus")) found.push("focused");
    if (element.tagName === "SELECT") found.push(`of ${[...element.options].slice(0, 30).map((o) => JSON.stringify(
      squeeze(o.label, 40))).join(" ")}${element.options.length > 30 ? " …" : ""}`);
    if (/^H[1-6]$/.test(element.tagName)) found.push(`level ${element.tagName[1]}`);
    return found;
  };
  // Who has listeners of their own is only told by the browser (DOMDebugger), which marks them here.
  const marked = new WeakSet();
  const mark = (found) => { if (found?.nodeType === 1) marked.add(found); };
  const labels = (element) => element.tagName === "LABEL" && element.control?.getClientRects().length ? element.control
    : null;
  const clickable = (element, kind) => WIDGETS.has(kind) || written(element) || (element.tabIndex >= 0 && element.hasAttribute("tabindex")) || kind === "file" || kind ===
    "color" || element.tagName === "LABEL" && element.control || (element !== document.body && element !==
    document.documentElement && marked.has(element));
  const colours = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  // Words that nobody could read are none: they are written for machines, and not by whom the person trusts.
  const legible = (element, style, box) => {
    if (box.width < 2 || box.height < 2 || parseFloat(style.fontSize) < 4) return false;
    const [r, g, b, a = 1] = colours(style.color);
    if (a < 0.1) return false;
    for (let at = element; at; at = at.parentElement || at.getRootNode().host) {
      const of = at === element ? style : getComputedStyle(at);
      if (of.backgroundImage !== "none") return true;
      const [br, bg, bb, ba = 1] = colours(of.backgroundColor);
      if (ba > 0.9) return Math.abs(r - br) + Math.abs(g - bg) + Math.abs(b - bb) > 12;
      if (ba > 0.1) return true;
    }
    return r + g + b < 755; // on the white of an empty page
  };

  const look = (whole, under) => {
    const lines = [];
    let above = 0, below = 0, words = [], block = null;
    const flush = () => {
      const text = squeeze(words.join(""), 2000);
      if (text) lines.push({ text });
      words = [];
    };
    const place = (box, shift) => (box.bottom + shift.y <= 0 ? -1 : box.top + shift.y >= innerHeight ? 1
      : box.right + shift.x <= 0 || box.left + shift.x >= innerWidth ? 2 : 0);
    const visit = (element, shift, clip, within) => {
      if (!element.checkVisibility({ opacityProperty: true, contentVisibilityAuto: true })) return;
      const style = getComputedStyle(element);
      if (style.visibility !== "visible" && !element.children.length && !element.shadowRoot) return;
      const box = element.getBoundingClientRect();
      const kind = role(element);
      // Left of the page and above it nobody can scroll.
      const apart = box.right + shift.x + scrollX <= 0 || box.bottom + shift.y + scrollY <= 0;
      const shown = style.visibility === "visible" && !apart;
      const where = place(box, shift);
      const sized = box.width > 0 && box.height > 0;
      const acts = shown && clickable(element, kind) && !labels(element);
      const inline = style.display.startsWith("inline") || style.display === "contents";
      if (!inline) flush();
      const cut = clip && (box.right < clip.left || box.left > clip.right || box.bottom < clip.top || box.top > clip.bottom);
      if (acts && sized && !cut && where !== 0 && !whole) where < 0 ? above++ : where === 1 && below++;
      const here = shown && sized && !cut && (whole || where === 0);
      let inside = labels(element) ? "" : within; // a label's words stand in the line of what it labels
      if (here && (acts || kind === "heading" || ["img", "video", "audio", "canvas", "frame"].includes(kind))) {
        flush();
        const many = element.querySelector("a[href], button, input, select, textarea, [role], [tabindex], [onclick]");
        // What holds other elements is named by its label alone: its words stand in theirs.
        const holds = many && !WIDGETS.has(kind) && kind !== "heading" && kind !== "frame";
        const said = holds ? squeeze(labelled(element) || element.getAttribute("aria-label")) : name(element, kind);
        const line = { role: kind || element.tagName.toLowerCase(), name: said, state: states(element, kind) };
        if (acts || ["video", "audio", "canvas", "frame"].includes(kind)) line.ref = ref(element);
        if (!(kind === "img" && !said)) lines.push(line);
        if (!many && kind !== "frame" && element.tagName !== "LABEL") inside = said; // its words stand in its line
        if (element.tagName === "SELECT" || element.tagName === "TEXTAREA" || written(element)) return;
        if (kind === "frame") { frame(element, box, shift, lines.at(-1)); return; }
      }
      const overflows = style.overflow !== "visible" && style.overflow !== "";
      const bound = overflows ? { left: Math.max(box.left, clip ? clip.left : -1e9), top: Math.max(box.top, clip ? clip.top
        : -1e9), right: Math.min(box.right, clip ? clip.right : 1e9), bottom: Math.min(box.bottom, clip ? clip.bottom
        : 1e9) } : clip;
      const readable = here && inside === null && legible(element, style, box);
      for (const child of (element.shadowRoot || element).childNodes) {
        if (child.nodeType === 3) { if (readable && child.data.trim()) words.push(child.data); }
        else if (child.nodeType === 1) {
          if (child.tagName === "SLOT" && child.assignedNodes().length) {
            for (const one of child.assignedNodes({ flatten: true })) {
              if (one.nodeType === 1) visit(one, shift, bound, inside);
              else if (one.nodeType === 3 && readable) words.push(one.data);
            }
          } else if (!["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD"].includes(child.tagName))
            visit(child, shift, bound, inside);
        }
      }
      if (!inline || element.tagName === "BR") flush();
    };
    const frame = (element, box, shift, line) => {
      let inner = null;
      try { inner = element.contentDocument; } catch { inner = null; }
      if (!inner || !inner.body) { line.state.push("of another origin, not shown"); return; }
      visit(inner.body, { x: shift.x + box.left + element.clientLeft, y: shift.y + box.top + element.clientTop }, null, null);
      flush();
      lines.push({ text: "(end of the frame)" });
    };
    const begin = under ? element(under) : document.body;
    if (under && !begin) return { gone: true };
    if (begin) visit(begin, { x: 0, y: 0 }, null, null);
    flush();
    const page = document.scrollingElement || document.documentElement;
    return { url: location.href, title: squeeze(document.title), lines, above, below, last, ready: document.readyState,
      scroll: Math.round(scrollY), height: page ? page.scrollHeight : 0, seen: innerHeight };
  };
  const element = (known) => {
    const found = elements.get(known)?.deref();
    return found && found.isConnected ? found : null;
  };
  const shiftOf = (found) => {
    let x = 0, y = 0;
    for (let view = found.ownerDocument.defaultView; view && view !== window; view = view.parent) {
      const holder = view.frameElement;
      if (!holder) break;
      const box = holder.getBoundingClientRect();
      x += box.left + holder.clientLeft;
      y += box.top + holder.clientTop;
    }
    return { x, y };
  };
  // Where to point, and what would take the click there.
  const at = (known) => {
    const found = element(known);
    if (!found) return { gone: true };
    if (found.disabled) return { disabled: true };
    found.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    const box = [...found.getClientRects()].find((one) => one.width > 1 && one.height > 1) || found.getBoundingClientRect();
    if (!box.width || !box.height) return { gone: true };
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    let hit = found.getRootNode().elementFromPoint?.(x, y) || found.ownerDocument.elementFromPoint(x, y);
    for (; hit?.shadowRoot && hit !== found;) {
      const deeper = hit.shadowRoot.elementFromPoint(x, y);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    const labelled = hit?.closest?.("label")?.control === found || [...(found.labels || [])].includes(hit);
    const shift = shiftOf(found), point = { x: x + shift.x, y: y + shift.y };
    if (!hit || found.contains(hit) || hit.contains(found) || labelled || found.getRootNode().host?.contains(hit))
      return point;
    return { covered: `${role(hit) || hit.tagName.toLowerCase()} ${JSON.stringify(name(hit, role(hit)).slice(0, 60))}` };
  };
  const focus = (known, clear) => {
    const found = element(known);
    if (!found) return { gone: true };
    if (found.disabled || found.readOnly) return { disabled: true };
    found.focus({ preventScroll: false });
    if (clear && found.select) found.select();
    else if (clear && found.isContentEditable) found.ownerDocument.getSelection().selectAllChildren(found);
    const kind = found.tagName === "INPUT" ? found.type : "";
    return { typed: !["date", "time", "month", "week", "datetime-local", "color", "range"].includes(kind), kind };
  };
  const set = (known, value) => {
    const found = element(known);
    if (!found) return { gone: true };
    const own = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(found), "value");
    own?.set ? own.set.call(found, value) : (found.value = value);
    for (const kind of ["input", "change"]) found.dispatchEvent(new Event(kind, { bubbles: true }));
    return { value: found.value };
  };
  const choose = (known, wanted) => {
    const found = element(known);
    if (!found) return { gone: true };
    if (found.disabled) return { disabled: true };
    if (found.tagName !== "SELECT") return { unlike: role(found) || found.tagName.toLowerCase() };
    const options = [...found.options];
    const option = options.find((one) => squeeze(one.label) === squeeze(wanted)) || options.find((one) => one.value === wanted)
      || options.find((one) => squeeze(one.label).toLowerCase().includes(squeeze(wanted).toLowerCase()));
    if (!option) return { none: options.slice(0, 30).map((one) => squeeze(one.label, 40)) };
    if (found.multiple) option.selected = true; else found.value = option.value, option.selected = true;
    for (const kind of ["input", "change"]) found.dispatchEvent(new Event(kind, { bubbles: true }));
    return { chosen: squeeze(option.label) };
  };
  const scroll = (known, pages) => {
    const found = known ? element(known) : document.scrollingElement || document.documentElement;
    if (!found) return { gone: true };
    const before = found.scrollTop;
    if (known && found.scrollHeight <= found.clientHeight + 1) found.scrollIntoView({ block: "center", behavior: "instant" });
    else found.scrollBy({ top: pages * (known ? found.clientHeight : innerHeight) * 0.9, behavior: "instant" });
    return { moved: Math.round(found.scrollTop - before) };
  };
  const box = (known) => {
    const found = element(known);
    if (!found) return { gone: true };
    const own = found.getBoundingClientRect(), shift = shiftOf(found);
    return { x: own.left + shift.x + scrollX, y: own.top + shift.y + scrollY, width: own.width, height: own.height };
  };
  const shows = (text) => document.body?.innerText.includes(text) || false;
  globalThis.angeliaPage = { look, mark, at, box, focus, set, choose, scroll, shows, get last() { return last; } };
  return true;
}
