// The /triage command: what the triage gate decided, what it should have, and on or off for this chat.

import { OFF } from "./command.js";

/**
 * @typedef {import("./gate.js").Verdict} Verdict
 */

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
      return { text: statusText(bridge, ungated, chat) };
    case "on":
    case "off":
      return { text: `The triage gate is ${action} for this chat${ungated.set(chat, action === "off") ? "" : " until the gateway restarts"}.` };
    case "respond":
    case "skip":
      return { text: mark(bridge, ctx, chat, action, repliedTo) };
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
function mark(bridge, ctx, group, verdict, repliedTo) {
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
function statusText(bridge, ungated, chat) {
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
