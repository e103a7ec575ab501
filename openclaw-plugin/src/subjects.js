// Subject tokens and subjects (contract §2).

import { createHash } from "node:crypto";

import { text } from "./values.js";

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
