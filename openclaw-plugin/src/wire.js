// What goes over NATS: subjects (contract §2), and bodies, the two arguments of a hook as one JSON object (contract §3).

import { createHash } from "node:crypto";

import { DEFAULT_LIMITS, encode } from "./encode.js";
import { encodeMessages, lastRun, lastTurns, outcomeOf, withLastAnswers } from "./messages.js";
import { record, text } from "./values.js";

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

/** Bytes for the values of a tool call. */
const CALL_BOUNDS = { params: 4096, error: 4096 };

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

/** The longest token in a subject, in bytes; a longer one is shortened like a session file's name. */
const MAX_TOKEN = 1000;

/**
 * Encodes a value as one subject token: a byte outside [A-Za-z0-9_-] becomes "=" and two upper-case
 * hex digits, an absent value "_", and "_" itself "=5F".
 *
 * @param {string | Uint8Array | null | undefined} value text or any bytes
 * @returns {string}
 */
export function encodeToken(value) {
  const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : (value ?? new Uint8Array());
  if (bytes.length === 0) return "_";
  if (bytes.length === 1 && bytes[0] === 0x5f) return "=5F";
  let token = "";
  for (const byte of bytes) {
    token += isPlain(byte) ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return token;
}

/** @param {number} byte */
function isPlain(byte) {
  return (
    (byte >= 0x30 && byte <= 0x39) || // 0-9
    (byte >= 0x41 && byte <= 0x5a) || // A-Z
    (byte >= 0x61 && byte <= 0x7a) || // a-z
    byte === 0x5f ||
    byte === 0x2d
  );
}

/**
 * The token of a value, shortened when it is too long for a server.
 *
 * @param {string | undefined} value
 */
function part(value) {
  const token = encodeToken(value);
  if (token.length <= MAX_TOKEN) return token;
  return token.slice(0, 180) + createHash("sha256").update(token).digest("hex").slice(0, 16);
}

/**
 * The subject of a request for a decision.
 *
 * @param {string} prefix
 * @param {string} hook
 * @param {string | undefined} agent
 */
export function requestSubject(prefix, hook, agent) {
  return `${prefix}.request.${part(hook)}.${part(agent)}`;
}

/**
 * The subject of an event.
 *
 * @param {string} prefix
 * @param {string} hook
 * @param {string | undefined} agent
 * @param {string | undefined} session the session id, else the session key
 */
export function eventSubject(prefix, hook, agent, session) {
  return `${prefix}.event.${part(hook)}.${part(agent)}.${part(session)}`;
}

/**
 * The subject of a KnowHub verb (contract §12).
 *
 * @param {string} prefix
 * @param {"search" | "submit" | "content"} verb
 */
export function knowhubSubject(prefix, verb) {
  return `${prefix}.knowhub.${verb}`;
}

/**
 * The agent and the session that a hook's arguments name. Hooks differ in their fields: the context
 * comes before the event, and the agent may be part of the session key only.
 *
 * @param {unknown} event
 * @param {unknown} ctx
 * @returns {{agent: string | undefined, session: string | undefined}}
 */
export function addressOf(event, ctx) {
  const key = text(ctx, "sessionKey") ?? text(event, "sessionKey");
  const agent = text(ctx, "agentId") ?? text(event, "agentId") ?? /^agent:([^:]+):/.exec(key ?? "")?.[1];
  return { agent, session: text(ctx, "sessionId") ?? text(event, "sessionId") ?? key };
}
