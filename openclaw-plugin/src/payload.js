// Message bodies: the two arguments of a hook as one JSON object (contract §3).

import { DEFAULT_LIMITS, sanitize } from "./sanitize.js";
import { record, text } from "./values.js";

/**
 * Limits of the conversation in a body.
 *
 * @typedef {object} History
 * @property {number} turns user messages, counted from the end, each with what follows it
 * @property {number} bytes all messages together
 * @property {boolean} textOnly only text of users and assistants: no tools, thinking or images
 */

/**
 * @typedef {object} Body
 * @property {string} hook
 * @property {unknown} event
 * @property {unknown} ctx
 * @property {number} ts Unix milliseconds
 * @property {string} id
 */

/** Fields of events that hold messages, oldest first. */
const MESSAGE_FIELDS = ["messages", "historyMessages"];

/** Fields of a context that hold the gateway's configuration, with secrets. */
const PRIVATE = new Set(["config", "cfg"]);

/**
 * Encodes a body of at most maxBytes bytes. The oldest messages are left out first, then long
 * strings are cut.
 *
 * @param {Body} body
 * @param {number} maxBytes
 * @param {History} history
 * @returns {string | undefined} undefined when it does not fit
 */
export function encodeBody(body, maxBytes, history) {
  const { hook, ts, id } = body;
  for (const chars of [DEFAULT_LIMITS.chars, 32_768, 4096, 512]) {
    const limits = { ...DEFAULT_LIMITS, chars };
    const event = sanitize(body.event, limits, (key, depth) => depth === 0 && isMessages(body.event, key));
    const ctx = sanitize(body.ctx, limits, (key, depth) => depth === 0 && PRIVATE.has(key));
    const head = JSON.stringify({ hook, ts, id, ctx: record(ctx), event: record(event) });
    let room = maxBytes - Buffer.byteLength(head);
    if (room < 0) continue;
    let out = head.slice(0, -2); // without the closing braces of event and body
    let first = Object.keys(record(event)).length === 0;
    for (const field of MESSAGE_FIELDS) {
      if (!isMessages(body.event, field)) continue;
      const name = `${first ? "" : ","}${JSON.stringify(field)}:`;
      const space = room - name.length - 2;
      if (space < 0) continue;
      const messages = `[${encodeMessages(messagesOf(hook, body.event, field), Math.min(space, history.bytes), history, limits)}]`;
      out += name + messages;
      room -= name.length + Buffer.byteLength(messages);
      first = false;
    }
    return `${out}}}`;
  }
  return undefined;
}

/**
 * @param {unknown} event
 * @param {string} key
 */
function isMessages(event, key) {
  try {
    return MESSAGE_FIELDS.includes(key) && Array.isArray(/** @type {any} */ (event)[key]);
  } catch {
    return false;
  }
}

/**
 * The messages of an event that are sent. agent_end holds the whole session; the run is what follows
 * the last user message (contract §8).
 *
 * @param {string} hook
 * @param {unknown} event
 * @param {string} field
 * @returns {unknown[]}
 */
function messagesOf(hook, event, field) {
  const messages = /** @type {any} */ (event)[field];
  return hook === "agent_end" ? lastTurns(messages, 1) : messages;
}

/**
 * The messages from the n-th user message from the end on, or all when there are fewer.
 *
 * @param {unknown[]} messages
 * @param {number} n
 * @returns {unknown[]}
 */
export function lastTurns(messages, n) {
  if (n <= 0) return [];
  let seen = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    if (text(messages[i], "role") === "user" && ++seen === n) return messages.slice(i);
  }
  return messages;
}

/**
 * The newest messages that fit, as elements of a JSON array.
 *
 * @param {unknown[]} messages
 * @param {number} bytes
 * @param {History} history
 * @param {import("./sanitize.js").Limits} limits
 */
function encodeMessages(messages, bytes, history, limits) {
  const kept = [];
  const turns = lastTurns(messages, history.turns);
  for (let i = turns.length - 1; i >= 0; i--) {
    const message = history.textOnly ? textOf(turns[i], limits) : sanitize(turns[i], limits);
    if (message === undefined) continue;
    const json = JSON.stringify(message);
    bytes -= Buffer.byteLength(json) + 1;
    if (bytes < 0) break;
    kept.push(json);
  }
  return kept.toReversed().join(",");
}

/**
 * The text of a user's or an assistant's message, which is all that a classifier reads (contract
 * §5).
 *
 * @param {unknown} message
 * @param {import("./sanitize.js").Limits} limits
 * @returns {unknown} undefined for other roles
 */
function textOf(message, limits) {
  const role = text(message, "role");
  if (role !== "user" && role !== "assistant") return undefined;
  try {
    const { content, timestamp } = /** @type {Record<string, unknown>} */ (message);
    const parts = Array.isArray(content) ? content.filter((part) => part?.type === "text") : content;
    return sanitize({ role, content: parts, timestamp }, limits);
  } catch {
    return undefined; // a getter that throws
  }
}

/**
 * The trace of a hook's context as a traceparent header (W3C Trace Context).
 *
 * @param {unknown} ctx
 * @returns {string | undefined}
 */
export function traceparentOf(ctx) {
  try {
    const { traceId, spanId, traceFlags } = /** @type {any} */ (ctx).trace;
    const header = `00-${traceId}-${spanId}-${traceFlags ?? "00"}`;
    return /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(header) ? header : undefined;
  } catch {
    return undefined;
  }
}
