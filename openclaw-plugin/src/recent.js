// What is remembered for a while: entries of a map, and warnings that were logged.



/** @template T */
export class Recent {
  /** @type {Map<string, T>} */
  #entries = new Map();

  /** @param {number} [size] the number of entries kept */
  constructor(size = 500) {
    this.size = size;
  }

  /** @param {string} key */
  get(key) {
    return this.#entries.get(key);
  }

  /**
   * Removes an entry and returns it.
   *
   * @param {string} key
   */
  take(key) {
    const value = this.#entries.get(key);
    this.#entries.delete(key);
    return value;
  }

  /**
   * @param {string} key
   * @param {T} value
   */
  set(key, value) {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.size) this.#entries.delete(/** @type {string} */ (this.#entries.keys().next().value));
  }
}

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
