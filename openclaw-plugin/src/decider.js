// The gateway's decision model intenthint/auto: typed questions of plugins, answered over NATS
// (contract §15).

import { randomUUID } from "node:crypto";

import { readResult } from "./ask.js";
import { attempt, field, record, text } from "./values.js";

/**
 * @typedef {import("./api.js").DecisionBatch} Batch
 * @typedef {import("./api.js").DecisionQuestion} Question
 * @typedef {import("./api.js").DecisionContext} Context
 * @typedef {import("./api.js").DecisionOutcome} Outcome
 * @typedef {import("./bridge.js").Bridge} Bridge
 */

/** The provider's id, as in contracts.decisionProviders of the manifest. */
const PROVIDER = "intenthint";

/** The hook of the requests. */
const HOOK = "decide";

/** How much earlier than the gateway's deadline an outcome is returned, in ms. */
const MARGIN_MS = 20;

/**
 * "I do not know": the only reason that the gateway passes on as often as it comes. Three of
 * transport, rate-limited and invalid-response without a success between stop all questions for 10 s.
 */
const ABSTAINS = unavailable("unsupported-input");

/** Nobody answers, or the connection fails. */
const FAILED = unavailable("transport");

/** The answer cannot be used. */
const UNUSABLE = unavailable("invalid-response");

/**
 * Outcomes of replies without an answer, by Decide-Skip; it abstains at all others. An answer that
 * the teacher did not give in time is one of these: other questions need no teacher.
 *
 * @type {Map<string, Outcome>}
 */
const SKIPS = new Map([["overloaded", unavailable("rate-limited")]]);

/**
 * The provider. The gateway may keep one of another instance of this module than that of the hooks
 * that run, so it is given the bridge at each call.
 *
 * @param {() => Bridge} bridge
 * @returns {import("./api.js").DecisionProvider}
 */
export function decisionProvider(bridge) {
  return {
    id: PROVIDER,
    contractVersion: 1,
    // While the bus is known to be down nothing is asked, and so nothing counts as a failure.
    isReady: () => attempt(() => bridge().status().state !== "down") ?? false,
    evaluate: (batch, context) => evaluate(bridge, batch, context).catch(() => FAILED),
  };
}

/**
 * Settles before the deadline, and at once when the gateway or the caller aborts: the gateway waits
 * for the provider, whatever its own deadline. A reply after that is dropped.
 *
 * @param {() => Bridge} bridge
 * @param {Batch} batch
 * @param {Context} context
 * @returns {Promise<Outcome>}
 */
async function evaluate(bridge, batch, { model, agentId, signal, deadlineMonotonicMs }) {
  if (signal.aborted) return FAILED;
  const deadline = deadlineMonotonicMs - MARGIN_MS;
  if (deadline - performance.now() < 1) return ABSTAINS;
  return new Promise((resolve, reject) => {
    const abort = () => resolve(FAILED);
    signal.addEventListener("abort", abort);
    void ask(bridge(), batch, model, agentId, deadline)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * @param {Bridge} bridge
 * @param {Batch} batch
 * @param {string} model
 * @param {string | undefined} agentId
 * @param {number} deadline by performance.now()
 * @returns {Promise<Outcome>}
 */
async function ask(bridge, batch, model, agentId, deadline) {
  const body = JSON.stringify({ hook: HOOK, ts: Date.now(), id: randomUUID(), ctx: { agentId }, event: { ...requestOf(batch), model } });
  const answer = await bridge.request(HOOK, agentId, body, deadline);
  switch (answer.outcome) {
    case "answered":
      return outcomeOf(batch, answer);
    case "large":
      return ABSTAINS;
    default:
      return FAILED;
  }
}

/**
 * A batch in the form of the wire, where a boolean is a noul.
 *
 * @param {Batch} batch
 */
function requestOf({ state, questions }) {
  const asked = Object.entries(questions).map(([key, question]) => [key, question.type === "boolean" ? { ...question, type: "noul" } : question]);
  return { state, questions: Object.fromEntries(asked) };
}

/**
 * @param {Batch} batch
 * @param {import("./ask.js").Answer} answer
 * @returns {Outcome}
 */
function outcomeOf(batch, { body, headers }) {
  const read = readResult(body, headers);
  if (read.fault !== undefined) return UNUSABLE;
  if (Object.keys(read.result).length === 0) return SKIPS.get(headers?.get("Decide-Skip") ?? "") ?? ABSTAINS;
  const given = record(field(read.result, "answers"));
  const answers = Object.entries(batch.questions).map(([key, question]) => /** @type {const} */ ([key, answerTo(question, given[key])]));
  const model = text(read.result, "model");
  if (model === undefined || answers.some(([, answer]) => answer === undefined)) return UNUSABLE;
  const usage = field(read.result, "usage");
  const tokens = { inputTokens: number(usage, "input_tokens") ?? 0, outputTokens: number(usage, "output_tokens") ?? 0 };
  return { status: "ok", result: { model, answers: Object.fromEntries(answers), usage: tokens } };
}

/**
 * An answer of the wire in the gateway's form. The gateway checks labels and ranges.
 *
 * @param {Question} question
 * @param {unknown} given
 * @returns {object | undefined} undefined when it is none to this question
 */
function answerTo(question, given) {
  const type = question.type;
  if (text(given, "type") !== (type === "boolean" ? "noul" : type)) return undefined;
  if (type === "boolean") return { type, probabilityTrue: field(given, "noul") };
  const probabilities = record(field(given, "probabilities"));
  const confidence = number(given, "confidence");
  const sure = confidence === undefined ? {} : { confidence };
  if (type === "choice") return { type, choice: field(given, "choice"), probabilities, ...sure };
  // Levels are keys there, and positions here.
  return { type, score: field(given, "score"), probabilities: question.criteria.map((_, level) => probabilities[level]), ...sure };
}

/**
 * @param {unknown} object
 * @param {string} name
 * @returns {number | undefined}
 */
function number(object, name) {
  const value = field(object, name);
  return typeof value === "number" ? value : undefined;
}

/**
 * @param {import("./api.js").DecisionFailure} reason
 * @returns {Outcome}
 */
function unavailable(reason) {
  return Object.freeze({ status: "unavailable", reason });
}
