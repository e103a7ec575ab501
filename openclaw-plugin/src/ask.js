// Requests: decisions about hooks, and calls of service endpoints.

import { randomUUID } from "node:crypto";

import { RequestError, TimeoutError, headers } from "@nats-io/transport-node";

import { VERSION } from "./config.js";
import { Recent } from "./recent.js";
import { message, text } from "./values.js";
import { addressOf, encodeBody, requestSubject, traceparentOf } from "./wire.js";

/** @typedef {import("@nats-io/transport-node").MsgHdrs} MsgHdrs */

/**
 * A decision: decided is false without a usable answer, and result is undefined when the answer was
 * "no decision". The headers say why.
 *
 * @typedef {{decided: boolean, result: object | undefined, headers?: MsgHdrs | undefined}} Decision
 */

/** @type {Decision} */
export const NO_ANSWER = Object.freeze({ decided: false, result: undefined });

/**
 * What became of a request: a reply came, it came too late, nobody subscribes, there was no
 * connection, it is too large for the server, or it was not sent.
 *
 * @typedef {object} Answer
 * @property {"answered" | "late" | "nobody" | "down" | "large" | "unsent"} outcome
 * @property {Uint8Array} body
 * @property {import("@nats-io/transport-node").MsgHdrs} [headers]
 */

const EMPTY = new Uint8Array();

/**
 * @typedef {import("./config.js").Options} Options
 *
 * @typedef {object} LastHint
 * @property {string} run the run's id; "" when nobody was asked
 * @property {string | undefined} session the session's id
 * @property {string} intent
 * @property {string} source
 * @property {string} confidence
 * @property {string} skip why there was no hint; UNANSWERED where the request got no answer
 * @property {number} tookMs the round trip
 * @property {number} at Unix milliseconds
 */

/** Why a turn has no hint whose request got no usable answer. */
export const UNANSWERED = "no_answer";

export class Asker {
  /** @type {Recent<LastHint>} by session key */
  lastHints = new Recent();

  /** @type {Map<string, Breaker>} by hook */
  #breakers = new Map();
  /** @type {Set<string>} hooks whose last request had no responders */
  #unhandled = new Set();
  /** The version of the consumer that answered last, where it differs in major or minor; else "". */
  #otherVersion = "";
  /** @type {Set<string>} versions of consumers that were warned of */
  #warnedOf = new Set();

  /**
   * @param {object} given
   * @param {Options} given.options
   * @param {import("./connect.js").Link} given.link
   * @param {import("./bridge.js").Counters} given.counters
   * @param {import("./recent.js").Warnings} given.warnings
   * @param {(request: import("./wire.js").Body) => void} given.onUnanswered
   */
  constructor({ options, link, counters, warnings, onUnanswered }) {
    this.options = options;
    this.link = link;
    this.counters = counters;
    this.warnings = warnings;
    this.onUnanswered = onUnanswered;
  }

  /** @param {Options} options */
  configure(options) {
    if (JSON.stringify(this.options.breaker) !== JSON.stringify(options.breaker)) this.#breakers.clear();
    this.#unhandled.clear();
    this.options = options;
  }

  /**
   * Requests the decision of a hook. It never rejects, and returns at once when nobody can answer:
   * without a connection, without a responder, or while the hook's breaker is open.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {number} budgetMs
   * @param {object} [more]
   * @param {"all" | "ids" | ""} [more.tell] what is told of a request that got no answer
   * @param {import("./wire.js").History} [more.history] what it holds of its messages
   * @returns {Promise<Decision>}
   */
  async ask(hook, event, ctx, budgetMs, { tell = "", history = this.options.history } = {}) {
    const request = { hook, event, ctx, ts: Date.now(), id: randomUUID(), history };
    const began = performance.now();
    const answer = await this.#ask(request, budgetMs);
    if (hook === "before_prompt_build") this.#noteHint(event, ctx, answer ?? NO_ANSWER, performance.now() - began);
    if (answer) return answer;
    if (tell !== "") this.onUnanswered(tell === "all" ? request : { ...request, event: { prompt: "", messages: [] } });
    return NO_ANSWER;
  }

