// The chats in which hints, or the triage gate, are off, kept in the gateway's state directory.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Beyond this many, the chat that was switched off first is switched on again. */
const MAX_CHATS = 1000;

export class Chats {
  /** @type {Set<string>} session keys */
  #off = new Set();
  #file = "";

  /**
   * Loads the chats from a file, which may be missing. With "" as the file they last as long as the
   * process.
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
      // Missing or unreadable: on everywhere.
    }
  }

  /** @param {string | undefined} chat a session key */
  isOff(chat) {
    return chat !== undefined && this.#off.has(chat);
  }

  /**
   * Switches off or on for a chat.
   *
   * @param {string} chat
   * @param {boolean} off
   * @returns {boolean} whether the choice was saved
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
