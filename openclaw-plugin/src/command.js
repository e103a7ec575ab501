// The /hint command: status, and hints on or off for this chat.

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} chats
 * @param {import("./api.js").CommandContext} ctx
 * @returns {{text: string}}
 */
export function hintCommand(bridge, chats, ctx) {
  const action = (ctx.args ?? "").trim().toLowerCase() || "status";
  const chat = ctx.sessionKey ?? ctx.sessionId;
  switch (action) {
    case "status":
      return { text: statusText(bridge, chats, chat) };
    case "on":
    case "off":
      if (chat === undefined) return { text: "There is no session here, so hints cannot be switched on or off." };
      return { text: `Hints are ${action} for this chat${chats.set(chat, action === "off") ? "" : " until the gateway restarts"}.` };
    default:
      return { text: `There is no /hint ${action}. Use /hint status, /hint on or /hint off.` };
  }
}

/**
 * @param {import("./bridge.js").Bridge} bridge
 * @param {import("./chats.js").Chats} chats
 * @param {string | undefined} chat
 */
function statusText(bridge, chats, chat) {
  const s = bridge.status();
  const lines = [
    s.state === "up" ? `NATS: connected to ${s.server}` : `NATS: not connected${s.reason === "" ? "" : ` (${s.reason})`}`,
    `Hints for this chat: ${chats.isOff(chat) ? "off" : "on"}`,
    `Last hint here: ${lastHintText(chat === undefined ? undefined : bridge.lastHints.get(chat))}`,
    `Asked ${s.asked}: ${s.answered} answered (${s.noDecision} without a decision, ${s.garbage} unusable), ${s.late} late, ${s.nobody} without a responder; ${s.skipped} not asked`,
    `Events: ${s.told} published, ${s.stored} stored, ${s.buffered} waiting, ${s.dropped} dropped, ${s.refused} refused`,
  ];
  for (const hook of s.unhandled) lines.push(`Nobody answers ${hook}`);
  for (const { hook, ms } of s.pausing) lines.push(`Pausing ${hook}: late answers; next try in ${Math.ceil(ms / 1000)} s`);
  return lines.join("\n");
}

/** @param {import("./bridge.js").LastHint | undefined} hint */
function lastHintText(hint) {
  if (!hint) return "none yet";
  const when = `${hint.tookMs.toFixed(1)} ms, at ${new Date(hint.at).toISOString()}`;
  if (hint.intent === "") return `no hint${hint.skip === "" ? "" : ` (${hint.skip})`}, ${when}`;
  return `${hint.intent} ${hint.confidence} from ${hint.source}, ${when}`;
}
