// A circuit breaker: several late answers in a row stop requests for a while, then one request
// probes.

export class Breaker {
  #failures = 0;
  #until = 0;
  #probing = false;

  /**
   * @param {{lateAnswers: number, pauseMs: number}} settings
   * @param {() => number} [now] monotonic clock, in milliseconds
   */
  constructor(settings, now = () => performance.now()) {
    this.settings = settings;
    this.now = now;
  }

  /** Whether only a probe may be sent. */
  get open() {
    return this.#failures >= this.settings.lateAnswers;
  }

  /** Milliseconds until the next probe; 0 when it may be sent. */
  get pauseLeft() {
    return this.open ? Math.max(0, this.#until - this.now()) : 0;
  }

  /**
   * Reports whether a request may be sent. After true the caller calls exactly one of answered,
   * late and unanswered.
   */
  allow() {
    if (!this.open) return true;
    if (this.#probing || this.now() < this.#until) return false;
    this.#probing = true;
    return true;
  }

  /** A reply came in time, of whatever kind. */
  answered() {
    this.#failures = 0;
    this.#probing = false;
  }

  /**
   * No reply came in time.
   *
   * @returns {boolean} whether this opened the breaker
   */
  late() {
    const was = this.open;
    this.#failures++;
    this.#probing = false;
    if (this.open) this.#until = this.now() + this.settings.pauseMs;
    return this.open && !was;
  }

  /** Nothing was learnt about the time of replies: no responders, or the connection was lost. */
  unanswered() {
    this.#probing = false;
  }
}
