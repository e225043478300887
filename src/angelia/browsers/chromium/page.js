// What a person sees of a page, as lines, and where to click. Runs in a world of its own: the page cannot see or change
// it. `first` is the number of the first reference, so that none is given out twice in the life of a tab; `prefix` begins
// all of them, in frames that are read by themselves.
(first, prefix) => {
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
  const UNSEEN = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD"]);
  const VISIBLE = { opacityProperty: true, contentVisibilityAuto: true, visibilityProperty: true };
  const refs = new WeakMap(), elements = new Map();
  let last = first - 1;

  const ref = (element) => {
    let known = refs.get(element);
    if (!known) {
      known = `${prefix}e${++last}`;
      refs.set(element, known);
      elements.set(known, new WeakRef(element));
    }
    return known;
  };
  // What was typed by a secret's handle. Its fields are dots in words and pictures, and so is the value where it stands.
  const given = new WeakSet(), secrets = new Map();
  let masked = [];
  const hide = (...values) => {
    for (const value of values.flatMap((one) => [one, one.replace(/\s+/g, " ").trim()])) // words of a page are squeezed
      if (value.length >= 6) secrets.set(value, new RegExp(value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi"));
  };
  const holds = (text) => [...secrets.values()].some((one) => { one.lastIndex = 0; return one.test(text); });
  const without = (text) => { for (const one of secrets.values()) text = text.replace(one, "•••"); return text; };
  const squeeze = (text, most = 200) => {
    const one = without(text || "").replace(/\s+/g, " ").trim();
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
      // A label around its own list holds the list's options too, which are no part of the name.
      const labels = [...(element.labels || [])].map((one) => tag === "SELECT" && one.contains(element)
        ? one.innerText.replace(element.innerText, " ") : one.innerText).join(" ");
      return squeeze(labels || element.title || element.placeholder);
    }
    if (written(element)) return squeeze(element.title || element.getAttribute("aria-placeholder"));
    if (kind === "frame") return squeeze(element.title || element.name);
    const inner = squeeze(element.innerText);
    if (inner) return inner;
    const picture = element.querySelector?.("img[alt], [aria-label], svg > title, [title]");
    return squeeze(picture?.getAttribute("alt") || picture?.getAttribute("aria-label") || picture?.textContent
      || picture?.title || element.title);
  };
  const states = (element, kind) => {
    const found = [];
    const secret = element.type === "password" || given.has(element) || /one-time-code/.test(element.autocomplete || "");
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
  const mark = (...all) => { for (const one of all) if (one?.nodeType === 1) marked.add(one); };
  const labels = (element) => element.tagName === "LABEL" && element.control?.getClientRects().length ? element.control
    : null;
  const clickable = (element, kind) => WIDGETS.has(kind) || written(element) || (element.tabIndex >= 0 && element.hasAttribute("tabindex")) || kind === "file" || kind ===
    "color" || element.tagName === "LABEL" && element.control || (element !== document.body && element !==
    document.documentElement && marked.has(element));
  const colours = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  // Colours that differ by less are one to a person: WCAG 2.2 asks for 4.5 where words are to be read with ease.
  const CONTRAST = 1.2, FAR = 90;
  const light = (colour) => colour.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92
    : ((part + 0.055) / 1.055) ** 2.4).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0.05);
  const toldApart = (one, other) => {
    if (one.reduce((sum, part, at) => sum + Math.abs(part - other[at]), 0) > FAR) return true;
    const ratio = light(one) / light(other);
    return ratio > CONTRAST || ratio < 1 / CONTRAST;
  };
  // Words that nobody could read are none: they are written for machines, and not by whom the person trusts.
  const legible = (element, style, box) => {
    if (box.width < 2 || box.height < 2 || parseFloat(style.fontSize) < 4) return false;
    const [r, g, b, a = 1] = colours(style.color);
    if (a < 0.1) return false;
    for (let at = element; at; at = at.parentElement || at.getRootNode().host) {
      const of = at === element ? style : getComputedStyle(at);
      if (of.backgroundImage !== "none") return true;
      const [br, bg, bb, ba = 1] = colours(of.backgroundColor);
      if (ba > 0.9) return toldApart([r, g, b], [br, bg, bb]);
      if (ba > 0.1) return true;
    }
    return toldApart([r, g, b], [255, 255, 255]); // the white of an empty page
  };

  // Closed shadow roots are told by the browser alone, of those that may have one: elements with a name of their own,
  // and those that show something though nothing is in them.
  const HOSTS = new Set(["ARTICLE", "ASIDE", "BLOCKQUOTE", "DIV", "FOOTER", "H1", "H2", "H3", "H4", "H5", "H6", "HEADER", "MAIN",
    "NAV", "P", "SECTION", "SPAN"]);
  const covered = new WeakMap(), suspected = new WeakSet();
  let suspects = [];
  const shadow = (element) => element.shadowRoot || covered.get(element);
  const uncover = (...pairs) => { for (let at = 0; at < pairs.length; at += 2) covered.set(pairs[at], pairs[at + 1]); };
  const suspect = (element, box) => {
    if (suspected.has(element) || suspects.length >= 500) return;
    if (!element.tagName.includes("-") && !(HOSTS.has(element.tagName) && !element.firstChild && box.width * box.height > 0)) return;
    suspected.add(element);
    suspects.push(element);
  };

  // `view` is what can be seen of this document; all that fits into its window, unless it stands in another one.
  const look = (whole, under, view) => {
    view = view || { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    suspects = [];
    const begun = { x: scrollX, y: scrollY };
    const lines = [];
    let above = 0, below = 0, words = [], block = null;
    const flush = () => {
      if (!words.length) return;
      const text = squeeze(words.join(""), 2000);
      if (text) lines.push({ text });
      words = [];
    };
    const place = (box, shift) => (box.bottom + shift.y <= view.top ? -1 : box.top + shift.y >= view.bottom ? 1
      : box.right + shift.x <= view.left || box.left + shift.x >= view.right ? 2 : 0);
    const outside = (box, clip) => box.right < clip.left || box.left > clip.right || box.bottom < clip.top || box.top > clip.bottom;
    // What cuts off is an ancestor by whose box an element is placed (CSS Overflow 3, 2): for one in the flow each, for an
    // absolute one those from the next positioned ancestor on, for a fixed one those from the next that holds such.
    const clipOf = (style, clips) => style.position === "fixed" ? clips.fixed : style.position === "absolute" ? clips.absolute
      : clips.flow;
    // The style is asked for where it may matter: outside of what cuts the flow.
    const cuts = (element, box, clips) => {
      if (!clips.flow || !outside(box, clips.flow)) return false;
      const clip = clipOf(getComputedStyle(element), clips);
      return clip !== null && outside(box, clip);
    };
    const UNCUT = { flow: null, absolute: null, fixed: null };
    const MOVED = ["transform", "translate", "rotate", "scale", "perspective", "filter", "backdropFilter"];
    const holdsFixed = (style) => MOVED.some((one) => style[one] !== "none") || /paint|layout|strict|content/.test(style.contain)
      || /transform|translate|rotate|scale|perspective|filter/.test(style.willChange);
    const narrowed = (box, clip) => clip ? { left: Math.max(box.left, clip.left), top: Math.max(box.top, clip.top),
      right: Math.min(box.right, clip.right), bottom: Math.min(box.bottom, clip.bottom) } : box;
    const within = (style, box, clips, overflows) => {
      if (!overflows && clips.flow === clips.absolute && clips.flow === clips.fixed) return clips;
      const own = clipOf(style, clips), flow = overflows ? narrowed(box, own) : own, fixed = holdsFixed(style);
      return { flow, absolute: fixed || style.position !== "static" ? flow : clips.absolute, fixed: fixed ? flow : clips.fixed };
    };
    // What holds words alone and is out of view is only counted, if it can be clicked. Its style, which takes the most
    // time of a look at a large page, is asked for where it may end a line of those before.
    const leaf = (element, where, there) => {
      if (there && where !== 2 && clickable(element, role(element)) && !labels(element) && element.checkVisibility(VISIBLE)) where < 0 ? above++ : below++;
      if (words.length && !getComputedStyle(element).display.startsWith("inline")) flush();
    };
    // The body's overflow is the view's, where the root has none of its own (CSS Overflow 3, 3.3): it cuts nothing itself.
    const viewports = (element) => element === element.ownerDocument.body
      && getComputedStyle(element.ownerDocument.documentElement).overflowX === "visible";
    // Numbers of ours: each that is asked of the browser's own rectangle takes a tenth of a microsecond.
    const boxOf = (element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      return { left, top, width, height, right: left + width, bottom: top + height };
    };
    // What only listens, as what is around a button often does, and the picture in one: the button's line is enough.
    const listens = (element, kind) => marked.has(element) && !WIDGETS.has(kind) && !written(element)
      && !element.hasAttribute("tabindex") && !element.hasAttribute("onclick") && element.tagName !== "LABEL" && kind !== "file";
    const repeated = (own, inner) => inner && (!own.name || own.name === inner.name);
    const visit = (element, shift, clips, said, acting) => {
      const box = boxOf(element);
      const where = place(box, shift);
      const sized = box.width > 0 && box.height > 0;
      // Left of the page and above it nobody can scroll.
      const apart = box.right + shift.x + begun.x <= 0 || box.bottom + shift.y + begun.y <= 0;
      if (!whole && where !== 0 && element.firstChild && !element.firstElementChild && !shadow(element) && !element.tagName.includes("-")) {
        leaf(element, where, sized && !apart && !cuts(element, box, clips));
        return;
      }
      if (!element.checkVisibility({ opacityProperty: true, contentVisibilityAuto: true })) return;
      const style = getComputedStyle(element); // what it says is worked out when it is asked, and most is out of view
      if (!element.firstElementChild && !shadow(element) && style.visibility !== "visible") return;
      if (!shadow(element)) suspect(element, box);
      const kind = role(element);
      const acts = !apart && clickable(element, kind) && style.visibility === "visible" && !labels(element);
      if (marked.has(element) && !sized) mark(...element.children); // floats: only they have a size
      const inline = () => style.display.startsWith("inline") || style.display === "contents";
      if (words.length && !inline()) flush();
      const cut = cuts(element, box, clips);
      if (acts && sized && !cut && where !== 0 && !whole) where < 0 ? above++ : where === 1 && below++;
      const here = (whole || where === 0) && sized && !cut && !apart && style.visibility === "visible";
      let at = -1, inside = labels(element) ? "" : said; // a label's words stand in the line of what it labels
      if (here && (acts || kind === "heading" || ["img", "video", "audio", "canvas", "frame"].includes(kind))) {
        flush();
        const many = element.querySelector("a[href], button, input, select, textarea, [role], [tabindex], [onclick]");
        // What holds other elements is named by its label alone: its words stand in theirs.
        const holds = many && !WIDGETS.has(kind) && kind !== "heading" && kind !== "frame";
        const named = holds ? squeeze(labelled(element) || element.getAttribute("aria-label")) : name(element, kind);
        const line = { role: kind || element.tagName.toLowerCase(), name: named, state: states(element, kind) };
        if (acts || ["video", "audio", "canvas", "frame"].includes(kind)) line.ref = ref(element);
        if (acting && !named && listens(element, kind)) delete line.ref;
        else if (!(kind === "img" && !named)) lines.push(line);
        if (line.ref && listens(element, kind)) at = lines.length - 1;
        if (line.ref && WIDGETS.has(kind)) acting = true;
        if (!many && kind !== "frame" && element.tagName !== "LABEL") inside = named; // its words stand in its line
        if (element.tagName === "SELECT" || element.tagName === "TEXTAREA" || written(element)) return;
        if (kind === "frame") { frame(element, box, shift, lines.at(-1)); return; }
      }
      // Of the whole page is also what a person would find by scrolling within it.
      const overflow = style.overflowX + style.overflowY, scrolls = whole && /auto|scroll/.test(overflow);
      const overflows = overflow !== "" && overflow !== "visiblevisible" && !scrolls && !viewports(element);
      const bound = within(style, box, clips, overflows);
      const readable = here && inside === null && legible(element, style, box);
      for (let child = (shadow(element) || element).firstChild; child; child = child.nextSibling) {
        if (child.nodeType === 3) { if (readable && child.data.trim()) words.push(child.data); }
        else if (child.nodeType === 1) {
          if (child.tagName === "SLOT" && child.assignedNodes().length) {
            for (const one of child.assignedNodes({ flatten: true })) {
              if (one.nodeType === 1) visit(one, shift, bound, inside, acting);
              else if (one.nodeType === 3 && readable) words.push(one.data);
            }
          } else if (!UNSEEN.has(child.tagName))
            visit(child, shift, bound, inside, acting);
        }
      }
      if (words.length && (element.tagName === "BR" || !inline())) flush();
      if (at >= 0 && repeated(lines[at], lines.slice(at + 1, at + 9).find((one) => one.ref))) lines.splice(at, 1);
    };
    const frame = (element, box, shift, line) => {
      let inner = null;
      try { inner = element.contentDocument; } catch { inner = null; }
      const at = corner(element), left = shift.x + at.x, top = shift.y + at.y;
      if (!inner || !inner.body) {
        line.apart = { left: Math.max(view.left - left, 0), top: Math.max(view.top - top, 0),
          right: Math.min(view.right - left, box.width), bottom: Math.min(view.bottom - top, box.height) };
        return;
      }
      visit(inner.body, { x: left, y: top }, UNCUT, null, false);
      flush();
      lines.push({ text: "(end of the frame)" });
    };
    const begin = under ? element(under) : document.body;
    if (under && !begin) return { gone: true };
    if (begin) visit(begin, { x: 0, y: 0 }, UNCUT, null, false);
    flush();
    const page = document.scrollingElement || document.documentElement;
    return { url: location.href, title: squeeze(document.title), lines, above, below, last, suspects: suspects.length,
      scroll: Math.round(scrollY), height: page ? page.scrollHeight : 0, seen: innerHeight };
  };
  const element = (known) => [elements.get(known)?.deref()].find((found) => found?.isConnected) || null;
  const hovered = (known) => ({ gone: !element(known), hovered: Boolean(element(known)?.matches(":hover")) });
  // Where the document in a frame begins, in the view of the one that holds it.
  const corner = (holder) => {
    const box = holder.getBoundingClientRect(), style = getComputedStyle(holder);
    return { x: box.left + holder.clientLeft + (parseFloat(style.paddingLeft) || 0),
      y: box.top + holder.clientTop + (parseFloat(style.paddingTop) || 0) };
  };
  const shiftOf = (found) => {
    let x = 0, y = 0;
    for (let view = found.ownerDocument.defaultView; view && view !== window; view = view.parent) {
      const holder = view.frameElement;
      if (!holder) break;
      const at = corner(holder);
      x += at.x;
      y += at.y;
    }
    return { x, y };
  };
  // Where to point, and what would take the click there.
  const inView = (found) => {
    const box = found.getBoundingClientRect(), view = found.ownerDocument.defaultView;
    return view === window && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
  };
  // Its middle, else whatever of it is free: a person points at what they see of it. What `held` names does not cover it:
  // that is being dragged there.
  const POINTS = [[0.5, 0.5], [0.2, 0.5], [0.8, 0.5], [0.5, 0.2], [0.5, 0.8], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]];
  const at = (known, held) => {
    const found = element(known);
    if (!found) return { gone: true };
    if (found.disabled) return { disabled: true };
    if (!prefix || !inView(found)) found.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    const box = [...found.getClientRects()].find((one) => one.width > 1 && one.height > 1) || found.getBoundingClientRect();
    if (!box.width || !box.height) return { gone: true };
    const points = POINTS.map(([across, down]) => touched(found, box.left + box.width * across, box.top + box.height * down, element(held)));
    return points.find((one) => !one.covered) || points[0];
  };
  const touched = (found, x, y, held) => {
    let hit = found.getRootNode().elementFromPoint?.(x, y) || found.ownerDocument.elementFromPoint(x, y);
    for (; hit && shadow(hit) && hit !== found;) {
      const deeper = shadow(hit).elementFromPoint(x, y);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    const labelled = hit?.closest?.("label")?.control === found || [...(found.labels || [])].includes(hit);
    const shift = shiftOf(found), point = { x: x + shift.x, y: y + shift.y };
    if (!hit || found.contains(hit) || hit.contains(found) || labelled || held?.contains(hit) || found.getRootNode().host?.contains(hit))
      return point;
    return { covered: `${role(hit) || hit.tagName.toLowerCase()} ${JSON.stringify(name(hit, role(hit)).slice(0, 60))}` };
  };
  // A point of a frame that is read by itself, in the view of the document that holds the frame.
  const through = (known, x, y) => {
    const found = element(known);
    if (!found) return { gone: true };
    let start = corner(found);
    const outside = (px, py) => px < 0 || py < 0 || px >= innerWidth || py >= innerHeight;
    if (outside(start.x + x, start.y + y)) {
      found.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      start = corner(found);
      if (outside(start.x + x, start.y + y))
        scrollBy({ left: start.x + x - innerWidth / 2, top: start.y + y - innerHeight / 2, behavior: "instant" });
      start = corner(found);
    }
    const point = { x: start.x + x, y: start.y + y }, shift = shiftOf(found);
    const hit = found.getRootNode().elementFromPoint?.(point.x, point.y);
    if (hit && hit !== found && !hit.contains(found))
      return { covered: `${role(hit) || hit.tagName.toLowerCase()} ${JSON.stringify(name(hit, role(hit)).slice(0, 60))}` };
    return { x: point.x + shift.x, y: point.y + shift.y };
  };
  const focus = (known) => {
    const found = element(known);
    if (!found) return { gone: true };
    if (found.disabled || found.readOnly) return { disabled: true };
    found.focus({ preventScroll: false });
    return {};
  };
  // What the keys go to, through frames that may be read from here and shadow roots that are known.
  const focused = (within = document) => {
    const found = within.activeElement;
    let inner = null;
    try { inner = found?.contentDocument; } catch { inner = null; }
    if (found && shadow(found)) inner = shadow(found);
    return (inner && focused(inner)) || found;
  };
  const assign = (found, value) => {
    const own = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(found), "value");
    own?.set ? own.set.call(found, value) : (found.value = value);
    for (const kind of ["input", "change"]) found.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const TYPED = new Set(["text", "password", "email", "tel", "number", "search", "url"]);
  const ASSIGNED = new Set(["date", "time", "month", "week", "datetime-local", "color", "range"]);
  // What has the focus within an element, itself included; a page may have handed it on at once.
  const active = (found) => {
    let at = found.getRootNode().activeElement;
    while (at && shadow(at)?.activeElement) at = shadow(at).activeElement;
    let up = at;
    while (up && up !== found) up = up.parentNode || up.host;
    return up && at;
  };
  const takesWords = (at) => at.tagName === "TEXTAREA" || at.isContentEditable || at.tagName === "INPUT" && TYPED.has(at.type);
  // Words go into the field here, in one go, and not to whatever has the focus by the time that keys would arrive.
  const fill = (known, text) => {
    const found = element(known);
    if (!found) return { gone: true };
    if (found.disabled || found.readOnly) return { disabled: true };
    if (found.tagName === "INPUT" && ASSIGNED.has(found.type)) { assign(found, text); return {}; }
    found.focus({ preventScroll: false });
    const at = active(found);
    if (!at) return found.tabIndex >= 0 || takesWords(found) ? { taken: true } : { unfit: role(found) || found.tagName.toLowerCase() };
    if (!takesWords(at)) return { unfit: role(at) || at.tagName.toLowerCase() };
    if (at.select) at.select();
    else at.ownerDocument.getSelection().selectAllChildren(at);
    // A field has the event for it from the browser; editors that draw by themselves wait for one before.
    const inputType = text ? "insertText" : "deleteContentBackward";
    const before = { inputType, data: text || null, bubbles: true, cancelable: true, composed: true };
    if (at.isContentEditable && !at.dispatchEvent(new InputEvent("beforeinput", before))) return {};
    const done = at.ownerDocument.execCommand(text ? "insertText" : "delete", false, text);
    if (!done && "value" in at && at.value !== text) assign(at, text);
    return {};
  };
  // A code that is asked for in fields of one digit each; else the field alone.
  const fields = (found, many) => {
    if (found.maxLength !== 1 || many < 2) return [found];
    const there = [...(found.form || found.getRootNode()).querySelectorAll("input")]
      .filter((one) => one.maxLength === 1 && TYPED.has(one.type) && one.getClientRects().length);
    const row = there.slice(there.indexOf(found), there.indexOf(found) + many);
    return row.length === many ? row : [found];
  };
  const give = (known, value, origin) => {
    const found = element(known);
    if (!found) return { gone: true };
    const there = found.ownerDocument.defaultView?.origin;
    if (self.origin !== origin || there !== origin) return { elsewhere: there || "no page" };
    if (found.disabled || found.readOnly) return { disabled: true };
    if (found.tagName !== "TEXTAREA" && !(found.tagName === "INPUT" && TYPED.has(found.type)))
      return { unfit: role(found) || found.tagName.toLowerCase() };
    const row = fields(found, value.length);
    if (row.length === 1 && found.maxLength > 0 && found.maxLength < value.length) return { short: found.maxLength };
    hide(value);
    const parts = row.length === 1 ? [value] : [...value];
    row.forEach((field, at) => {
      given.add(field);
      field.focus();
      field.select();
      // As keys would do it, in this document alone; a page may have moved its focus at once.
      if (field.getRootNode().activeElement === field) field.ownerDocument.execCommand("insertText", false, parts[at]);
      if (field.value !== parts[at]) assign(field, parts[at]);
    });
    return { given: row.every((field, at) => field.value === parts[at]) };
  };
  const cover = (found) => {
    const { style } = found, name = "-webkit-text-security";
    masked.push([found, style.getPropertyValue(name), style.getPropertyPriority(name)]);
    style.setProperty(name, "disc", "important");
  };
  const coverWithin = (found) => {
    if (!holds(found.textContent)) return;
    const inner = [...found.children].filter((one) => holds(one.textContent));
    inner.length ? inner.forEach(coverWithin) : cover(found.nodeType === 11 ? found.host : found);
  };
  const mask = (begin = document) => {
    if (begin === document) unmask();
    coverWithin(begin.documentElement || begin);
    for (const one of begin.querySelectorAll("*")) {
      if ((one.tagName === "INPUT" || one.tagName === "TEXTAREA") && (given.has(one) || holds(one.value))) cover(one);
      if (shadow(one)) mask(shadow(one));
      let inner = null;
      try { inner = one.contentDocument; } catch { inner = null; }
      if (inner) mask(inner);
    }
    return true;
  };
  const unmask = () => {
    for (const [found, before, priority] of masked.splice(0)) before
      ? found.style.setProperty("-webkit-text-security", before, priority) : found.style.removeProperty("-webkit-text-security");
    return true;
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
    return { x: own.left + shift.x, y: own.top + shift.y, width: own.width, height: own.height };
  };
  // Where the view begins in the page, or where the document in a frame begins in the view.
  const begins = (known) => {
    if (!known) return { x: scrollX, y: scrollY };
    const found = element(known);
    if (!found) return { gone: true };
    const start = corner(found), shift = shiftOf(found);
    return { x: start.x + shift.x, y: start.y + shift.y };
  };
  // Words as they are told, wherever a line ends and whichever kind of space stands between them.
  const shows = (text) => (document.body?.innerText || "").replace(/\s+/g, " ").includes(text.replace(/\s+/g, " "));
  globalThis.angeliaPage = { look, mark, uncover, element, hovered, at, through, box, begins, focus, focused, fill, choose, scroll,
    shows, hide, give, mask, unmask, suspects: () => suspects };
  return self.origin;
}
