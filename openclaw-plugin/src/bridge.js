// The one way from this process to NATS: decisions are asked for, events are told.

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
 * @property {string} skip why there is no hint
 * @property {number} tookMs the round trip
 * @property {number} at Unix milliseconds
 */

/** What NATS adds to a body within max_payload: the headers. */
const HEADER_ROOM = 1024;

/** How long a server may take to store an event. */
const STORE_MS = 5000;

/** How long a process that is no gateway keeps an unused connection. */
const IDLE_MS = 500;

/** All of a conversation: of events only their size is bounded. */
const EVERYTHING = { turns: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, textOnly: false };

export class Bridge {
  /** Whether a gateway runs in this process. It keeps its connection; a command gives it back. */
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
  /** @type {Map<string, number>} what was logged, and when */
  #said = new Map();
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
   * Goes on with other options; the connection is changed only when it has to be.
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

  /** Connects; what is asked or told later finds the connection there. */
  open() {
    clearTimeout(this.#idle);
    if (this.#connection.state === "closed") this.#connection = this.#newConnection();
    this.#connection.open();
  }

  /**
   * Asks for the decision of a hook. It never rejects, and it does not wait when nobody can
   * answer.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {number} budgetMs
   * @returns {Promise<{decided: boolean, result: object | undefined}>} decided is false when nobody answered
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
      switch (answer.fate) {
        case "answered":
          this.#unhandled.delete(hook);
          breaker.answered();
          break;
        case "late":
          this.#unhandled.delete(hook);
          if (breaker.late()) {
            const { lateAnswers, pauseMs } = this.options.breaker;
            this.log.warn(`${hook}: ${lateAnswers} answers in a row were late; nobody is asked for ${pauseMs / 1000} s`);
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
      this.warnOnce(`${hook}: could not ask: ${message(error)}`);
      return NO_ANSWER;
    } finally {
      this.#end();
    }
  }

  /**
   * A request to a service endpoint; for tools, which want to know what went wrong.
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
      switch (answer.fate) {
        case "answered":
          break;
        case "late":
          throw new Error(`no answer within ${budgetMs / 1000} s`);
        case "nobody":
          this.warnOnce(`nobody answers ${subject}: is a consumer running?`);
          throw new Error("no service answers; is intenthint running with KnowHub enabled?");
        default:
          throw new Error(`there is no connection to NATS (${this.#connection.lastError || "not connected"})`);
      }
      const reason = answer.headers?.get("Nats-Service-Error");
      const reply = parse(answer.body);
      if (reason) throw new Error(reason);
      if (reply === undefined) throw new Error("the answer is not JSON");
      const error = /** @type {any} */ (reply)?.error;
      if (typeof error === "string" && error !== "") throw new Error(error);
      return reply;
    } finally {
      this.#end();
    }
  }

