// Message bodies: the two arguments of a hook as one JSON object (contract §3).

import { CALL_BOUNDS } from "./told.js";
import { DEFAULT_LIMITS, encode } from "./encode.js";
import { encodeMessages, lastRun, lastTurns, outcomeOf, withLastAnswers } from "./messages.js";
import { record } from "./values.js";

/**
 * Limits of the conversation in a body.
 *
 * @typedef {object} History
 * @property {number} turns answered user messages, counted from the end, each with what follows it
 * @property {number} bytes all messages together
 * @property {boolean} textOnly only text of users and assistants: no tools, thinking or images
 * @property {boolean} [answers] of the texts of an assistant in a turn only the last, where only text is sent
 * @property {(message: unknown) => boolean} [leaveOut] reports whether the turn of a message does not leave the gateway
 * @property {boolean} [runs] agent_end holds the run's messages, not only its outcome
 */

/**
 * @typedef {object} Body
 * @property {string} hook
 * @property {unknown} event
 * @property {unknown} ctx
 * @property {number} ts Unix milliseconds
 * @property {string} id
 * @property {History} [history] what a request holds of its messages
 */

/** Fields of events that hold messages, oldest first. */
const MESSAGE_FIELDS = ["messages", "historyMessages"];

/** Fields of a context that hold the gateway's configuration, with secrets. */
const PRIVATE = new Set(["config", "cfg"]);

/**
 * Encodes a body of at most maxBytes bytes. The oldest messages are left out first, and long strings
 * are cut where they do not fit.
 *
 * @param {Body} body
 * @param {number} maxBytes
 * @param {History} history
 * @returns {string | undefined} undefined when there is no room for an event at all
 */
export function encodeBody(body, maxBytes, history) {
  const { hook, ts, id } = body;
  const head = `${JSON.stringify({ hook, ts, id }).slice(0, -1)},"ctx":`;
  let room = maxBytes - Buffer.byteLength(head) - `,"event":}`.length;
  if (room < 2 * EMPTY.bytes) return undefined;
  const ctx = encodeObject(body.ctx, Math.floor(room / 2), { drop: (key, depth) => depth === 0 && PRIVATE.has(key) });
  room -= ctx.bytes;
  const event = encodeObject(body.event, room, { drop: (key, depth) => depth === 0 && isMessages(body.event, key), ...BOUNDS[hook] });
  room -= event.bytes;
  let out = event.json.slice(0, -1);
  for (const field of MESSAGE_FIELDS) {
    if (!isMessages(body.event, field)) continue;
    const name = `${out === "{" ? "" : ","}${JSON.stringify(field)}:`;
    const space = room - name.length - EMPTY.bytes;
    if (space < 0) continue;
    const messages = encodeMessages(messagesOf(hook, body.event, field, history), Math.min(space, history.bytes), history.textOnly || hook === "agent_end");
    out += `${name}[${messages.json}]`;
    room = space - messages.bytes;
  }
  return `${head}${ctx.json},"event":${out}}}`;
}

const EMPTY = { json: "{}", bytes: 2 };

/** Bytes for fields of an event. */
const BOUNDS = /** @type {Record<string, import("./encode.js").Rules>} */ ({ after_tool_call: { bounds: CALL_BOUNDS } });

/**
 * @param {unknown} value
 * @param {number} bytes
 * @param {import("./encode.js").Rules} rules
 */
function encodeObject(value, bytes, rules) {
  if (record(value) !== value) return EMPTY;
  const encoded = encode(value, { ...DEFAULT_LIMITS, bytes }, rules);
  return encoded?.json.startsWith("{") ? encoded : EMPTY;
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
  const turns = lastTurns(messages, history.turns, history.leaveOut);
  return history.answers && history.textOnly ? withLastAnswers(turns) : turns;
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
