// Which turns and chats get hints: the rules of contract §4 that need nothing but the options and a
// hook's context. What they exclude does not leave the gateway.

import { field, text } from "./values.js";

/**
 * The operator's rules. Comparisons ignore case.
 *
 * @typedef {object} Rules
 * @property {string[]} agents globs
 * @property {string[]} allowedChatTypes of direct, group, channel, explicit, unknown
 * @property {string[]} allowedChatIds empty allows all
 * @property {string[]} deniedChatIds wins over allowedChatIds
 * @property {string} mainKey the gateway's main session key
 */

/**
 * What the rules look at. Absent fields are "".
 *
 * @typedef {object} Place
 * @property {string} key the session key
 * @property {string} session the session id
 * @property {string} agent
 * @property {string} provider
 * @property {string} channel the channel id
 * @property {string} type the type of the chat, where the gateway tells it
 */

/**
 * Where a hook fired. Hooks differ in their fields: tool and session hooks name no provider.
 *
 * @param {unknown} event
 * @param {unknown} ctx
 * @returns {Place}
 */
export function placeOf(event, ctx) {
  const key = text(ctx, "sessionKey") ?? text(event, "sessionKey") ?? text(ctx, "requesterSessionKey") ?? "";
  return {
    key,
    session: text(ctx, "sessionId") ?? text(event, "sessionId") ?? "",
    agent: text(ctx, "agentId") ?? text(event, "agentId") ?? (/^agent:([^:]+):/.exec(key)?.[1] || "main"),
    provider: text(ctx, "messageProvider") ?? text(ctx, "channel") ?? "",
    channel: text(ctx, "channelId") ?? "",
    type: (text(ctx, "chatType") ?? "").toLowerCase(),
  };
}

/**
 * Checks a turn.
 *
 * @param {Rules} rules
 * @param {unknown} ctx of before_prompt_build
 * @returns {string} the first rule that the turn fails, as in the header Hint-Skip; "" for none
 */
export function checkTurn(rules, ctx) {
  const place = placeOf(undefined, ctx);
  return checkInput(ctx) || checkAgent(rules, place) || checkInteractive(ctx) || checkChat(rules, place);
}

/**
 * Checks the rules that look at neither agent nor chat: the turn is a person's own.
 *
 * @param {unknown} ctx of before_prompt_build
 */
export function checkPerson(ctx) {
  return checkInput(ctx) || checkInteractive(ctx);
}

/**
 * Checks a chat by what every hook names, its session.
 *
 * @param {Rules} rules
 * @param {Place} place
 * @returns {boolean | undefined} whether its events may be told; undefined when that takes a turn to know
 */
export function checkSession(rules, place) {
  if (isInternal(place) || checkAgent(rules, place)) return false;
  if (place.provider !== "") return checkChat(rules, place) === "";
  const type = typeOf(rules, place);
  // Without a provider an unknown type may be direct as well.
  const types = type === "unknown" ? ["unknown", "direct"] : [type];
  const allowed = types.filter((name) => holds(rules.allowedChatTypes, name));
  if (allowed.length === 0) return false;
  const anyId = rules.allowedChatIds.length === 0 && rules.deniedChatIds.length === 0;
  return allowed.length === types.length && anyId ? true : undefined;
}

/**
 * Reports whether a session is a group's or a channel's.
 *
 * @param {string} key
 */
export function isGroup(key) {
  return /:(group|channel):/i.test(key);
}

/** @param {unknown} ctx */
function checkInput(ctx) {
  const trigger = field(ctx, "trigger");
  if (trigger !== undefined && trigger !== null && trigger !== "user") return "not_user_trigger";
  if (isInternal(placeOf(undefined, ctx))) return "internal_session";
  return text(field(ctx, "inputProvenance"), "kind") === "inter_session" ? "internal_input" : "";
}

/** @param {unknown} ctx */
function checkInteractive(ctx) {
  const { key, provider, channel } = placeOf(undefined, ctx);
  const somewhere = key !== "" || isWebchat(provider) || channel !== "";
  return somewhere && text(ctx, "trigger") === "user" ? "" : "not_interactive";
}

/**
 * @param {Rules} rules
 * @param {Place} place
 */
function checkAgent({ agents }, { agent }) {
  return agents.some((pattern) => globOf(pattern).test(agent)) ? "" : "agent_disabled";
}

/**
 * @param {Rules} rules
 * @param {Place} place
 */
function checkChat(rules, place) {
  if (!holds(rules.allowedChatTypes, typeOf(rules, place))) return "chat_type";
  const id = [place.provider, /^[^:]*:[^:]*:(.*:.*)$/s.exec(place.key)?.[1] ?? ""].filter((part) => part !== "").join(":");
  const listed = (/** @type {string[]} */ list) => chatsOf(id).some((chat) => holds(list, chat));
  if (listed(rules.deniedChatIds)) return "chat_id";
  return rules.allowedChatIds.length === 0 || listed(rules.allowedChatIds) ? "" : "chat_id";
}

/**
 * The address of a chat, a session key or a chat id, and those of the chats that it stands under as
 * their topic or thread (contract §4.7).
 *
 * @param {string} address
 */
export function chatsOf(address) {
  const chats = [address];
  for (;;) {
    const above = /^(.*):(?:topic|thread):/is.exec(chats.at(-1) ?? "")?.[1];
    if (above === undefined) return chats;
    chats.push(above);
  }
}

/**
 * The type of a chat: the gateway's word, else from its session key and, for an agent's main session, its provider.
 *
 * @param {Rules} rules
 * @param {Place} place
 */
function typeOf({ mainKey }, { key, provider, channel, type }) {
  if (["direct", "group", "channel", "explicit"].includes(type)) return type;
  const lower = key.toLowerCase();
  const rest = /^agent:[^:]*:(.*)$/s.exec(lower)?.[1];
  if (rest?.startsWith("explicit")) return "explicit";
  if (lower.includes(":group:")) return "group";
  if (lower.includes(":channel:")) return "channel";
  if (lower.includes(":direct:") || lower.includes(":dm:")) return "direct";
  const main = rest !== undefined && (rest === "main" || rest === mainKey.toLowerCase());
  if (isWebchat(provider) || (main && channel !== "" && provider !== "")) return "direct";
  return "unknown";
}

/** @param {Place} place */
function isInternal({ key, session }) {
  return /:(active-memory|intention-hint|subagent):/i.test(key) || /^(active-memory|intention-hint)-/.test(session);
}

/** @param {string} provider */
function isWebchat(provider) {
  return provider.toLowerCase() === "webchat";
}

/**
 * @param {string[]} list
 * @param {string} value
 */
function holds(list, value) {
  return list.some((item) => item.toLowerCase() === value.toLowerCase());
}

/**
 * @param {string} pattern with * for anything and ? for one character
 */
export function globOf(pattern) {
  const parts = [...pattern].map((c) => (c === "*" ? ".*" : c === "?" ? "." : c.replace(/[.+^${}()|[\]\\/]/, String.raw`\$&`)));
  return new RegExp(`^${parts.join("")}$`, "isu");
}