  /**
   * @param {import("./wire.js").Body & {history: import("./wire.js").History}} request
   * @param {number} budgetMs
   * @returns {Promise<Decision | undefined>} undefined when no answer came
   */
  async #ask(request, budgetMs) {
    const { hook, event, ctx } = request;
    const deadline = performance.now() + budgetMs;
    const breaker = this.breaker(hook);
    if (!breaker.allow()) {
      this.counters.skipped++;
      return undefined;
    }
    try {
      const { agent } = addressOf(event, ctx);
      const answer = await this.#send(
        requestSubject(this.options.subjectPrefix, hook, agent),
        (bytes) => encodeBody(request, bytes, request.history),
        deadline,
        traceparentOf(ctx),
      );
      this.#learn(hook, breaker, answer.outcome);
      if (answer.outcome !== "answered") return undefined;
      return this.#decision(hook, answer);
    } catch (error) {
      breaker.unanswered();
      this.counters.failed++;
      this.warnings.once(`${hook}: request failed: ${message(error)}`);
      return undefined;
    }
  }

  /**
   * Notes a turn that was not asked about. One that no person began leaves the chat's last hint as it is.
   *
   * @param {unknown} ctx
   * @param {string} skip why, as in the header Hint-Skip
   * @param {boolean} person whether a person began it
   */
  skipped(ctx, skip, person) {
    const chat = text(ctx, "sessionKey");
    if (chat !== undefined && (person || !this.lastHints.get(chat))) this.lastHints.set(chat, { run: "", session: undefined, intent: "", source: "", confidence: "", skip, tookMs: 0, at: Date.now() });
  }

  /** Hooks that nobody answers, and hooks that are paused. */
  status() {
    const open = [...this.#breakers].filter(([, breaker]) => breaker.open);
    return {
      unhandled: [...this.#unhandled],
      otherVersion: this.#otherVersion,
      pausing: open.map(([hook, breaker]) => ({ hook, ms: breaker.pauseLeft })),
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
   * Notes what became of a request.
   *
   * @param {string} hook
   * @param {Breaker} breaker
   * @param {Answer["outcome"]} outcome
   */
  #learn(hook, breaker, outcome) {
    switch (outcome) {
      case "answered":
        this.#unhandled.delete(hook);
        breaker.answered();
        break;
      case "late":
        this.#unhandled.delete(hook);
        if (breaker.late()) {
          const { lateAnswers, pauseMs } = this.options.breaker;
          this.warnings.log.warn(`${hook}: ${lateAnswers} answers in a row were late; no requests for ${pauseMs / 1000} s`);
        }
        break;
      case "nobody":
        this.#noResponders(hook);
        breaker.unanswered();
        break;
      default:
        breaker.unanswered();
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
    this.warnings.once(`nobody answers ${hook}: ${hook === "before_prompt_build" ? "is a consumer running?" : `no service subscribes to ${subject}`}`);
  }

  /**
   * Notes the version of the consumer that answered, and warns once of one that differs in major or
   * minor. A reply that tells none says nothing: it may be another service's.
   *
   * @param {string} version
   */
  #noteVersion(version) {
    if (version === "") return;
    this.#otherVersion = otherRelease(VERSION, version) ? version.slice(0, 40) : "";
    if (this.#otherVersion === "" || this.#warnedOf.has(this.#otherVersion) || this.#warnedOf.size >= MAX_WARNED_VERSIONS) return;
    this.#warnedOf.add(this.#otherVersion);
    this.warnings.log.warn(versionText(this.#otherVersion));
  }

  /**
   * @param {string} hook
   * @param {Answer} answer
   * @returns {Decision}
   */
  #decision(hook, answer) {
    const read = readResult(answer.body, answer.headers);
    if (read.fault !== undefined) {
      this.counters.garbage++;
      this.warnings.once(`${hook}: ${read.fault}`);
      return NO_ANSWER;
    }
    if (Object.keys(read.result).length === 0) {
      this.counters.noDecision++;
      return { decided: true, result: undefined, headers: answer.headers };
    }
    return { decided: true, result: read.result, headers: answer.headers };
  }

  /**
   * @param {unknown} event of before_prompt_build
   * @param {unknown} ctx
   * @param {Decision} decision
   * @param {number} tookMs
   */
  #noteHint(event, ctx, { decided, headers }, tookMs) {
    const chat = text(ctx, "sessionKey") ?? addressOf(event, ctx).session;
    if (chat === undefined) return;
    const run = text(ctx, "runId") ?? "";
    // A retry without an answer takes nothing away from what the run was given.
    if (!decided && run !== "" && this.lastHints.get(chat)?.run === run) return;
    const get = (/** @type {string} */ name) => headers?.get(name) ?? "";
    this.lastHints.set(chat, {
      run,
      session: text(ctx, "sessionId"),
      intent: get("Hint-Intent"),
      source: get("Hint-Source"),
      confidence: get("Hint-Confidence"),
      skip: decided ? get("Hint-Skip") : UNANSWERED,
      tookMs,
      at: Date.now(),
    });
  }

  /**
   * Sends a request as it is: nothing is left out, no breaker is asked, and nothing is told. It never
   * rejects.
   *
   * @param {string} hook
   * @param {string | undefined} agent
   * @param {string} body
   * @param {number} deadline by performance.now()
   * @returns {Promise<Answer>}
   */
  async request(hook, agent, body, deadline) {
    const answer = await this.#send(
      requestSubject(this.options.subjectPrefix, hook, agent),
      (maxBytes) => (Buffer.byteLength(body) > maxBytes ? undefined : body),
      deadline,
    );
    if (answer.outcome === "nobody") this.#noResponders(hook);
    else if (answer.outcome === "answered") this.#unhandled.delete(hook);
    return answer;
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
    const sent = this.#send(subject, () => JSON.stringify(body), performance.now() + budgetMs);
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

  /**
   * Sends a request and waits for the first reply. It never rejects.
   *
   * @param {string} subject
   * @param {(maxBytes: number) => string | undefined} encode undefined when the body does not fit
   * @param {number} deadline by performance.now()
   * @param {string} [traceparent]
   * @returns {Promise<Answer>}
   */
  async #send(subject, encode, deadline, traceparent) {
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
      return { outcome: body === undefined ? "large" : "unsent", body: EMPTY };
    }
    const header = headers();
    header.set("Hint-Timeout-Ms", String(timeout));
    header.set("Hint-Version", VERSION);
    if (traceparent) header.set("traceparent", traceparent);
    this.counters.asked++;
    try {
      const reply = await nc.request(subject, body, { timeout, headers: header });
      this.counters.answered++;
      this.#noteVersion(reply.headers?.get("Hint-Version") ?? "");
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

/** How many versions of consumers are warned of: a sender that makes them up is no reason to fill the log. */
const MAX_WARNED_VERSIONS = 10;

/** The major and minor of a version. */
const RELEASE = /^v?(\d{1,6}\.\d{1,6})(?:[.+-]|$)/;

/**
 * Reports whether two versions differ in major or minor; one that is not known differs from none.
 *
 * @param {string} one
 * @param {string} other
 */
export function otherRelease(one, other) {
  const [a, b] = [one, other].map((version) => RELEASE.exec(version)?.[1]);
  return a !== undefined && b !== undefined && a !== b;
}

/** @param {string} version of the consumer */
export function versionText(version) {
  return `the consumer is version ${version}, this plugin ${VERSION}: upgrade so that both are of one release`;
}

/**
 * Parses a reply's body.
 *
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
 * Reads the reply to a hook's request. Its body is the hook's result, passed on unchanged.
 *
 * @param {Uint8Array} body
 * @param {MsgHdrs} [headers]
 * @returns {{result: object, fault?: undefined} | {fault: string}} fault says why it is unusable
 */
export function readResult(body, headers) {
  const error = headers?.get("Nats-Service-Error") ?? "";
  if (error !== "") return { fault: `the reply is an error: ${error}` };
  const result = parse(body);
  if (result === null || typeof result !== "object" || Array.isArray(result)) return { fault: "a reply is not a JSON object" };
  return { result };
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
