// The triage gate's side of a gateway: what it decided lately, and which messages of a group the
// gateway itself puts before the model.

import { Recent } from "./recent.js";
import { field, text } from "./values.js";

/** Decisions that are remembered of a group. */
const MAX_DECISIONS = 20;

/** Groups that are remembered. */
const MAX_GROUPS = 500;

/** Characters that are kept of a message, for people to recognize it. */
const MAX_TEXT = 60;

/** The most messages of a gateway's own window that are noted; a window holds 50 unless it is configured. */
const MAX_WINDOW = 200;

/** How many messages of a plain list a gateway puts before the model: the newest. */
const MAX_PLAIN = 20;

/**
 * A decision about a message of a group.
 *
 * @typedef {object} Verdict
 * @property {string} messageId
 * @property {string} sender
 * @property {string} text the message's beginning
 * @property {"respond" | "skip"} decision
 * @property {string} reason as in the header Triage-Reason; "unanswered" when nobody decided
 * @property {string} score
 * @property {string} model
 * @property {number} tookMs the round trip
 * @property {number} at Unix milliseconds
 */

export class Gate {
  /** @type {Recent<Verdict[]>} by session key, newest last */
  #verdicts = new Recent(MAX_GROUPS);
  /** @type {Recent<string[]>} message ids by session key */
  #histories = new Recent(MAX_GROUPS);
  /** @type {Recent<readonly string[]>} message ids by run id */
  #runs = new Recent(MAX_GROUPS);
  /** @type {Recent<string>} by session key and sender: the message that a command replies to */
  #replies = new Recent(MAX_GROUPS);

  /**
   * Notes what was decided about a message.
   *
   * @param {unknown} event of before_dispatch
   * @param {unknown} ctx
   * @param {import("./replies.js").Decision} decision
   * @param {number} tookMs
   */
  decided(event, ctx, { decided, result, headers }, tookMs) {
    const group = text(ctx, "sessionKey") ?? text(event, "sessionKey");
    if (group === undefined) return;
    const header = (/** @type {string} */ name) => headers?.get(name) ?? "";
    /** @type {Verdict} */
    const verdict = {
      messageId: text(event, "messageId") ?? text(ctx, "messageId") ?? "",
      sender: text(event, "senderId") ?? text(ctx, "senderId") ?? "",
      text: shorten(text(event, "content") ?? text(event, "body") ?? ""),
      decision: field(result, "handled") === true ? "skip" : "respond",
      reason: decided ? header("Triage-Reason") : "unanswered",
      score: header("Triage-Score"),
      model: header("Triage-Model"),
      tookMs,
      at: Date.now(),
    };
    const others = (this.#verdicts.get(group) ?? []).filter(({ messageId }) => messageId === "" || messageId !== verdict.messageId);
    this.#verdicts.set(group, [...others, verdict].slice(-MAX_DECISIONS));
  }

  /**
   * The decisions about a group's last messages, oldest first.
   *
   * @param {string} group a session key
   * @returns {readonly Verdict[]}
   */
  verdicts(group) {
    return this.#verdicts.get(group) ?? [];
  }

  /**
   * Notes the messages of a group that the gateway puts before the model in the next turn. A channel
   * may keep a window of its own of what was said since the agent's last answer. It is not part of
   * the transcript, so the hooks of the turn do not see it.
   *
   * @param {unknown} event of reply_dispatch
   * @param {unknown} ctx
   */
  dispatched(event, ctx) {
    const message = field(event, "ctx");
    const group = text(event, "sessionKey") ?? text(ctx, "sessionKey") ?? text(message, "SessionKey");
    if (group === undefined) return;
    const ids = [];
    const windows = list(field(message, "ChannelStructuredContext")).filter((part) => text(part, "type") === "chat_window");
    for (const window of windows) {
      for (const said of list(field(field(window, "payload"), "messages"))) ids.push(text(said, "message_id"));
    }
    // With a window the gateway leaves out the plain list of the same messages.
    const plain = windows.length > 0 ? [] : list(field(message, "InboundHistory")).slice(-MAX_PLAIN);
    for (const said of plain) ids.push(text(said, "messageId"));
    this.#histories.set(group, ids.filter((id) => id !== undefined).slice(-MAX_WINDOW));
  }

  /**
   * The ids of the messages that {@link dispatched} noted for a turn: the last ones when it is asked
   * about first, and the same ones at each retry.
   *
   * @param {string} group a session key
   * @param {string | undefined} run
   * @returns {readonly string[]}
   */
  history(group, run) {
    const ids = (run === undefined ? undefined : this.#runs.get(run)) ?? this.#histories.get(group) ?? [];
    if (run !== undefined) this.#runs.set(run, ids);
    return ids;
  }

  /**
   * Notes the message that a command replies to, which the command's handler is not told.
   *
   * @param {unknown} event of before_dispatch, which comes before the handler
   * @param {unknown} ctx
   */
  commanded(event, ctx) {
    const group = text(ctx, "sessionKey") ?? text(event, "sessionKey");
    if (group === undefined) return;
    const key = JSON.stringify([group, text(event, "senderId") ?? text(ctx, "senderId")]);
    const to = text(event, "replyToId") ?? text(ctx, "replyToId");
    if (to === undefined) this.#replies.take(key);
    else this.#replies.set(key, to);
  }

  /**
   * Takes the message that a person's last command in a group replied to.
   *
   * @param {string} group a session key
   * @param {string | undefined} sender
   */
  takeReply(group, sender) {
    return this.#replies.take(JSON.stringify([group, sender]));
  }
}

/**
 * Reports whether a message is a command to the gateway: a slash and one word, as in "/new", "/new@bot" and
 * "/model: x". It is for no agent, so nobody decides about it. A path such as "/etc/hosts" is not a command.
 *
 * @param {unknown} event of before_dispatch
 */
export function isCommand(event) {
  return /^\s*\/[a-z][\w-]*(?:@\w+)?(?:[\s:]|$)/i.test(text(event, "content") ?? text(event, "body") ?? "");
}

/** @param {unknown} value @returns {unknown[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/** @param {string} said */
function shorten(said) {
  const line = said.replaceAll(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length <= MAX_TEXT ? line : `${characters.slice(0, MAX_TEXT).join("")}…`;
}