  /**
   * Tells an event. It returns at once and never throws.
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
        this.warnOnce(`${hook}: an event is too large to be told`);
        return;
      }
      const { agent, session } = addressOf(event, ctx);
      this.counters.told++;
      this.#outbox.push({ subject: eventSubject(this.options.subjectPrefix, hook, agent, session), id, body });
      this.open();
      if (this.#busy === 0) this.#rest();
    } catch (error) {
      this.counters.failed++;
      this.warnOnce(`${hook}: could not tell: ${message(error)}`);
    }
  }

  /**
   * Waits until all events are stored.
   *
   * @param {number} ms at most
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
   * Gives the connection back; events that could not be delivered wait for the next one.
   *
   * @param {number} ms at most, for the delivery
   */
  async release(ms) {
    await this.flush(ms);
    clearTimeout(this.#idle);
    this.#wasUp = false;
    await this.#connection.close();
  }

  /**
   * Delivers what can be delivered, then ends. What is asked or told later connects anew.
   *
   * @param {number} ms at most, for the delivery
   */
  async close(ms) {
    this.gateway = false;
    await this.release(ms);
    const lost = this.#outbox.abandon();
    if (lost > 0) this.log.warn(`${lost} events could not be delivered before the end`);
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
   * What late answers to a hook lead to.
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
   * @returns {Promise<{fate: "answered" | "late" | "nobody" | "down" | "unsent", body: Uint8Array, headers?: import("@nats-io/transport-node").MsgHdrs}>}
   */
  async #exchange(subject, encode, deadline, traceparent) {
    this.open();
    const connection = this.#connection;
    if (!(await connection.ready(deadline - performance.now()))) {
      this.counters.skipped++;
      return { fate: "down", body: EMPTY };
    }
    const { nc } = connection;
    const body = encode(this.#maxBody());
    const timeout = Math.floor(deadline - performance.now());
    if (body === undefined || timeout < 1 || !nc) {
      this.counters.failed++;
      this.warnOnce(`${subject}: not sent, ${body === undefined ? "too large for the server" : "no time left"}`);
      return { fate: "unsent", body: EMPTY };
    }
    const header = headers();
    header.set("Hint-Timeout-Ms", String(timeout));
    if (traceparent) header.set("traceparent", traceparent);
    this.counters.asked++;
    try {
      const reply = await nc.request(subject, body, { timeout, headers: header });
      this.counters.answered++;
      return { fate: "answered", body: reply.data, headers: reply.headers };
    } catch (error) {
      if (nc.isClosed()) return { fate: "down", body: EMPTY };
      if (error instanceof RequestError && error.isNoResponders()) {
        this.counters.nobody++;
        return { fate: "nobody", body: EMPTY };
      }
      if (error instanceof TimeoutError) {
        this.counters.late++;
        return { fate: "late", body: EMPTY };
      }
      this.counters.failed++;
      this.warnOnce(`${subject}: ${message(error)}`);
      return { fate: "unsent", body: EMPTY };
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
   * Reads a reply: the result of the hook, as it is.
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
      this.warnOnce(`${hook}: ${error === "" ? "an answer is not a JSON object" : `the answer is an error: ${error}`}`);
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
          const said = `connected to NATS at ${connection.nc?.getServer()}`;
          if (this.gateway) this.log.info(said);
          else this.log.debug?.(said);
          this.#wasUp = true;
          this.#outbox.kick();
        } else if (state === "down") {
          const said = `no connection to NATS (${reason}); turns go on without hints, events wait`;
          if (this.#wasUp) this.log.warn(said);
          else this.warnOnce(said);
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
      onDrop: () => this.warnOnce("the buffer of events is full: the oldest are dropped"),
    });
  }

  /**
   * @param {import("./outbox.js").Item} item
   * @returns {Promise<import("./outbox.js").Fate>}
   */
  async #publish({ subject, id, body, bytes = 0 }) {
    const { nc } = this.#connection;
    if (!nc) return "again";
    if (bytes > this.#maxBody()) {
      this.warnOnce("an event is larger than the server takes");
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
      // From 500 on it is the server's trouble, which may pass.
      const wrong = error instanceof JetStreamApiError && error.status < 500;
      return denied || wrong ? "refused" : "again";
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
   * A process that is no gateway (`openclaw agent --local`) ends when nothing keeps it: the
   * connection is given back soon.
   */
  #rest() {
    clearTimeout(this.#idle);
    if (this.gateway) return;
    this.#idle = setTimeout(() => {
      if (this.#busy === 0 && !this.gateway) void this.close(this.#outbox.size > 0 ? 2000 : 0);
    }, IDLE_MS).unref();
  }

  /**
   * Warns, of one thing not more often than every ten minutes.
   *
   * @param {string} warning
   */
  warnOnce(warning) {
    const now = performance.now();
    const last = this.#said.get(warning);
    if (last !== undefined && now - last < 600_000) return;
    remember(this.#said, warning, now);
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
    if (signal.aborted) reject(new Error("it was cancelled"));
    signal.addEventListener("abort", () => reject(new Error("it was cancelled")), { once: true });
  });
}

/**
 * @param {Uint8Array} body
 * @returns {unknown} undefined for what is not JSON
 */
function parse(body) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/**
 * Keeps the newest of a bounded number of entries.
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
 * What of the options asks for another connection when it changes.
 *
 * @param {Options} o
 */
function linkOf(o) {
  return JSON.stringify([o.natsUrl, o.natsPort, o.natsCreds, o.natsNkey, o.natsCa, o.natsCert, o.natsKey, o.natsInboxPrefix]);
}
