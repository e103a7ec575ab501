// Warnings that are not repeated again and again.

import { Recent } from "./recent.js";

/** How long the same warning stays silent. */
const SILENT_MS = 600_000;

export class Warnings {
  /** @type {Recent<number>} warning → when it was last logged */
  #logged = new Recent();

  /** @param {import("./api.js").Logger} log */
  constructor(log) {
    this.log = log;
  }

  /**
   * Logs a warning, the same one at most every ten minutes.
   *
   * @param {string} warning
   */
  once(warning) {
    const now = performance.now();
    const last = this.#logged.get(warning);
    if (last !== undefined && now - last < SILENT_MS) return;
    this.#logged.set(warning, now);
    this.log.warn(warning);
  }
}
