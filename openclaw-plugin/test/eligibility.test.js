import assert from "node:assert/strict";
import { test } from "node:test";

import { readOptions } from "../src/config.js";
import { checkSession, checkTurn, placeOf } from "../src/permits.js";
import { CTX } from "./gateway.js";
import { samples } from "./samples.js";

const rulesOf = (/** @type {object} */ options) => readOptions(options).rules;
const key = (/** @type {string} */ sessionKey) => ({ ...CTX, sessionKey });

for (const [name, options, ctx, want] of /** @type {Array<[string, object, any, string]>} */ ([
  ["a person's in a direct chat", {}, CTX, ""],
  ["of a heartbeat", {}, { ...CTX, trigger: "heartbeat" }, "not_user_trigger"],
  ["with an empty trigger", {}, { ...CTX, trigger: "" }, "not_user_trigger"],
  ["without a trigger", {}, { ...CTX, trigger: undefined }, "not_interactive"],
  ["of a subagent", {}, key("agent:main:subagent:1"), "internal_session"],
  ["of a subagent in capitals", {}, key("agent:main:SUBAGENT:1"), "internal_session"],
  ["of an internal session id", {}, { ...CTX, sessionId: "active-memory-1" }, "internal_session"],
  ["from another session", {}, { ...CTX, inputProvenance: { kind: "inter_session" } }, "internal_input"],
  ["of an agent that is not listed", { agents: ["work*"] }, CTX, "agent_disabled"],
  ["of an agent that a glob lists", { agents: "WORK?" }, { ...CTX, agentId: "work1" }, ""],
  ["where no agent is listed", { agents: [] }, CTX, "agent_disabled"],
  ["of an agent that the key names", { agents: "ops" }, { ...key("agent:ops:telegram:direct:1"), agentId: undefined }, ""],
  ["without a place", {}, { trigger: "user" }, "not_interactive"],
  ["in a group", {}, key("agent:main:telegram:group:-100"), "chat_type"],
  ["in a group that is allowed", { allowedChatTypes: "group" }, key("agent:main:telegram:group:-100"), ""],
  ["in a channel", { allowedChatTypes: ["direct", "group"] }, key("agent:main:discord:channel:7"), "chat_type"],
  ["in an explicit session", {}, key("agent:main:explicit:x"), "chat_type"],
  ["by a direct message", {}, key("agent:main:slack:dm:7"), ""],
  ["in the main session over a channel", {}, key("agent:main:main"), ""],
  ["in a main session of another name", { mainKey: "home" }, key("agent:main:home"), ""],
  ["in the web chat", {}, { trigger: "user", sessionKey: "agent:main:web1", messageProvider: "webchat" }, ""],
  ["from the command line", {}, { trigger: "user", sessionKey: "agent:main:main" }, "chat_type"],
  ["from the command line, allowed", { allowedChatTypes: ["unknown"] }, { trigger: "user", sessionKey: "agent:main:main" }, ""],
  ["in a direct chat, as the gateway tells", {}, { ...key("agent:main:x:group:1"), chatType: "direct" }, ""],
  ["in a group, as the gateway tells", {}, { ...CTX, chatType: "Group" }, "chat_type"],
  ["in a chat of a type that is unknown here", {}, { ...CTX, chatType: "thread" }, ""],
  ["in a topic of a chat that is denied", { deniedChatIds: ["telegram:telegram:direct:42"] }, key("agent:main:telegram:direct:42:topic:7"), "chat_id"],
  ["in a thread of a topic of a chat that is listed", { allowedChatIds: ["telegram:telegram:direct:42"] }, key("agent:main:telegram:direct:42:Topic:7:thread:1.5"), ""],
  ["in a chat whose topic is denied", { deniedChatIds: ["telegram:telegram:direct:42:topic:7"] }, CTX, ""],
  ["in a topic of a chat whose id is longer", { deniedChatIds: ["telegram:telegram:direct:4"] }, key("agent:main:telegram:direct:42:topic:7"), ""],
  ["in a chat that is denied", { deniedChatIds: ["Telegram:telegram:direct:42"] }, CTX, "chat_id"],
  ["in a chat that is not listed", { allowedChatIds: ["telegram:telegram:direct:7"] }, CTX, "chat_id"],
  ["in a chat that is listed", { allowedChatIds: ["telegram:telegram:direct:42"] }, CTX, ""],
  ["in a chat that is listed and denied", { allowedChatIds: ["telegram:telegram:direct:42"], deniedChatIds: ["telegram:telegram:direct:42"] }, CTX, "chat_id"],
])) {
  test(`checkTurn: a turn ${name}`, () => assert.equal(checkTurn(rulesOf(options), ctx), want));
}

for (const [name, options, sessionKey, want] of /** @type {Array<[string, object, string, boolean | undefined]>} */ ([
  ["direct", {}, "agent:main:telegram:direct:42", true],
  ["a group", {}, "agent:main:telegram:group:-100", false],
  ["a subagent's", {}, "agent:main:subagent:1", false],
  ["another agent's", { agents: ["work"] }, "agent:main:telegram:direct:42", false],
  ["the main session, direct or the command line's", {}, "agent:main:main", undefined],
  ["the main session, where both are allowed", { allowedChatTypes: ["direct", "unknown"] }, "agent:main:main", true],
  ["the main session, where neither is", { allowedChatTypes: ["group"] }, "agent:main:main", false],
  ["one of chats that have ids", { deniedChatIds: ["x"] }, "agent:main:telegram:direct:42", undefined],
])) {
  test(`checkSession: ${name}`, () => assert.equal(checkSession(rulesOf(options), placeOf({}, { sessionKey })), want));
}

test("checkTurn: captured turns of people in direct chats, and no others", () => {
  const passed = samples("before_prompt_build").filter(({ ctx }) => checkTurn(rulesOf({}), ctx) === "");
  assert.ok(passed.length > 0);
  for (const { ctx, scenario } of passed) {
    assert.equal(ctx.trigger, "user", scenario);
    assert.doesNotMatch(ctx.sessionKey, /group|subagent/, scenario);
  }
});
