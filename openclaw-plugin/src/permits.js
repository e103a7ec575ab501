// Who may be asked about and told: the rules of contract §4 that need nothing but the options and a hook's
// context, what a person has switched off, and what is known of runs and sessions. What they exclude
// does not leave the gateway.

import { isListed } from "./hooks.js";
import { isElsewhere } from "./messages.js";
import { Recent } from "./recent.js";
import { field, text } from "./values.js";

/** Hooks that belong to no chat. */
const CHATLESS = new Set([
  "before_install",
  "channel_pairing_requested",
  "cron_changed",
  "cron_reconciled",
  "gateway_start",
  "gateway_stop",
  "skill_changed",
  "skill_proposal_changed",
]);

/** Events of one chat that wait for its first turn. */
const MAX_HELD = 20;

/**
 * @typedef {object} Held
 * @property {string} hook
 * @property {unknown} event
 * @property {unknown} ctx
 * @property {number} ts
 */

/**
 * Which chats a person has switched off, by session key.
 *
 * @typedef {object} Switched
 * @property {(chat: string) => boolean} isOff
 * @property {(chat: string, ts: number) => boolean} wasOff at a time in Unix milliseconds
 */

/** @type {Switched} */
export const ALWAYS_ON = { isOff: () => false, wasOff: () => false };

export class Permits {
  /** Runs in chats that were off, and runs that no person began. @type {Recent<boolean>} by run id */
  #private = new Recent(2000);
  /** @type {Recent<boolean>} by run id */
  #runs = new Recent(2000);
  /** @type {Recent<boolean>} by session id and by session key: what the last turn of a person gave */
  #sessions = new Recent(2000);
  /** @type {Recent<Held[]>} by session key, else session id */
  #held = new Recent(100);

  /**
   * @param {import("./config.js").Options} options
   * @param {Switched} hints
   * @param {Switched} gate the triage gate
   */
  constructor(options, hints, gate) {
    this.options = options;
    this.hints = hints;
    this.gate = gate;
  }

  /** @param {import("./config.js").Options} options */
  configure(options) {
    if (JSON.stringify(this.options.rules) !== JSON.stringify(options.rules)) {
      this.#runs = new Recent(2000);
      this.#sessions = new Recent(2000);
    }
    this.options = options;
  }

  /**
   * Checks a turn, and remembers what its events may tell.
   *
   * @param {unknown} ctx of before_prompt_build
   * @returns {{ask: boolean, tell: "all" | "ids" | "", skip: string, person: boolean, gated: boolean, held: Held[]}} whether to ask, what may be told of the turn when it gets no answer, the rule that says no, whether a person began it, whether in a group of the triage gate, and what was held for the turn and may be told now
   */
  turn(ctx) {
    const place = placeOf(undefined, ctx);
    const off = place.key !== "" && this.hints.isOff(place.key);
    const skip = off ? "off" : checkTurn(this.options.rules, ctx);
    const run = text(ctx, "runId");
    if (run !== undefined) this.#runs.set(run, skip === "");
    const person = checkPerson(ctx) === "";
    if (run !== undefined && (off || !person)) this.#private.set(run, true);
    if (person) for (const name of [place.key, place.session]) if (name !== "") this.#sessions.set(name, skip === "");
    const gated = this.options.triage.enabled && isGroup(place.key);
    const others = person && !off && (this.options.knowhub.enabled || gated);
    const held = person ? this.#release(place) : [];
    // The gate tells the next turn what an answer held that was lost.
    const lost = others && gated ? "ids" : "";
    return { ask: skip === "" || others, tell: skip === "" ? "all" : lost, skip, person, gated, held: skip === "" ? held : [] };
  }

  /**
   * Reports whether a group's message may be put before the triage gate.
   *
   * @param {unknown} event of before_dispatch
   * @param {unknown} ctx
   */
  dispatch(event, ctx) {
    const { key } = placeOf(event, ctx);
    const group = field(event, "isGroup");
    if (!this.options.triage.enabled || !(typeof group === "boolean" ? group : isGroup(key))) return false;
    return this.#gated(key);
  }

  /**
   * @param {string} key a group's session key
   */
  #gated(key) {
    if (this.hints.isOff(key) || this.gate.isOff(key)) return false;
    const { groups, excludeGroups } = this.options.triage;
    const listed = (/** @type {string[]} */ patterns) => chatsOf(key).some((chat) => patterns.some((pattern) => globOf(pattern).test(chat)));
    return !listed(excludeGroups) && (groups.length === 0 || listed(groups));
  }

  /**
   * Reports whether an event may be told.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @returns {boolean | undefined} undefined when that is known at the chat's next turn
   */
  event(hook, event, ctx) {
    if (CHATLESS.has(hook)) return true;
    const place = placeOf(event, ctx);
    if (place.key === "" && place.session === "") return false;
    if (place.key !== "" && this.hints.isOff(place.key)) return false;
    if (hook === "message_sent" && this.#remembered(place.key)) return true;
    if (hook === "message_sent" && !isListed(this.options, hook)) return false;
    const run = text(event, "runId") ?? text(ctx, "runId");
    const known = run === undefined ? undefined : this.#runs.get(run);
    if (known !== undefined) return known;
    if (text(ctx, "trigger") !== undefined) return checkTurn(this.options.rules, ctx) === "";
    return this.#sessions.get(place.key) ?? this.#sessions.get(place.session) ?? checkSession(this.options.rules, place);
  }

  /**
   * What of an event's messages does not leave the gateway: turns from while the chat was off, and those
   * of the gateway itself and of other sessions. agent_end tells of its own run alone.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @returns {((message: unknown) => boolean) | undefined} whether the turn of a message is left out; undefined where none is
   */
  leaveOut(hook, event, ctx) {
    if (hook === "agent_end") return undefined;
    const { key } = placeOf(event, ctx);
    return (message) => {
      if (isElsewhere(message) || this.#private.get(text(field(message, "__openclaw"), "runId") ?? "")) return true;
      const ts = field(message, "timestamp");
      return typeof ts === "number" && this.hints.wasOff(key, ts);
    };
  }

  /**
   * Reports whether the triage gate keeps what was said in a group, of which the agent's own messages
   * are a part.
   *
   * @param {string} key a session key
   */
  #remembered(key) {
    const { enabled, history } = this.options.triage;
    return enabled && history && isGroup(key) && this.#gated(key);
  }

  /**
   * Holds an event until the chat's next turn.
   *
   * @param {Held} held
   */
  hold(held) {
    const { key, session } = placeOf(held.event, held.ctx);
    const list = this.#held.get(key || session) ?? [];
    list.push(held);
    this.#held.set(key || session, list.slice(-MAX_HELD));
  }

  /**
   * Takes the events that were held for a chat.
   *
   * @param {import("./permits.js").Place} place
   */
  #release({ key, session }) {
    return [key, session].flatMap((name) => (name === "" ? [] : (this.#held.take(name) ?? [])));
  }
}

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
