// A bounded queue of events: published in order, and again until the stream has them.

/**
 * @typedef {object} Item
 * @property {string} subject
 * @property {string} id
 * @property {string} body
 * @property {number} [bytes]
 * @property {number} [attempts]
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

  stored = 0;
  dropped = 0;
  refused = 0;

  /**
   * @param {object} options
   * @param {{events: number, bytes: number}} options.limits
   * @param {(item: Item) => Promise<Outcome>} options.publish never rejects
   * @param {() => boolean} options.ready whether publishing makes sense now
   * @param {(dropped: number) => void} [options.onDrop]
   */
  constructor({ limits, publish, ready, onDrop = () => {} }) {
    this.limits = limits;
    this.publish = publish;
    this.ready = ready;
    this.onDrop = onDrop;
  }

  get size() {
    return this.#items.length;
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
      this.onDrop(this.dropped);
    }
    this.kick();
  }

  /** Starts to publish when there are events and a connection. */
  kick() {
    if (this.#pumping || this.#items.length === 0 || !this.ready()) return;
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
      if (some) this.#pause = 0;
    }
    this.#pumping = false;
    if (this.#items.length === 0) this.#wake();
    else if (this.ready()) {
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
   * Drops all events that are not in flight.
   *
   * @returns {number} how many
   */
  abandon() {
    clearTimeout(this.#retry);
    const lost = this.#items.splice(this.#inFlight);
    for (const item of lost) this.#bytes -= item.bytes ?? 0;
    this.dropped += lost.length;
    this.#wake();
    return lost.length;
  }

  #wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
