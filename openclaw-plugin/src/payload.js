// Message bodies: the two arguments of a hook as one JSON object that a server takes (contract §3).

import { DEFAULT_LIMITS, sanitize } from "./sanitize.js";
import { record, text } from "./values.js";

/**
 * How much of a conversation goes into a body.
 *
 * @typedef {object} History
 * @property {number} turns the last so many user messages and what follows them
 * @property {number} bytes of messages at most
 * @property {boolean} textOnly users' and assistants' texts, without tools, thinking and images
 */

/**
 * @typedef {object} Body
 * @property {string} hook
 * @property {unknown} event
 * @property {unknown} ctx
 * @property {number} ts Unix milliseconds
 * @property {string} id
 */

/** The fields of events that hold messages, oldest first. */
const MESSAGE_FIELDS = ["messages", "historyMessages"];

/** What a context holds of the gateway's whole configuration, secrets among it. */
const PRIVATE = new Set(["config", "cfg"]);

/**
 * Writes a body of at most maxBytes bytes. Of messages the oldest are left out first, then long
 * strings are cut; the texts of a prompt that is asked about come last.
 *
 * @param {Body} body
 * @param {number} maxBytes
 * @param {History} history
 * @returns {string | undefined} undefined when it cannot be made to fit
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
    let out = head.slice(0, -2); // without the braces of event and body
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
 * The messages that a hook's event is about. agent_end has the whole session, of which the run is
 * what follows the last user message (contract §8).
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
 * The messages from the n-th last user message on, or all.
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
 * The last messages that fit, as elements of a JSON array.
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
 * A user's or assistant's message with its texts alone, which is what a classifier reads
 * (contract §5).
 *
 * @param {unknown} message
 * @param {import("./sanitize.js").Limits} limits
 * @returns {unknown} undefined for other messages
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
 * The W3C trace context of a hook's context, as a traceparent header.
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
