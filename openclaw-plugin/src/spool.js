// Events on disk: what waits for NATS when the gateway ends is sent when it runs again.

import { appendFile, mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import { message } from "./values.js";

/** @typedef {import("./outbox.js").Item} Item */

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
   * @param {import("./warnings.js").Warnings} warnings
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
  return Buffer.from(items.map(({ subject, id, body }) => `${JSON.stringify({ subject, id, body })}\n`).join(""));
}

/**
 * @param {string} line
 * @returns {Item | undefined} undefined when it is not an event
 */
function read(line) {
  try {
    const { subject, id, body } = JSON.parse(line);
    return [subject, id, body].every((part) => typeof part === "string") ? { subject, id, body } : undefined;
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
