// The /hint command: status, what a person says of the last hint, and hints on or off for this chat.

import { UNANSWERED, versionText } from "./ask.js";

/** The form of an intent's id (contract §7), which also has at most 200 bytes. */
const INTENT = /^[\p{L}\p{M}\p{Nd}_.:-]+$/u;

/** What is answered to a mark in a chat that is off. */
export const OFF = "Nothing is noted: hints are off for this chat, and nothing is published of it. Switch them on with /hint on first.";

/**
 * What of the gateway's configuration does not work.
 *
 * @typedef {object} Problems
 * @property {string[]} [missing] rights that the plugin lacks
 * @property {string[]} [ignored] options that do not count as they are written
 */

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} chats
 * @param {import("./api.js").CommandContext} ctx
 * @param {Problems} [problems]
 * @returns {{text: string}}
 */
export function hintCommand(bridge, chats, ctx, problems = {}) {
  const [word = "", intent, ...more] = (ctx.args ?? "").trim().split(/\s+/);
  const action = word.toLowerCase() || "status";
  const chat = ctx.sessionKey ?? ctx.sessionId;
  switch (action) {
    case "status":
      return { text: statusText(bridge, chats, chat, problems) };
    case "on":
    case "off":
      if (chat === undefined) return { text: "There is no session here, so hints cannot be switched on or off." };
      return { text: `Hints are ${action} for this chat${chats.set(chat, action === "off") ? "" : " until the gateway restarts"}.` };
    case "right":
    case "wrong":
      if (more.length > 0 || (action === "right" && intent !== undefined)) return { text: "Use /hint right, /hint wrong, or /hint wrong INTENT with the intent that is right." };
      return { text: mark(bridge, ctx, chat, action, intent?.toUpperCase()) };
    default:
      return { text: `There is no /hint ${action}. Use /hint status, right, wrong, on or off.` };
  }
}

/**
 * Publishes what a person says of the chat's last hint.
 *
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./api.js").CommandContext} ctx
 * @param {string | undefined} chat
 * @param {"right" | "wrong"} verdict
 * @param {string | undefined} intent the one that is right
 */
function mark(bridge, ctx, chat, verdict, intent) {
  if (bridge.isOff(chat)) return OFF;
  const last = chat === undefined ? undefined : bridge.lastHints.get(chat);
  if (!last) return "Nothing is noted: no hint was asked for here since the gateway started.";
  if (last.run === "") return `Nothing is noted: no hint was asked for in the last turn here${last.skip === "" ? "" : ` (${last.skip})`}.`;
  if (last.skip === UNANSWERED) return "Nothing is noted: the request for a hint got no answer in the last turn here.";
  if (intent !== undefined && (!INTENT.test(intent) || Buffer.byteLength(intent) > 200)) {
    return "Nothing is noted: the id of an intent has letters, digits and _ - . : only, as in MEMORY_LOOKUP, and at most 200 bytes.";
  }
  const instead = intent === undefined ? {} : { intent };
  const by = ctx.senderId === undefined ? {} : { by: ctx.senderId };
  bridge.feedback({ kind: "hint", runId: last.run, verdict, ...instead, ...by }, { agentId: ctx.agentId, sessionKey: ctx.sessionKey, sessionId: last.session ?? ctx.sessionId });
  const said = last.intent === "" ? "no hint" : last.intent;
  return `Noted: ${said} is ${verdict}${intent === undefined ? "" : `, ${intent} is right. Where the consumer has no intent ${intent}, this is kept, but nothing is learnt from it`}.`;
}

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} chats
 * @param {string | undefined} chat
 * @param {Problems} problems
 */
function statusText(bridge, chats, chat, { missing = [], ignored = [] }) {
  const s = bridge.status();
  const lines = [
    s.state === "up" ? `NATS: connected to ${s.server}` : `NATS: not connected${s.reason === "" ? "" : ` (${s.reason})`}`,
    `Hints for this chat: ${chats.isOff(chat) ? "off" : "on"}`,
    `Last hint here: ${lastHintText(chat === undefined ? undefined : bridge.lastHints.get(chat))}`,
    `Asked ${s.asked}: ${s.answered} answered (${s.noDecision} without a decision, ${s.garbage} unusable), ${s.late} late, ${s.nobody} without a responder; ${s.skipped} not asked`,
    `Events: ${s.told} published, ${s.stored} stored, ${s.buffered} waiting${s.kept > 0 ? ` (${s.kept} on disk)` : ""}, ${s.dropped} dropped, ${s.refused} refused`,
  ];
  if (s.otherVersion !== "") lines.push(versionText(s.otherVersion).replace(/^t/, "T"));
  for (const right of missing) lines.push(right.replace(/^n/, "N"));
  for (const option of ignored) lines.push(`Option ${option}`);
  for (const hook of s.unhandled) lines.push(`Nobody answers ${hook}`);
  for (const { hook, ms } of s.pausing) lines.push(`Pausing ${hook}: late answers; next try in ${Math.ceil(ms / 1000)} s`);
  return lines.join("\n");
}

/** @param {import("./ask.js").LastHint | undefined} hint */
function lastHintText(hint) {
  if (!hint) return "none yet";
  const when = `${hint.tookMs.toFixed(1)} ms, at ${new Date(hint.at).toISOString()}`;
  if (hint.intent === "") return `no hint${hint.skip === "" ? "" : ` (${hint.skip})`}, ${when}`;
  const known = hint.skip === "" ? "" : `, not said (${hint.skip})`;
  return `${hint.intent} ${hint.confidence} from ${hint.source}${known}, ${when}`;
}
