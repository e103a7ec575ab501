// What may leave the gateway: of which chats hooks are asked and told.

import { chatsOf, checkPerson, checkSession, checkTurn, globOf, isGroup, placeOf } from "./eligibility.js";
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
   * @param {import("./eligibility.js").Place} place
   */
  #release({ key, session }) {
    return [key, session].flatMap((name) => (name === "" ? [] : (this.#held.take(name) ?? [])));
  }
}
