// The one way from this process to NATS: decisions are requests, events are published.

import { randomUUID } from "node:crypto";

import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import { PermissionViolationError, RequestError, TimeoutError, headers } from "@nats-io/transport-node";

import { Breaker } from "./breaker.js";
import { Connection, connectionOptions } from "./connection.js";
import { Outbox } from "./outbox.js";
import { encodeBody, traceparentOf } from "./payload.js";
import { addressOf, eventSubject, requestSubject } from "./subjects.js";
import { message, text } from "./values.js";

/**
 * @typedef {import("./config.js").Options} Options
 * @typedef {import("./api.js").Logger} Logger
 *
 * @typedef {object} LastHint
 * @property {string} intent
 * @property {string} source
 * @property {string} confidence
 * @property {string} skip why there was no hint
 * @property {number} tookMs the round trip
 * @property {number} at Unix milliseconds
 */

/** Bytes of max_payload that are left for the headers. */
const HEADER_ROOM = 1024;

/** How long to wait for the acknowledgement of an event. */
const STORE_MS = 5000;

/** How long a process that is not a gateway keeps an idle connection. */
const IDLE_MS = 500;

/** The whole conversation: events are limited by size alone. */
const EVERYTHING = { turns: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, textOnly: false };

/**
 * After a reload, handlers of an older version of the plugin call a bridge of the newer one: ask,
 * tell, open, flush, release and close keep their signatures.
 */
export class Bridge {
  /** Whether this process is a gateway, which keeps its connection; a command closes it when idle. */
  gateway = false;

  counters = { asked: 0, answered: 0, noDecision: 0, late: 0, skipped: 0, nobody: 0, garbage: 0, failed: 0, told: 0 };
  /** @type {Map<string, LastHint>} by session key */
  lastHints = new Map();

  /** @type {Connection} */
  #connection;
  /** @type {Outbox} */
  #outbox;
  /** @type {Map<string, Breaker>} by hook */
  #breakers = new Map();
  /** @type {Set<string>} hooks whose last request had no responders */
  #unhandled = new Set();
  /** @type {NodeJS.Timeout | undefined} */
  #idle;
  #busy = 0;
  /** @type {Map<string, number>} warning → when it was last logged */
  #warned = new Map();
  #wasUp = false;

  /**
   * @param {Options} options
   * @param {Logger} log
   */
  constructor(options, log) {
    this.options = options;
    this.log = log;
    this.#connection = this.#newConnection();
    this.#outbox = this.#newOutbox();
  }

  /**
   * Applies new options; reconnects only when the connection's own options have changed.
   *
   * @param {Options} options
   * @param {Logger} log
   */
  configure(options, log) {
    const before = this.options;
    this.options = options;
    this.log = log;
    if (JSON.stringify(before.breaker) !== JSON.stringify(options.breaker)) this.#breakers.clear();
    this.#unhandled.clear();
    this.#outbox.limits = options.buffer;
    if (linkOf(before) === linkOf(options)) return;
    const old = this.#connection;
    this.#connection = this.#newConnection();
    void old.close();
    if (old.state !== "idle" && this.gateway) this.#connection.open();
  }

