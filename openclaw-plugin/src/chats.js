// The chats in which hints, or the triage gate, are off, and when they were, kept in the gateway's state
// directory.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { field, text } from "./values.js";

/**
 * Beyond this many, the chat that was switched first is forgotten: one that is on again, else one that
 * is off, which is on again then.
 */
const MAX_CHATS = 1000;

/** Beyond this many times that a chat was off, the two oldest count as one. */
const MAX_SPANS = 20;

/** A time in Unix milliseconds when a chat was off; without an end it still is. @typedef {[from: number, to?: number]} Span */

export class Chats {
  /** @type {Map<string, Span[]>} by session key, oldest first */
  #chats = new Map();
  #file = "";

  /**
   * Loads the chats from a file, which may be missing. With "" as the file they last as long as the
   * process. A file that cannot be read is put aside, with a warning: what was off is on again.
   *
   * @param {string} file
   * @param {(warning: string) => void} [warn]
   */
  open(file, warn = () => undefined) {
    this.#file = file;
    if (file === "") return;
    try {
      const chats = JSON.parse(readFileSync(file, "utf8"));
      if (!Array.isArray(chats)) throw new Error("it is not a list of chats");
      this.#chats = new Map(chats.flatMap(readChat));
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code === "ENOENT" || code === "ENOTDIR") return;
      warn(`chats that were switched off are on again, their file cannot be read: ${message}; it is put aside as ${file}.corrupt`);
      try {
        renameSync(file, `${file}.corrupt`);
      } catch {
        // It stays until a chat is switched.
      }
    }
  }

  /** @param {string | undefined} chat a session key */
  isOff(chat) {
    return chat !== undefined && isOpen(this.#chats.get(chat));
  }

  /**
   * Reports whether a chat was off at a time.
   *
   * @param {string} chat
   * @param {number} ts Unix milliseconds
   */
  wasOff(chat, ts) {
    return (this.#chats.get(chat) ?? []).some(([from, to = Infinity]) => from <= ts && ts <= to);
  }

  /**
   * Switches off or on for a chat.
   *
   * @param {string} chat
   * @param {boolean} off
   * @returns {boolean} whether the choice was saved
   */
  set(chat, off) {
    const spans = this.#chats.get(chat) ?? [];
    const last = spans.at(-1);
    if (isOpen(spans) !== off) {
      if (off) spans.push([Date.now()]);
      else if (last) last[1] = Date.now();
    }
    const [first, second] = spans;
    if (first && second && spans.length > MAX_SPANS) spans.splice(0, 2, [first[0], second[1] ?? second[0]]);
    this.#chats.delete(chat);
    if (spans.length > 0) this.#chats.set(chat, spans);
    while (this.#chats.size > MAX_CHATS) {
      const keys = [...this.#chats.keys()];
      this.#chats.delete(keys.find((key) => !this.isOff(key)) ?? /** @type {string} */ (keys[0]));
    }
    if (this.#file === "") return false;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      const chats = [...this.#chats].map(([key, times]) => ({ chat: key, off: times }));
      writeFileSync(`${this.#file}.tmp`, JSON.stringify(chats), { mode: 0o600, flush: true });
      renameSync(`${this.#file}.tmp`, this.#file);
      return true;
    } catch {
      return false;
    }
  }
}

/** @param {Span[] | undefined} spans */
function isOpen(spans) {
  const last = spans?.at(-1);
  return last !== undefined && last[1] === undefined;
}

/**
 * A chat as the file has it. A session key alone is a chat that is off, since an unknown time.
 *
 * @param {unknown} entry
 * @returns {[string, Span[]][]} none when it is something else
 */
function readChat(entry) {
  if (typeof entry === "string") return [[entry, [[0]]]];
  const chat = text(entry, "chat");
  const off = field(entry, "off");
  if (chat === undefined || !Array.isArray(off)) return [];
  return [[chat, off.filter(isSpan)]];
}

/** @param {unknown} span */
function isSpan(span) {
  return Array.isArray(span) && (span.length === 1 || span.length === 2) && span.every((ts) => typeof ts === "number");
}
