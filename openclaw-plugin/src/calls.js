// Calls of service endpoints, for tools.

import { parse } from "./replies.js";

export class Calls {
  /**
   * @param {object} given
   * @param {import("./link.js").Link} given.link
   * @param {import("./requests.js").Requests} given.requests
   * @param {import("./warnings.js").Warnings} given.warnings
   */
  constructor({ link, requests, warnings }) {
    this.link = link;
    this.requests = requests;
    this.warnings = warnings;
  }

  /**
   * Calls an endpoint. It rejects with the reason when there is no usable reply.
   *
   * @param {string} subject
   * @param {object} body
   * @param {number} budgetMs
   * @param {AbortSignal} [signal]
   * @returns {Promise<unknown>} the reply's JSON
   */
  async call(subject, body, budgetMs, signal) {
    const sent = this.requests.send(subject, () => JSON.stringify(body), performance.now() + budgetMs);
    const answer = await (signal ? Promise.race([sent, aborted(signal)]) : sent);
    switch (answer.outcome) {
      case "answered":
        break;
      case "late":
        throw new Error(`no answer within ${budgetMs / 1000} s`);
      case "nobody":
        this.warnings.once(`nobody answers ${subject}: is a consumer running?`);
        throw new Error("no service answers; is intenthint running with KnowHub enabled?");
      default:
        throw new Error(`no connection to NATS (${this.link.reason || "not connected"})`);
    }
    const fault = answer.headers?.get("Nats-Service-Error");
    const reply = parse(answer.body);
    if (fault) throw new Error(fault);
    if (reply === undefined) throw new Error("the reply is not JSON");
    const error = /** @type {any} */ (reply)?.error;
    if (typeof error === "string" && error !== "") throw new Error(error);
    return reply;
  }
}

/**
 * A promise that rejects when a signal is aborted.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function aborted(signal) {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error("cancelled"));
    signal.addEventListener("abort", () => reject(new Error("cancelled")), { once: true });
  });
}
