// A circuit breaker: after several late answers in a row nobody is asked for a while, then one
// request probes.

export class Breaker {
  #failures = 0;
  #until = 0;
  #probing = false;

  /**
   * @param {{lateAnswers: number, pauseMs: number}} settings
   * @param {() => number} [now] milliseconds that only grow
   */
  constructor(settings, now = () => performance.now()) {
    this.settings = settings;
    this.now = now;
  }

  /** Whether nobody is asked at the moment but for a probe. */
  get open() {
    return this.#failures >= this.settings.lateAnswers;
  }

  /** Milliseconds until the next probe; 0 when it may be sent. */
  get pauseLeft() {
    return this.open ? Math.max(0, this.#until - this.now()) : 0;
  }

  /**
   * Whether a request may be sent. After true exactly one of answered, late and unanswered
   * follows.
   */
  allow() {
    if (!this.open) return true;
    if (this.#probing || this.now() < this.#until) return false;
    this.#probing = true;
    return true;
  }

  /** An answer came in time, of whatever kind. */
  answered() {
    this.#failures = 0;
    this.#probing = false;
  }

  /**
   * No answer came in time.
   *
   * @returns {boolean} whether this one opened the breaker
   */
  late() {
    const was = this.open;
    this.#failures++;
    this.#probing = false;
    if (this.open) this.#until = this.now() + this.settings.pauseMs;
    return this.open && !was;
  }

  /** It cannot be said: nobody listens, or the connection went. */
  unanswered() {
    this.#probing = false;
  }
}
