// A bounded queue of events: published in order, and again until the stream has them. What has to wait
// is kept in a file as well.

/**
 * @typedef {object} Item
 * @property {string} subject
 * @property {string} id
 * @property {string} body
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
  /** @type {import("./spool.js").Spool | undefined} */
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
   * @param {import("./spool.js").Spool} spool
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
   * @param {import("./spool.js").Spool} spool
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
   * @param {import("./spool.js").Spool} spool
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
