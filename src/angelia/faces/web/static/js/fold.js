// From the log's entries to what stands in a conversation: a pure fold, one item for each node of the spine.
import { dayOf } from "./words.js";

/**
 * @typedef {{seq: number, at: number, kind: string} & Record<string, any>} Entry
 * @typedef {{id: string, name: string, line: string, arguments: any, seq: number, at: number, running: boolean, finished: Entry | null, output: string, waits: boolean}} Call
 * @typedef {{key: string, seq: number, at: number, kind: string, rev: number, data: any}} Item  rev grows whenever data changes
 */

const HUSHED = new Set(["web", "terminal"]);
/** Behind the key of a delivery that has a row for nothing but its failure. */
const FAILED = "!";

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

/** More is known of it. @param {Item | undefined} item @param {object} more */
function revise(item, more) {
  if (!item) return;
  item.data = { ...item.data, ...more };
  item.rev++;
}

/** More is known of a call. @param {Fold} fold @param {string} id @param {Partial<Call>} more */
function follow(fold, id, more) {
  const found = fold.calls.get(id);
  if (!found) return;
  Object.assign(found.call, more);
  found.item.rev++;
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
  follow(fold, entry.call, { waits: false });
  revise(fold.questions.get(entry.call), { answer: entry });
}

/** @type {Record<string, (fold: Fold, entry: Entry) => void>} */
const ACTS = {
  UserSaid: said,
  Occurred: said,
  Delegated: said,
  MessageTakenBack(fold, entry) {
    revise(fold.said.get(entry.said), { gone: true });
  },
  ModelAsked(fold, entry) {
    fold.step = entry.step || fold.step;
    if (entry.step) for (const seq of entry.heard || []) revise(fold.said.get(seq), { step: entry.step });
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
    follow(fold, entry.call, { running: true, at: entry.at });
  },
  ToolFinished(fold, entry) {
    const found = fold.calls.get(entry.call);
    if (!found) return;
    follow(fold, entry.call, { running: false, finished: entry, output: "" });
    if (found.call.name === "todo" && entry.status === "ok") fold.plan = steps(found.call);
    revise(fold.questions.get(entry.call), { finished: entry });
  },
  ApprovalAsked(fold, entry) {
    fold.questions.set(entry.call, fold.put(entry, "asked", { asked: entry, answer: null, finished: null }));
    follow(fold, entry.call, { waits: true });
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
    revise(item, { settled: entry });
    if ((entry.status === "failed" || entry.status === "unknown") && !fold.items.includes(item)) fold.deliveries.set(entry.id, fold.put(entry, "receipt", item.data, item.key + FAILED));
  },
  DeliveryReached(fold, entry) {
    const item = fold.deliveries.get(entry.id);
    if (item?.data.reached?.status !== "let_be") revise(item, { reached: entry });
  },
  DeliveryLetBe(fold, entry) {
    const item = fold.deliveries.get(entry.id);
    revise(item, { reached: entry });
    if (item?.key.endsWith(FAILED)) fold.items.splice(fold.items.indexOf(item), 1);
  },
  WorkStarted: work,
  WorkEnded: work,
  TurnClosed(fold, entry) {
    for (const [id, { call }] of fold.calls) if (call.running) follow(fold, id, { running: false });
    if (entry.sentence) fold.put(entry, "closed", entry);
  },
};
