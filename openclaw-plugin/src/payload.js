// Message bodies: the two arguments of a hook as one JSON object (contract §3).

import { encodeMessages, lastRun, lastTurns, outcomeOf } from "./messages.js";
import { DEFAULT_LIMITS, sanitize } from "./sanitize.js";
import { record } from "./values.js";

/**
 * Limits of the conversation in a body.
 *
 * @typedef {object} History
 * @property {number} turns answered user messages, counted from the end, each with what follows it
 * @property {number} bytes all messages together
 * @property {boolean} textOnly only text of users and assistants: no tools, thinking or images
 * @property {boolean} [runs] agent_end holds the run's messages, not only its outcome
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
export const MESSAGE_FIELDS = ["messages", "historyMessages"];

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
      const messages = `[${encodeMessages(messagesOf(hook, body.event, field, history), Math.min(space, history.bytes), history.textOnly || hook === "agent_end", limits)}]`;
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
 * The messages of an event that are sent. agent_end holds the whole session; what a run came to is in
 * its last messages.
 *
 * @param {string} hook
 * @param {unknown} event
 * @param {string} field
 * @param {History} history
 * @returns {unknown[]}
 */
function messagesOf(hook, event, field, history) {
  const messages = /** @type {any} */ (event)[field];
  if (hook === "agent_end") return history.runs ? lastRun(messages) : outcomeOf(messages);
  return lastTurns(messages, history.turns);
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