  /** Starts to connect, so that later requests and events find a connection. */
  open() {
    clearTimeout(this.#idle);
    if (this.#connection.state === "closed") this.#connection = this.#newConnection();
    this.#connection.open();
  }

  /**
   * Requests the decision of a hook. It never rejects, and returns at once when nobody can answer:
   * without a connection, without a responder, or while the hook's breaker is open.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {number} budgetMs
   * @returns {Promise<{decided: boolean, result: object | undefined}>} decided is false without a usable answer
   */
  async ask(hook, event, ctx, budgetMs) {
    const deadline = performance.now() + budgetMs;
    const breaker = this.breaker(hook);
    if (!breaker.allow()) {
      this.counters.skipped++;
      return NO_ANSWER;
    }
    this.#begin();
    try {
      const { agent, session } = addressOf(event, ctx);
      const chat = text(ctx, "sessionKey") ?? session;
      const began = performance.now();
      const answer = await this.#exchange(
        requestSubject(this.options.subjectPrefix, hook, agent),
        (bytes) => encodeBody({ hook, event, ctx, ts: Date.now(), id: randomUUID() }, bytes, this.options.history),
        deadline,
        traceparentOf(ctx),
      );
      switch (answer.outcome) {
        case "answered":
          this.#unhandled.delete(hook);
          breaker.answered();
          break;
        case "late":
          this.#unhandled.delete(hook);
          if (breaker.late()) {
            const { lateAnswers, pauseMs } = this.options.breaker;
            this.log.warn(`${hook}: ${lateAnswers} answers in a row were late; no requests for ${pauseMs / 1000} s`);
          }
          return NO_ANSWER;
        case "nobody":
          this.#noResponders(hook);
          breaker.unanswered();
          return NO_ANSWER;
        default:
          breaker.unanswered();
          return NO_ANSWER;
      }
      return this.#result(hook, answer, chat, performance.now() - began);
    } catch (error) {
      breaker.unanswered();
      this.counters.failed++;
      this.warnOnce(`${hook}: request failed: ${message(error)}`);
      return NO_ANSWER;
    } finally {
      this.#end();
    }
  }

  /**
   * Calls a service endpoint, for tools: unlike ask it rejects with the reason.
   *
   * @param {string} subject
   * @param {object} body
   * @param {number} budgetMs
   * @param {AbortSignal} [signal]
   * @returns {Promise<unknown>} the reply's JSON
   */
  async call(subject, body, budgetMs, signal) {
    this.#begin();
    try {
      const exchange = this.#exchange(subject, () => JSON.stringify(body), performance.now() + budgetMs);
      const answer = await (signal ? Promise.race([exchange, aborted(signal)]) : exchange);
      switch (answer.outcome) {
        case "answered":
          break;
        case "late":
          throw new Error(`no answer within ${budgetMs / 1000} s`);
        case "nobody":
          this.warnOnce(`nobody answers ${subject}: is a consumer running?`);
          throw new Error("no service answers; is intenthint running with KnowHub enabled?");
        default:
          throw new Error(`no connection to NATS (${this.#connection.lastError || "not connected"})`);
      }
      const reason = answer.headers?.get("Nats-Service-Error");
      const reply = parse(answer.body);
      if (reason) throw new Error(reason);
      if (reply === undefined) throw new Error("the reply is not JSON");
      const error = /** @type {any} */ (reply)?.error;
      if (typeof error === "string" && error !== "") throw new Error(error);
      return reply;
    } finally {
      this.#end();
    }
  }

  /**
   * Queues an event for the stream. It returns at once and never throws.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   */
  tell(hook, event, ctx) {
    try {
      const id = randomUUID();
      const limit = Math.min(this.options.buffer.eventBytes, this.#maxBody());
      const body = encodeBody({ hook, event, ctx, ts: Date.now(), id }, limit, EVERYTHING);
      if (body === undefined) {
        this.counters.failed++;
        this.warnOnce(`${hook}: the event is too large`);
        return;
      }
      const { agent, session } = addressOf(event, ctx);
      this.counters.told++;
      this.#outbox.push({ subject: eventSubject(this.options.subjectPrefix, hook, agent, session), id, body });
      this.open();
      if (this.#busy === 0) this.#rest();
    } catch (error) {
      this.counters.failed++;
      this.warnOnce(`${hook}: publishing failed: ${message(error)}`);
    }
  }

  /**
   * Waits until all events are stored.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether they are
   */
  async flush(ms) {
    if (this.#outbox.size === 0) return true;
    const until = performance.now() + ms;
    this.#begin();
    try {
      if (!(await this.#connection.ready(ms))) return false;
      return await this.#outbox.drained(Math.max(1, until - performance.now()));
    } finally {
      this.#end();
    }
  }

  /**
   * Flushes and closes the connection; events that are left wait for the next one.
   *
   * @param {number} ms limit for the flush
   */
  async release(ms) {
    await this.flush(ms);
    clearTimeout(this.#idle);
    this.#wasUp = false;
    await this.#connection.close();
  }

  /**
   * Flushes, closes the connection and drops the events that are left. Later requests and events
   * connect again.
   *
   * @param {number} ms limit for the flush
   */
  async close(ms) {
    this.gateway = false;
    await this.release(ms);
    const lost = this.#outbox.abandon();
    if (lost > 0) this.log.warn(`${lost} events were not delivered before shutdown`);
  }

  status() {
    const open = [...this.#breakers].filter(([, breaker]) => breaker.open);
    return {
      state: this.#connection.state,
      server: this.#connection.nc?.getServer() ?? "",
      reason: this.#connection.lastError,
      unhandled: [...this.#unhandled],
      pausing: open.map(([hook, breaker]) => ({ hook, ms: breaker.pauseLeft })),
      buffered: this.#outbox.size,
      stored: this.#outbox.stored,
      dropped: this.#outbox.dropped,
      refused: this.#outbox.refused,
      ...this.counters,
    };
  }

  /**
   * The circuit breaker of a hook. Each hook has its own: late answers to one do not stop another.
   *
   * @param {string} hook
   */
  breaker(hook) {
    let breaker = this.#breakers.get(hook);
    if (!breaker) this.#breakers.set(hook, (breaker = new Breaker(this.options.breaker)));
    return breaker;
  }

  /**
   * Sends a request and waits for the first reply.
   *
   * @param {string} subject
   * @param {(maxBytes: number) => string | undefined} encode
   * @param {number} deadline by performance.now()
   * @param {string} [traceparent]
   * @returns {Promise<{outcome: "answered" | "late" | "nobody" | "down" | "unsent", body: Uint8Array, headers?: import("@nats-io/transport-node").MsgHdrs}>}
   */
  async #exchange(subject, encode, deadline, traceparent) {
    this.open();
    const connection = this.#connection;
    if (!(await connection.ready(deadline - performance.now()))) {
      this.counters.skipped++;
      return { outcome: "down", body: EMPTY };
    }
    const { nc } = connection;
    const body = encode(this.#maxBody());
    const timeout = Math.floor(deadline - performance.now());
    if (body === undefined || timeout < 1 || !nc) {
      this.counters.failed++;
      this.warnOnce(`${subject}: not sent, ${body === undefined ? "too large for the server" : "no time left"}`);
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
      this.warnOnce(`${subject}: ${message(error)}`);
      return { outcome: "unsent", body: EMPTY };
    }
  }

  /**
   * Notes that nobody subscribes to a hook's requests. The consumer subscribes to the hooks that it
   * handles and to no others (contract §2).
   *
   * @param {string} hook
   */
  #noResponders(hook) {
    this.#unhandled.add(hook);
    const subject = `${this.options.subjectPrefix}.request.${hook}.*`;
    this.warnOnce(`nobody answers ${hook}: ${hook === "before_prompt_build" ? "is a consumer running?" : `no service subscribes to ${subject}`}`);
  }

  /**
   * Reads a reply. Its body is the hook's result, passed on unchanged.
   *
   * @param {string} hook
   * @param {{body: Uint8Array, headers?: import("@nats-io/transport-node").MsgHdrs}} answer
   * @param {string | undefined} chat
   * @param {number} tookMs
   */
  #result(hook, answer, chat, tookMs) {
    const get = (/** @type {string} */ name) => answer.headers?.get(name) ?? "";
    const result = parse(answer.body);
    const error = get("Nats-Service-Error");
    if (error !== "" || result === null || typeof result !== "object" || Array.isArray(result)) {
      this.counters.garbage++;
      this.warnOnce(`${hook}: ${error === "" ? "a reply is not a JSON object" : `the reply is an error: ${error}`}`);
      return NO_ANSWER;
    }
    if (hook === "before_prompt_build" && chat !== undefined) {
      remember(this.lastHints, chat, {
        intent: get("Hint-Intent"),
        source: get("Hint-Source"),
        confidence: get("Hint-Confidence"),
        skip: get("Hint-Skip"),
        tookMs,
        at: Date.now(),
      });
    }
    if (Object.keys(result).length === 0) {
      this.counters.noDecision++;
      return { decided: true, result: undefined };
    }
    return { decided: true, result };
  }

  #maxBody() {
    return (this.#connection.nc?.info?.max_payload ?? 1_048_576) - HEADER_ROOM;
  }

  #newConnection() {
    const connection = new Connection(
      () => connectionOptions(this.options),
      (state, reason) => {
        if (connection !== this.#connection) return;
        if (state === "up") {
          const text = `connected to NATS at ${connection.nc?.getServer()}`;
          if (this.gateway) this.log.info(text);
          else this.log.debug?.(text);
          this.#wasUp = true;
          this.#outbox.kick();
        } else if (state === "down") {
          const text = `no connection to NATS (${reason}); turns continue without hints, events wait`;
          if (this.#wasUp) this.log.warn(text);
          else this.warnOnce(text);
          this.#wasUp = false;
        }
      },
    );
    return connection;
  }

  #newOutbox() {
    return new Outbox({
      limits: this.options.buffer,
      ready: () => this.#connection.state === "up",
      publish: (item) => this.#publish(item),
      onDrop: () => this.warnOnce("the event buffer is full: dropping the oldest"),
    });
  }

  /**
   * @param {import("./outbox.js").Item} item
   * @returns {Promise<import("./outbox.js").Outcome>}
   */
  async #publish({ subject, id, body, bytes = 0 }) {
    const { nc } = this.#connection;
    if (!nc) return "again";
    if (bytes > this.#maxBody()) {
      this.warnOnce("an event is larger than the server's max_payload");
      return "refused";
    }
    try {
      const expect = this.options.stream === "" ? {} : { expect: { streamName: this.options.stream } };
      await jetstream(nc).publish(subject, body, { msgID: id, timeout: STORE_MS, ...expect });
      return "stored";
    } catch (error) {
      if (nc.isClosed()) return "again";
      this.warnOnce(`events are not stored: ${message(error)}`);
      const denied = error instanceof RequestError && error.cause instanceof PermissionViolationError;
      // Errors from 500 on are the server's own and may pass.
      const invalid = error instanceof JetStreamApiError && error.status < 500;
      return denied || invalid ? "refused" : "again";
    }
  }

  #begin() {
    this.#busy++;
    clearTimeout(this.#idle);
  }

  #end() {
    this.#busy--;
    if (this.#busy === 0) this.#rest();
  }

  /**
   * Closes an idle connection soon, unless this process is a gateway: `openclaw agent --local`
   * exits only when nothing keeps it alive.
   */
  #rest() {
    clearTimeout(this.#idle);
    if (this.gateway) return;
    this.#idle = setTimeout(() => {
      if (this.#busy === 0 && !this.gateway) void this.close(this.#outbox.size > 0 ? 2000 : 0);
    }, IDLE_MS).unref();
  }

  /**
   * Logs a warning, the same one at most every ten minutes.
   *
   * @param {string} warning
   */
  warnOnce(warning) {
    const now = performance.now();
    const last = this.#warned.get(warning);
    if (last !== undefined && now - last < 600_000) return;
    remember(this.#warned, warning, now);
    this.log.warn(warning);
  }
}

const EMPTY = new Uint8Array();
const NO_ANSWER = Object.freeze({ decided: false, result: undefined });

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

/**
 * @param {Uint8Array} body
 * @returns {unknown} undefined when it is not JSON
 */
function parse(body) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/**
 * Sets an entry of a map that keeps the newest 500.
 *
 * @template T
 * @param {Map<string, T>} map
 * @param {string} key
 * @param {T} value
 */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > 500) map.delete(/** @type {string} */ (map.keys().next().value));
}

/**
 * The options of the connection, as a key: another key needs another connection.
 *
 * @param {Options} o
 */
function linkOf(o) {
  return JSON.stringify([o.natsUrl, o.natsPort, o.natsCreds, o.natsNkey, o.natsCa, o.natsCert, o.natsKey, o.natsInboxPrefix]);
}
