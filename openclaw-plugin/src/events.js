// Events: published to the stream through the outbox.

import { randomUUID } from "node:crypto";

import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import { PermissionViolationError, RequestError } from "@nats-io/transport-node";

import { Outbox } from "./outbox.js";
import { encodeBody } from "./payload.js";
import { addressOf, eventSubject } from "./subjects.js";
import { message } from "./values.js";

/** How long to wait for the acknowledgement of an event. */
const STORE_MS = 5000;

export class Events {
  /** Dropped events that were logged. */
  #reported = 0;

  /**
   * @param {object} given
   * @param {import("./config.js").Options} given.options
   * @param {import("./link.js").Link} given.link
   * @param {import("./counters.js").Counters} given.counters
   * @param {import("./warnings.js").Warnings} given.warnings
   */
  constructor({ options, link, counters, warnings }) {
    this.options = options;
    this.link = link;
    this.counters = counters;
    this.warnings = warnings;
    this.outbox = new Outbox({
      limits: options.buffer,
      ready: () => this.link.up,
      away: () => this.link.state === "down" || this.link.state === "closed",
      publish: (item) => this.#publish(item),
      onDrop: () => this.warnings.once("the event buffer is full: dropping the oldest"),
      onEmpty: () => this.#reportDrops(),
    });
  }

  /** Logs how many events were dropped since the last time. */
  #reportDrops() {
    const dropped = this.outbox.dropped - this.#reported;
    if (dropped === 0) return;
    this.#reported = this.outbox.dropped;
    this.warnings.log.warn(`${dropped} events were dropped: more had to wait than the buffer holds`);
  }

  /** @param {import("./config.js").Options} options */
  configure(options) {
    this.options = options;
    this.outbox.limits = options.buffer;
  }

  /**
   * Queues an event for the stream. It returns at once and never throws.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {object} [more]
   * @param {number} [more.ts] when it happened, in Unix milliseconds
   * @param {import("./payload.js").History["leaveOut"]} [more.leaveOut] of its messages
   */
  tell(hook, event, ctx, { ts = Date.now(), leaveOut } = {}) {
    this.#queue({ hook, event, ctx, ts, id: randomUUID() }, { ...this.#historyOf(hook), ...(leaveOut && { leaveOut }) });
  }

  /**
   * Queues a request that got no answer: the turn began all the same (contract §8).
   *
   * @param {import("./payload.js").Body} request
   */
  unanswered(request) {
    this.#queue(request, request.history ?? this.options.history);
  }

  /**
   * @param {import("./payload.js").Body} envelope
   * @param {import("./payload.js").History} history
   */
  #queue(envelope, history) {
    const { hook, event, ctx, id } = envelope;
    try {
      const limit = Math.min(this.options.buffer.eventBytes, this.link.maxBody);
      const body = encodeBody(envelope, limit, history);
      if (body === undefined) {
        this.counters.failed++;
        this.warnings.once(`${hook}: the event is too large`);
        return;
      }
      const { agent, session } = addressOf(event, ctx);
      this.counters.told++;
      this.outbox.push({ subject: eventSubject(this.options.subjectPrefix, hook, agent, session), id, body });
      this.link.open();
      this.link.rest();
    } catch (error) {
      this.counters.failed++;
      this.warnings.once(`${hook}: publishing failed: ${message(error)}`);
    }
  }

  /**
   * What an event holds of its messages: all that fits, but only text for extraction.
   *
   * @param {string} hook
   * @returns {import("./payload.js").History}
   */
  #historyOf(hook) {
    const extracted = hook === this.options.knowhub.extraction;
    return { turns: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, textOnly: extracted, runs: extracted };
  }

  /**
   * Waits until all events are stored.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether they are
   */
  async flush(ms) {
    if (this.outbox.size === 0) return true;
    const until = performance.now() + ms;
    return this.link.during(async () => {
      if (!(await this.link.connected(ms))) return false;
      return this.outbox.drained(Math.max(1, until - performance.now()));
    });
  }

  /**
   * Ends the queue: events that are left stay in the file, or are dropped without one.
   */
  async end() {
    const { kept, lost } = await this.outbox.abandon();
    if (kept > 0) this.warnings.log.info(`${kept} events wait on disk for the next start`);
    if (lost > 0) this.warnings.log.warn(`${lost} events were not delivered before shutdown`);
    this.#reported += lost;
    this.#reportDrops();
  }

  /**
   * @param {import("./outbox.js").Item} item
   * @returns {Promise<import("./outbox.js").Outcome>}
   */
  async #publish({ subject, id, body, bytes = 0 }) {
    const { nc } = this.link;
    if (!nc) return "again";
    if (bytes > this.link.maxBody) {
      this.warnings.once("an event is larger than the server's max_payload");
      return "refused";
    }
    try {
      const expect = this.options.stream === "" ? {} : { expect: { streamName: this.options.stream } };
      await jetstream(nc).publish(subject, body, { msgID: id, timeout: STORE_MS, ...expect });
      return "stored";
    } catch (error) {
      if (nc.isClosed()) return "again";
      this.warnings.once(`events are not stored: ${message(error)}`);
      const denied = error instanceof RequestError && error.cause instanceof PermissionViolationError;
      // Errors from 500 on are the server's own and may pass.
      const invalid = error instanceof JetStreamApiError && error.status < 500;
      return denied || invalid ? "refused" : "again";
    }
  }
}
