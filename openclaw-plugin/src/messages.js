// Messages of a conversation: which of them are sent, and how much of each.

import { DEFAULT_LIMITS, encode } from "./encode.js";
import { field, text } from "./values.js";

/** What an assistant says at a heartbeat, which is no part of a conversation (contract §5). */
const HEARTBEAT_ANSWER = "HEARTBEAT_OK";

/**
 * The messages from the n-th turn from the end on, or all when there are fewer. A turn is a user
 * message and what follows it; those without an answer, and those that a consumer leaves out, do not
 * count. It reads no more messages than it returns, but for turns that are left out.
 *
 * @param {unknown[]} messages
 * @param {number} n
 * @param {(message: unknown) => boolean} [leaveOut] reports whether the turn of a message is left out
 * @returns {unknown[]}
 */
export function lastTurns(messages, n, leaveOut = () => false) {
  const turns = [];
  for (let start = messages.length - 1, end = messages.length, counted = 0; start >= 0 && counted < n; start--) {
    if (start > 0 && text(messages[start], "role") !== "user") continue;
    const turn = messages.slice(start, end);
    end = start;
    if (turn.some(leaveOut)) continue;
    turns.push(turn);
    if (isAnswered(turn)) counted++;
  }
  return turns.toReversed().flat();
}

/**
 * The messages without the texts of an assistant that another one in the same turn follows: of several
 * answers to a message the last one counts (contract §5).
 *
 * @param {unknown[]} messages
 * @returns {unknown[]}
 */
export function withLastAnswers(messages) {
  const out = [];
  let answered = false;
  for (const message of messages.toReversed()) {
    const role = text(message, "role");
    if (role === "user") answered = false;
    if (role === "assistant") {
      if (answered || !isAnswer(message)) continue;
      answered = true;
    }
    out.push(message);
  }
  return out.toReversed();
}

/**
 * Where user messages come from that no person wrote here: the gateway itself (heartbeats, scheduled
 * jobs) and other sessions.
 */
const ELSEWHERE = new Set(["internal_system", "inter_session"]);

/** @param {unknown} message */
export function isElsewhere(message) {
  return ELSEWHERE.has(text(field(message, "provenance"), "kind") ?? "");
}

/**
 * The messages after the last user message, and that one.
 *
 * @param {unknown[]} messages
 * @returns {unknown[]}
 */
export function lastRun(messages) {
  return messages.slice(Math.max(0, messages.findLastIndex((message) => text(message, "role") === "user")));
}

/**
 * The messages that the outcome of a run is read from (contract §8): the last assistant message after
 * the last user message, and the last of them that has a text.
 *
 * @param {unknown[]} messages
 * @returns {unknown[]}
 */
export function outcomeOf(messages) {
  const out = [];
  for (let i = messages.length - 1; i >= 0; i--) {
    const role = text(messages[i], "role");
    if (role === "user") break;
    if (role !== "assistant") continue;
    const said = hasText(messages[i]);
    if (out.length === 0 || said) out.unshift(messages[i]);
    if (said) break;
  }
  return out;
}

/**
 * The part of a message that a classifier looks at (contract §5) and a session keeps (§8): role, text,
 * where a user's message came from and when, and how a model's ended.
 *
 * @param {unknown} message
 * @returns {object | undefined} undefined for other roles than user and assistant
 */
function spoken(message) {
  const role = text(message, "role");
  if (role !== "user" && role !== "assistant") return undefined;
  const texts = textsOf(message);
  /** @type {Record<string, unknown>} */
  const out = { role, content: texts.length === 1 ? texts[0] : texts.map((part) => ({ type: "text", text: part })) };
  if (role === "user") {
    const kind = text(field(message, "provenance"), "kind");
    if (kind !== undefined) out.provenance = { kind };
    const at = field(message, "timestamp");
    if (typeof at === "number" && at > 0) out.timestamp = at;
  } else if (text(message, "stopReason") === "error") {
    out.stopReason = "error";
    out.errorMessage = text(message, "errorMessage") ?? "";
  }
  return out;
}

/**
 * The newest messages that fit, as elements of a JSON array.
 *
 * @param {unknown[]} messages
 * @param {number} bytes
 * @param {boolean} textOnly
 * @returns {{json: string, bytes: number}}
 */
export function encodeMessages(messages, bytes, textOnly) {
  const kept = [];
  let left = bytes;
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = textOnly ? spoken(messages[i]) : messages[i];
    if (message === undefined) continue;
    const encoded = encode(message, { ...DEFAULT_LIMITS, bytes: left - 1 }, { whole: true });
    if (!encoded) break;
    left -= encoded.bytes + 1; // with its comma
    kept.push(encoded.json);
  }
  return { json: kept.toReversed().join(","), bytes: bytes - left };
}

/** @param {unknown} message */
function hasText(message) {
  return textsOf(message).some((part) => part.trim() !== "");
}

/** What is no message of a person, for gateways that do not say where a message came from (contract §5). */
const NOT_ASKED = /^\s*\[(Inter-session message|Internal task completion event)\]|heartbeat poll/i;

/**
 * Reports whether a turn is a person's message and an answer to it.
 *
 * @param {unknown[]} turn
 */
function isAnswered([first, ...rest]) {
  return text(first, "role") === "user" && isAsked(first) && rest.some((message) => text(message, "role") === "assistant" && isAnswer(message));
}

/** @param {unknown} message of a user */
function isAsked(message) {
  return hasText(message) && !NOT_ASKED.test(textsOf(message).join("\n"));
}

/** @param {unknown} message */
function isAnswer(message) {
  const said = textsOf(message).join("\n").replaceAll(/<think>[^]*?(<\/think>|$)/gi, "").trim();
  return said !== "" && said !== HEARTBEAT_ANSWER;
}

/**
 * The texts of a message: its content when that is a string, else the content's text parts.
 *
 * @param {unknown} message
 * @returns {string[]}
 */
function textsOf(message) {
  const content = field(message, "content");
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  const texts = [];
  for (const part of content) {
    const said = text(part, "type") === "text" ? text(part, "text") : undefined;
    if (said !== undefined) texts.push(said);
  }
  return texts;
}
