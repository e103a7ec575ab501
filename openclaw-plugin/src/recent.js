// A map that keeps its newest entries.

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
