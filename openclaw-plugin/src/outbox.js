// A bounded queue of events: published in order, and again until the stream has them. What has to wait
// is kept in a file as well: it is sent when the gateway runs again.

import { appendFile, mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import { message } from "./values.js";

/**
 * @typedef {object} Item
 * @property {string} subject
 * @property {string} id
 * @property {string} body
 * @property {string} [trace] the header traceparent
 * @property {number} [bytes]
 * @property {number} [attempts]
 * @property {boolean} [kept] whether it is in the file
 */

/**
 * The outcome of a publish: the stream has the event, it may be published again, or no stream will
 * ever take it.
 *
 * @typedef {"stored" | "again" | "refused"} Outcome
 */

/** Events in flight at once. The server stores them in the order of sending. */
const WINDOW = 64;

/** Attempts for an event while the stream takes others. */
const MAX_ATTEMPTS = 8;

export class Outbox {
  /** @type {Item[]} */
  #items = [];
  #bytes = 0;
  #inFlight = 0;
  #pumping = false;
  /** @type {Array<() => void>} */
  #waiting = [];
  /** @type {NodeJS.Timeout | undefined} */
  #retry;
  #pause = 0;
  /** Nothing of the last batch was stored. */
  #failing = false;
  /** @type {import("./outbox.js").Spool | undefined} */
  #spool;
  /** @type {Promise<Item[]> | undefined} */
  #loading;
  /** Events were added since the last write began. */
  #unsaved = false;
  /** @type {Promise<void> | undefined} */
  #saving;

  stored = 0;
  dropped = 0;
  refused = 0;

  /**
   * @param {object} options
   * @param {{events: number, bytes: number}} options.limits
   * @param {(item: Item) => Promise<Outcome>} options.publish never rejects
   * @param {() => boolean} options.ready whether publishing makes sense now
   * @param {() => boolean} [options.away] whether it will not for a while
   * @param {() => void} [options.onDrop]
   * @param {() => void} [options.onEmpty]
   */
  constructor({ limits, publish, ready, away = () => false, onDrop = () => {}, onEmpty = () => {} }) {
    this.limits = limits;
    this.publish = publish;
    this.ready = ready;
    this.away = away;
    this.onDrop = onDrop;
    this.onEmpty = onEmpty;
  }

  get size() {
    return this.#items.length;
  }

  /** How many of the events are in the file. */
  get kept() {
    return this.#items.filter((item) => item.kept).length;
  }

  /**
   * Appends an event. Beyond the limits the oldest that are not in flight are dropped.
   *
   * @param {Item} item
   */
  push(item) {
    item.bytes = Buffer.byteLength(item.body);
    this.#items.push(item);
    this.#bytes += item.bytes;
    this.#trim();
    this.keep();
    this.kick();
  }

  /**
   * Uses a file for events that wait, and takes those that it holds: they come before the others.
   *
   * @param {import("./outbox.js").Spool} spool
   */
  async restore(spool) {
    this.#spool = spool;
    const loading = (this.#loading = spool.load());
    const items = await loading;
    this.#loading = undefined;
    for (const item of items) {
      item.kept = true;
      item.bytes = Buffer.byteLength(item.body);
      this.#bytes += item.bytes;
    }
    this.#items.splice(this.#inFlight, 0, ...items);
    this.#trim();
    this.keep();
    this.kick();
  }

  /** Writes the events that wait into the file, unless they are about to be published. */
  keep() {
    if (!this.#spool || this.#loading || !(this.#failing || this.away())) return;
    this.#unsaved = true;
    this.#saving ??= this.#saveAll(this.#spool);
  }

  /** Waits until what waits has been written, or failed to be. */
  async saved() {
    await this.#saving;
    await this.#spool?.settled();
  }

  /**
   * Writes until nothing was added during a write: a burst of events is one write or two.
   *
   * @param {import("./outbox.js").Spool} spool
   */
  async #saveAll(spool) {
    while (this.#unsaved) {
      this.#unsaved = false;
      await this.#save(spool, [...this.#items]);
    }
    this.#saving = undefined;
  }

  /**
   * Writes those of the events that are not in the file. What could not be written is tried again the next time.
   *
   * @param {import("./outbox.js").Spool} spool
   * @param {readonly Item[]} items that wait
   */
  async #save(spool, items) {
    const fresh = items.filter((item) => !item.kept);
    if (fresh.length === 0) return;
    for (const item of await spool.keep(fresh, items, this.limits)) item.kept = true;
  }

  /** Drops the oldest events beyond the limits, but none in flight. */
  #trim() {
    let dropped = 0;
    while (
      (this.#items.length > this.limits.events || this.#bytes > this.limits.bytes) &&
      this.#items.length > this.#inFlight
    ) {
      const [old] = this.#items.splice(this.#inFlight, 1);
      this.#bytes -= old?.bytes ?? 0;
      dropped++;
    }
    if (dropped > 0) {
      this.dropped += dropped;
      this.onDrop();
    }
  }

  /** Starts to publish when there are events and a connection. */
  kick() {
    if (this.#pumping || this.#loading || this.#items.length === 0 || !this.ready()) return;
    clearTimeout(this.#retry);
    this.#pumping = true;
    void this.#pump();
  }

  async #pump() {
    let again = false;
    while (this.#items.length > 0 && this.ready() && !again) {
      const batch = this.#items.slice(0, WINDOW);
      this.#inFlight = batch.length;
      const outcomes = await Promise.all(batch.map((item) => this.publish(item)));
      this.#inFlight = 0;
      const some = outcomes.includes("stored");
      const keep = batch.filter((item, i) => {
        const outcome = outcomes[i];
        item.attempts = (item.attempts ?? 0) + (some ? 1 : 0);
        const hopeless = outcome === "refused" || (outcome === "again" && item.attempts >= MAX_ATTEMPTS);
        if (outcome === "stored") this.stored++;
        else if (hopeless) this.refused++;
        else return true;
        this.#bytes -= item.bytes ?? 0;
        return false;
      });
      this.#items.splice(0, batch.length, ...keep);
      again = keep.length > 0;
      this.#failing = keep.length === batch.length;
      if (some) this.#pause = 0;
    }
    this.#pumping = false;
    if (this.#items.length === 0) this.#emptied();
    else this.keep();
    if (this.#items.length > 0 && this.ready()) {
      this.#pause = Math.min(5000, this.#pause * 2 || 100);
      this.#retry = setTimeout(() => this.kick(), this.#pause).unref();
    }
  }

  /**
   * Waits until the queue is empty.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether it is
   */
  async drained(ms) {
    this.kick();
    if (this.#items.length === 0) return true;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    await new Promise((/** @type {(v?: void) => void} */ resolve) => {
      this.#waiting.push(resolve);
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    return this.#items.length === 0;
  }

  /**
   * Ends the queue: events that are not in flight stay in the file. Without a file, or if it cannot be written, they
   * are dropped.
   *
   * @returns {Promise<{kept: number, lost: number}>} how many
   */
  async abandon() {
    clearTimeout(this.#retry);
    const spool = this.#spool;
    await this.#loading;
    this.#unsaved = false; // a write that has begun knows all that wait
    const all = [...this.#items];
    const left = this.#items.splice(this.#inFlight);
    for (const item of left) this.#bytes -= item.bytes ?? 0;
    this.#wake();
    this.#spool = undefined;
    if (spool) {
      await this.#saving; // a write that fails is tried once more
      await spool.settled();
      await this.#save(spool, all);
    }
    const kept = left.filter((item) => item.kept).length;
    this.dropped += left.length - kept;
    return { kept, lost: left.length - kept };
  }

  #emptied() {
    this.#spool?.clear();
    this.#failing = false;
    this.onEmpty();
    this.#wake();
  }

  #wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The file is written anew beyond this multiple of the outbox's limits: it then holds what the outbox holds. */
const SLACK = 2;

/** A file of events, one JSON object a line, oldest first. One process uses it. */
export class Spool {
  /** What the file holds once everything is written. */
  #lines = 0;
  #bytes = 0;
  /** A write failed, so the file may end in part of a line. */
  #torn = false;
  /** The file could not be read, so it may hold events that are not known here. */
  #unread = false;
  /** Writes happen one after the other. @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * @param {string} file
   * @param {import("./recent.js").Warnings} warnings
   */
  constructor(file, warnings) {
    this.file = file;
    this.warnings = warnings;
  }

  /**
   * Reads the events. A line that was not written to its end is left out; a file that is not one of
   * events is put aside.
   *
   * @returns {Promise<Item[]>} oldest first
   */
  load() {
    return this.#next(async () => {
      const content = await readFile(this.file).catch((error) => {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return Buffer.alloc(0);
        this.#unread = true;
        throw error;
      });
      const end = content.lastIndexOf(0x0a) + 1;
      const lines = content.toString("utf8", 0, end).split("\n").slice(0, -1);
      const items = lines.map(read).filter((item) => item !== undefined);
      if (items.length < lines.length || (end === 0 && content.length > 0 && !isStart(content))) {
        const aside = `${this.file}.corrupt`;
        await rename(this.file, aside);
        this.warnings.log.warn(`the file of waiting events is corrupt and was put aside: ${aside}`);
        return [];
      }
      if (end < content.length) await truncate(this.file, end);
      this.#lines += items.length;
      this.#bytes += end;
      return items;
    }, []);
  }

  /**
   * Adds events to the file.
   *
   * @param {Item[]} fresh
   * @param {readonly Item[]} all that wait, with the fresh ones; a list that does not change
   * @param {{events: number, bytes: number}} limits of the outbox
   * @returns {Promise<readonly Item[]>} those that this wrote: the fresh ones, all, or none after an error
   */
  keep(fresh, all, limits) {
    const added = encode(fresh);
    const full = this.#lines + fresh.length > SLACK * limits.events || this.#bytes + added.length > SLACK * limits.bytes;
    if (this.#lines === 0 || full || this.#torn) {
      const content = encode(all);
      this.#lines = all.length;
      this.#bytes = content.length;
      return this.#next(async () => {
        await this.#write(content);
        return all;
      }, /** @type {readonly Item[]} */ ([]));
    }
    this.#lines += fresh.length;
    this.#bytes += added.length;
    // A write before this one may have failed in the meantime.
    return this.#next(async () => {
      if (this.#torn) {
        await this.#write(encode(all));
        return all;
      }
      await appendFile(this.file, added, { mode: 0o600 });
      return fresh;
    }, /** @type {readonly Item[]} */ ([]));
  }

  /** Removes the file: nothing waits any more. */
  clear() {
    if (this.#lines === 0) return;
    this.#lines = 0;
    this.#bytes = 0;
    void this.#next(() => rm(this.file, { force: true }), undefined);
  }

  /** Waits until everything is written. */
  async settled() {
    await this.#last;
  }

  /** @param {Buffer} content */
  async #write(content) {
    await mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
    if (this.#unread) {
      await rename(this.file, `${this.file}.unread`);
      this.#unread = false;
      this.warnings.log.warn(`the file of waiting events could not be read and was put aside: ${this.file}.unread`);
    }
    await writeFile(`${this.file}.tmp`, content, { mode: 0o600, flush: true });
    await rename(`${this.file}.tmp`, this.file);
    this.#torn = false;
  }

  /**
   * Runs an operation after the ones before it. A failure is a warning.
   *
   * @template T
   * @param {() => Promise<T>} operation
   * @param {T} otherwise
   * @returns {Promise<T>}
   */
  #next(operation, otherwise) {
    const done = this.#last.then(operation).catch((error) => {
      this.#torn = true;
      this.warnings.once(`waiting events cannot be kept on disk: ${message(error)}`);
      return otherwise;
    });
    this.#last = done;
    return done;
  }
}

/** @param {readonly Item[]} items */
function encode(items) {
  return Buffer.from(items.map(({ subject, id, body, trace }) => `${JSON.stringify({ subject, id, body, trace })}\n`).join(""));
}

/**
 * @param {string} line
 * @returns {Item | undefined} undefined when it is not an event
 */
function read(line) {
  try {
    const { subject, id, body, trace } = JSON.parse(line);
    if (![subject, id, body].every((part) => typeof part === "string")) return undefined;
    return { subject, id, body, ...(typeof trace === "string" && { trace }) };
  } catch {
    return undefined;
  }
}

/**
 * Reports whether a file without a line end can be the beginning of an event.
 *
 * @param {Buffer} content
 */
function isStart(content) {
  const start = '{"subject":"';
  return start.startsWith(content.toString("utf8", 0, start.length));
}
