// From the log's entries to what stands in a conversation: a pure fold, one item for each node of the spine.
import { dayOf } from "./words.js";

/**
 * @typedef {{seq: number, at: number, kind: string} & Record<string, any>} Entry
 * @typedef {{id: string, name: string, line: string, arguments: any, seq: number, at: number, running: boolean, finished: Entry | null, output: string, waits: boolean}} Call
 * @typedef {{key: string, seq: number, at: number, kind: string, rev: number, data: any}} Item  rev grows whenever data changes
 */

const HUSHED = new Set(["web", "terminal"]);

export class Fold {
  constructor() {
    /** @type {Item[]} */
    this.items = [];
    /** @type {Map<string, {call: Call, item: Item}>} */
    this.calls = new Map();
    /** @type {Map<string, Item>} deliveries by their id */
    this.deliveries = new Map();
    /** @type {Map<number, Item>} what people said, by its place */
    this.said = new Map();
    /** @type {Map<string, Item>} work in the background, by its call */
    this.works = new Map();
    /** @type {Map<string, Item>} questions, by their call */
    this.questions = new Map();
    /** @type {{text: string, status: string}[]} */
    this.plan = [];
    this.step = 0;
    this.day = 0;
  }

  /** @param {Entry} entry @param {string} kind @param {any} data @param {string} [key] */
  put(entry, kind, data, key = `${entry.seq}`) {
    const day = dayOf(entry.at);
    if (day !== this.day) {
      this.day = day;
      this.items.push({ key: `day${day}`, seq: entry.seq, at: entry.at, kind: "day", rev: 0, data: null });
    }
    const item = { key, seq: entry.seq, at: entry.at, kind, rev: 0, data };
    this.items.push(item);
    return item;
  }

  /** Takes one more entry, of which all before are in. @param {Entry} entry */
  add(entry) {
    const act = ACTS[entry.kind];
    if (act) act(this, entry);
    else if (entry.lines?.length) this.put(entry, "lines", entry.lines);
  }
}

/** The plan that a call notes; its arguments come as words. @param {Call} call @returns {{text: string, status: string}[]} */
export function steps(call) {
  try {
    return JSON.parse(call.arguments.items);
  } catch {
    return [];
  }
}

/** @param {Fold} fold @param {Entry} entry */
function said(fold, entry) {
  fold.said.set(entry.seq, fold.put(entry, "said", { ...entry, step: entry.heard_at_step || 0 }, entry.key ? `said:${entry.key}` : undefined));
}

/** @param {Fold} fold @param {Entry} entry */
function work(fold, entry) {
  const ended = entry.kind === "WorkEnded";
  const begun = fold.works.get(entry.call);
  if (ended && begun) {
    begun.data = begun.data.map((one) => (one.started.call === entry.call ? { ...one, ended: entry } : one));
    begun.rev++;
    return;
  }
  const last = fold.items.at(-1);
  const item = last?.kind === "work" ? last : fold.put(entry, "work", [], `${entry.seq}w`);
  item.data = [...item.data, { started: entry, ended: ended ? entry : null }];
  item.rev++;
  fold.works.set(entry.call, item);
}

/** @param {Fold} fold @param {Entry} entry */
function answered(fold, entry) {
  const asked = fold.questions.get(entry.call);
  const call = fold.calls.get(entry.call);
  if (call) {
    call.call.waits = false;
    call.item.rev++;
  }
  if (!asked) return;
  asked.data = { ...asked.data, answer: entry };
  asked.rev++;
}

/** What came after a delivery was settled. @param {Fold} fold @param {Entry} entry */
function reached(fold, entry) {
  const item = fold.deliveries.get(entry.id);
  if (!item) return;
  item.data = { ...item.data, reached: entry };
  item.rev++;
}

/** @type {Record<string, (fold: Fold, entry: Entry) => void>} */
const ACTS = {
  UserSaid: said,
  Occurred: said,
  Delegated: said,
  MessageTakenBack(fold, entry) {
    const item = fold.said.get(entry.said);
    if (!item) return;
    item.data = { ...item.data, gone: true };
    item.rev++;
  },
  ModelAsked(fold, entry) {
    fold.step = entry.step || fold.step;
    for (const seq of entry.heard || []) {
      const item = fold.said.get(seq);
      if (item && entry.step) {
        item.data = { ...item.data, step: entry.step };
        item.rev++;
      }
    }
  },
  ModelSaid(fold, entry) {
    if (entry.thinking) fold.put(entry, "thought", { text: entry.thinking }, `${entry.seq}t`);
    if (entry.nodes?.length) fold.put(entry, "text", entry);
    if (!entry.calls?.length) return;
    /** @type {Call[]} */
    const calls = entry.calls.map((one) => ({ ...one, seq: entry.seq, at: entry.at, running: false, finished: null, output: "", waits: false }));
    const last = fold.items.at(-1);
    const joins = last?.kind === "calls" && !last.data.some((/** @type {Call} */ one) => one.finished?.diffs?.length || one.finished?.parts?.some((part) => part.media));
    const item = joins && last ? last : fold.put(entry, "calls", [], `${entry.seq}c`);
    item.data.push(...calls);
    item.rev++;
    for (const call of calls) fold.calls.set(call.id, { call, item });
  },
  ToolStarted(fold, entry) {
    const found = fold.calls.get(entry.call);
    if (!found) return;
    found.call.running = true;
    found.call.at = entry.at;
    found.item.rev++;
  },
  ToolFinished(fold, entry) {
    const found = fold.calls.get(entry.call);
    if (!found) return;
    found.call.running = false;
    found.call.finished = entry;
    found.call.output = "";
    found.item.rev++;
    if (found.call.name === "todo" && entry.status === "ok") fold.plan = steps(found.call);
    const question = fold.questions.get(entry.call);
    if (question) {
      question.data = { ...question.data, finished: entry };
      question.rev++;
    }
  },
  ApprovalAsked(fold, entry) {
    fold.questions.set(entry.call, fold.put(entry, "asked", { asked: entry, answer: null, finished: null }));
    const found = fold.calls.get(entry.call);
    if (!found) return;
    found.call.waits = true;
    found.item.rev++;
  },
  ApprovalGiven: answered,
  ApprovalRefused: answered,
  DeliveryQueued(fold, entry) {
    const file = entry.parts?.some((part) => part.media);
    const item = { key: `d${entry.id}`, seq: entry.seq, at: entry.at, kind: "receipt", rev: 0, data: { queued: entry, settled: null, reached: null } };
    fold.deliveries.set(entry.id, file && !(entry.origin === "reply" && HUSHED.has(entry.to?.door)) ? fold.put(entry, "receipt", item.data, item.key) : item);
  },
  DeliverySettled(fold, entry) {
    const item = fold.deliveries.get(entry.id);
    if (!item) return;
    item.data = { ...item.data, settled: entry };
    item.rev++;
    if (entry.status === "failed" || entry.status === "unknown") if (!fold.items.includes(item)) fold.put(entry, "receipt", item.data, `${item.key}!`);
  },
  DeliveryReached: reached,
  DeliveryLetBe: reached,
  WorkStarted: work,
  WorkEnded: work,
  TurnClosed(fold, entry) {
    for (const { call, item } of fold.calls.values()) {
      if (!call.running) continue;
      call.running = false;
      item.rev++;
    }
    if (entry.sentence) fold.put(entry, "closed", entry);
  },
};
