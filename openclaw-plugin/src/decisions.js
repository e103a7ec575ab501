// Decisions about hooks, by request.

import { randomUUID } from "node:crypto";

import { Breaker } from "./breaker.js";
import { encodeBody, traceparentOf } from "./payload.js";
import { Recent } from "./recent.js";
import { NO_ANSWER, readResult } from "./replies.js";
import { addressOf, requestSubject } from "./subjects.js";
import { message, text } from "./values.js";

/**
 * @typedef {import("./config.js").Options} Options
 * @typedef {import("./replies.js").Decision} Decision
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

export class Decisions {
  /** @type {Recent<LastHint>} by session key */
  lastHints = new Recent();

  /** @type {Map<string, Breaker>} by hook */
  #breakers = new Map();
  /** @type {Set<string>} hooks whose last request had no responders */
  #unhandled = new Set();

  /**
   * @param {object} given
   * @param {Options} given.options
   * @param {import("./requests.js").Requests} given.requests
   * @param {import("./counters.js").Counters} given.counters
   * @param {import("./warnings.js").Warnings} given.warnings
   * @param {(request: import("./payload.js").Body) => void} given.onUnanswered
   */
  constructor({ options, requests, counters, warnings, onUnanswered }) {
    this.options = options;
    this.requests = requests;
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
   * @param {import("./payload.js").History} [more.history] what it holds of its messages
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
   * @param {import("./payload.js").Body & {history: import("./payload.js").History}} request
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
      const answer = await this.requests.send(
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
   * @param {import("./requests.js").Answer["outcome"]} outcome
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
   * @param {string} hook
   * @param {import("./requests.js").Answer} answer
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
}
