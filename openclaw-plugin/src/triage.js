// The triage gate's side of a gateway: what it decided lately, which messages of a group the gateway
// itself puts before the model, what an agent is called, and the /triage command.

import { OFF } from "./command.js";
import { Recent } from "./recent.js";
import { field, text } from "./values.js";
import { addressOf } from "./wire.js";

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
   * @param {import("./ask.js").Decision} decision
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

/** Agents, by channel and account, whose user name on the channel is remembered. */
const MAX_ACCOUNTS = 200;

/** The most names that are sent; an agent has a few, and a gateway's patterns are few. */
const MAX_NAMES = 32;

/** What bots are called on their channels, which only a dispatched message tells. */
export class UserNames {
  /** @type {Recent<string>} by channel and account */
  #names = new Recent(MAX_ACCOUNTS);

  /**
   * Notes the bot's user name of a channel's account.
   *
   * @param {unknown} event of reply_dispatch
   * @param {unknown} ctx
   */
  dispatched(event, ctx) {
    const message = field(event, "ctx");
    const name = text(message, "BotUsername");
    if (name !== undefined) this.#names.set(accountOf(text(message, "Provider") ?? text(ctx, "channelId"), text(message, "AccountId") ?? text(ctx, "accountId")), name);
  }

  /**
   * @param {unknown} ctx of before_dispatch
   * @returns {string | undefined}
   */
  of(ctx) {
    return this.#names.get(accountOf(text(ctx, "channelId"), text(ctx, "accountId")));
  }
}

/**
 * @param {string | undefined} channel
 * @param {string | undefined} account
 */
function accountOf(channel, account) {
  return JSON.stringify([channel?.toLowerCase(), account ?? "default"]);
}

/**
 * The context of before_dispatch with what the agent is called: the triage gate lets a message through
 * that names it (contract §11).
 *
 * @param {import("./api.js").PluginApi} api
 * @param {UserNames} userNames
 * @param {unknown} event
 * @param {unknown} ctx
 * @returns {unknown} ctx itself when the agent has no name
 */
export function withAgentNames(api, userNames, event, ctx) {
  try {
    const agent = addressOf(event, ctx).agent ?? "main";
    // The configuration as it is now: names change without a reload of plugins.
    const config = api.runtime?.config?.current?.() ?? api.config;
    const identity = api.runtime?.agent?.resolveAgentIdentity?.(config, agent) ?? field(agentOf(config, agent), "identity");
    const userName = userNames.of(ctx);
    const named = [text(identity, "name"), userName === undefined ? undefined : `@${userName.replace(/^@/, "")}`, ...mentionPatterns(config, agent)];
    const agentNames = [...new Set(named.filter((name) => name !== undefined))].slice(0, MAX_NAMES);
    return agentNames.length === 0 ? ctx : { .../** @type {object} */ (ctx), agentName: agentNames[0], agentNames };
  } catch {
    return ctx;
  }
}

/**
 * The patterns by which people mention an agent: its own, else those for all (agents.*.groupChat and
 * messages.groupChat of the gateway's configuration).
 *
 * @param {unknown} config
 * @param {string} agent
 * @returns {string[]}
 */
function mentionPatterns(config, agent) {
  for (const place of [agentOf(config, agent), field(config, "messages")]) {
    const patterns = field(field(place, "groupChat"), "mentionPatterns");
    if (Array.isArray(patterns)) return patterns.filter((pattern) => typeof pattern === "string" && pattern.trim() !== "");
  }
  return [];
}

/**
 * @param {unknown} config
 * @param {string} agent
 */
function agentOf(config, agent) {
  const agents = field(config, "agents");
  const list = field(agents, "list");
  return Array.isArray(list) ? list.find((one) => text(one, "id") === agent) : field(field(agents, "entries"), agent);
}

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} ungated chats in which the gate is off
 * @param {import("./api.js").CommandContext} ctx
 * @returns {{text: string}}
 */
export function triageCommand(bridge, ungated, ctx) {
  const action = (ctx.args ?? "").trim().toLowerCase() || "status";
  const chat = ctx.sessionKey;
  const repliedTo = chat === undefined ? undefined : bridge.gate.takeReply(chat, ctx.senderId);
  if (chat === undefined) return { text: "There is no session here, so there is nothing to decide." };
  switch (action) {
    case "status":
      return { text: gateText(bridge, ungated, chat) };
    case "on":
    case "off":
      return { text: `The triage gate is ${action} for this chat${ungated.set(chat, action === "off") ? "" : " until the gateway restarts"}.` };
    case "respond":
    case "skip":
      return { text: markMessage(bridge, ctx, chat, action, repliedTo) };
    default:
      return { text: `There is no /triage ${action}. Use /triage status, respond, skip, on or off; respond and skip as a reply to a message, or on the last one.` };
  }
}

/**
 * Publishes what should have been decided about a message.
 *
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./api.js").CommandContext} ctx
 * @param {string} group
 * @param {"respond" | "skip"} verdict
 * @param {string | undefined} repliedTo
 */
function markMessage(bridge, ctx, group, verdict, repliedTo) {
  if (bridge.isOff(group)) return OFF;
  const verdicts = bridge.gate.verdicts(group);
  const known = repliedTo === undefined ? verdicts.findLast(({ messageId }) => messageId !== "") : verdicts.find(({ messageId }) => messageId === repliedTo);
  const messageId = repliedTo ?? known?.messageId;
  if (messageId === undefined) return "Nothing was decided here since the gateway started. Reply to the message that you mean.";
  const by = ctx.senderId === undefined ? {} : { by: ctx.senderId };
  bridge.feedback({ kind: "triage", messageId, group, verdict, ...by }, { agentId: ctx.agentId, sessionKey: group, sessionId: ctx.sessionId });
  const what = known === undefined ? `message ${messageId}` : `message ${messageId} ("${known.text}")`;
  return `Noted: ${what} ${verdict === "respond" ? "deserves an answer" : "needs no answer"}.`;
}

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} ungated
 * @param {string} chat
 */
function gateText(bridge, ungated, chat) {
  const verdicts = bridge.gate.verdicts(chat);
  const lines = [`Triage gate for this chat: ${stateText(bridge, ungated, chat)}`, `Last decision: ${verdictText(verdicts.at(-1))}`];
  const skipped = verdicts.findLast(({ decision }) => decision === "skip");
  if (skipped !== verdicts.at(-1)) lines.push(`Last skipped: ${verdictText(skipped)}`);
  const s = bridge.status();
  if (s.state === "down" || s.state === "closed") lines.push("NATS: not connected, so every message is answered");
  else if (s.unhandled.includes("before_dispatch")) lines.push("Nobody answers before_dispatch, so every message is answered");
  return lines.join("\n");
}

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} ungated
 * @param {string} chat
 */
function stateText(bridge, ungated, chat) {
  if (ungated.isOff(chat)) return "off";
  return bridge.gates(chat) ? "on" : "off (only for groups that triage.groups and triage.excludeGroups leave, and not where /hint is off)";
}

/** @param {Verdict | undefined} verdict */
function verdictText(verdict) {
  if (!verdict) return "none yet";
  const { messageId, sender, text, decision, reason, score, model, tookMs, at } = verdict;
  const why = [reason, score === "" ? "" : `score ${score}`, model].filter((part) => part !== "").join(", ");
  return `${decision}${why === "" ? "" : ` (${why})`}, message ${messageId} of ${sender}: "${text}", ${tookMs.toFixed(1)} ms, at ${new Date(at).toISOString()}`;
}
