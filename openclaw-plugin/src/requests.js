// Requests over NATS: one message, and the first reply to it.

import { RequestError, TimeoutError, headers } from "@nats-io/transport-node";

import { message } from "./values.js";

/**
 * What became of a request: a reply came, it came too late, nobody subscribes, there was no
 * connection, or it was not sent.
 *
 * @typedef {object} Answer
 * @property {"answered" | "late" | "nobody" | "down" | "unsent"} outcome
 * @property {Uint8Array} body
 * @property {import("@nats-io/transport-node").MsgHdrs} [headers]
 */

const EMPTY = new Uint8Array();

export class Requests {
  /**
   * @param {object} given
   * @param {import("./link.js").Link} given.link
   * @param {import("./counters.js").Counters} given.counters
   * @param {import("./warnings.js").Warnings} given.warnings
   */
  constructor({ link, counters, warnings }) {
    this.link = link;
    this.counters = counters;
    this.warnings = warnings;
  }

  /**
   * Sends a request and waits for the first reply. It never rejects.
   *
   * @param {string} subject
   * @param {(maxBytes: number) => string | undefined} encode undefined when the body does not fit
   * @param {number} deadline by performance.now()
   * @param {string} [traceparent]
   * @returns {Promise<Answer>}
   */
  async send(subject, encode, deadline, traceparent) {
    const nc = await this.link.connected(deadline - performance.now());
    if (!nc) {
      this.counters.skipped++;
      return { outcome: "down", body: EMPTY };
    }
    const body = encode(this.link.maxBody);
    const timeout = Math.floor(deadline - performance.now());
    if (body === undefined || timeout < 1) {
      this.counters.failed++;
      this.warnings.once(`${subject}: not sent, ${body === undefined ? "too large for the server" : "no time left"}`);
      return { outcome: "unsent", body: EMPTY };
    }
    const header = headers();
    header.set("Hint-Timeout-Ms", String(timeout));
    if (traceparent) header.set("traceparent", traceparent);
    this.counters.asked++;
    try {
      const reply = await nc.request(subject, body, { timeout, headers: header });
      this.counters.answered++;
      return { outcome: "answered", body: reply.data, headers: reply.headers };
    } catch (error) {
      if (nc.isClosed()) return { outcome: "down", body: EMPTY };
      if (error instanceof RequestError && error.isNoResponders()) {
        this.counters.nobody++;
        return { outcome: "nobody", body: EMPTY };
      }
      if (error instanceof TimeoutError) {
        this.counters.late++;
        return { outcome: "late", body: EMPTY };
      }
      this.counters.failed++;
      this.warnings.once(`${subject}: ${message(error)}`);
      return { outcome: "unsent", body: EMPTY };
    }
  }
}
