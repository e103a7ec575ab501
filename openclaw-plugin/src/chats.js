// The chats in which hints are off, in a file of the gateway's state directory.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** More chats than that do not stay switched off; the oldest come back on. */
const MAX_CHATS = 1000;

export class Chats {
  /** @type {Set<string>} session keys */
  #off = new Set();
  #file = "";

  /**
   * Reads the chats of a file that need not be there. Without a file they count until the process
   * ends.
   *
   * @param {string} file
   */
  open(file) {
    this.#file = file;
    if (file === "") return;
    try {
      const chats = JSON.parse(readFileSync(file, "utf8"));
      this.#off = new Set(Array.isArray(chats) ? chats.filter((chat) => typeof chat === "string") : []);
    } catch {
      // Not there, or of no use: hints are on.
    }
  }

  /** @param {string | undefined} chat a session key */
  isOff(chat) {
    return chat !== undefined && this.#off.has(chat);
  }

  /**
   * Switches hints of a chat.
   *
   * @param {string} chat
   * @param {boolean} off
   * @returns {boolean} whether it outlives the process
   */
  set(chat, off) {
    this.#off.delete(chat);
    if (off) this.#off.add(chat);
    for (const oldest of this.#off) {
      if (this.#off.size <= MAX_CHATS) break;
      this.#off.delete(oldest);
    }
    if (this.#file === "") return false;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(`${this.#file}.tmp`, JSON.stringify([...this.#off]), { mode: 0o600 });
      renameSync(`${this.#file}.tmp`, this.#file);
      return true;
    } catch {
      return false;
    }
  }
}
