// Nothing leaves the gateway of chats that the rules exclude.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";

import { Chats } from "../src/chats.js";
import { readOptions } from "../src/config.js";
import { encodeBody } from "../src/wire.js";
import { Permits } from "../src/permits.js";
import { CTX, GROUP, KEY, forget, gateway } from "./gateway.js";
import { samples } from "./samples.js";

afterEach(forget);

const nowhere = { natsUrl: "nats://127.0.0.1:1" };
const MAIN = "agent:main:main";

/** A gateway that is away from NATS: what it tells waits. @param {object} [config] @param {object} [more] */
function started(config = {}, more = {}) {
  const g = gateway({ ...nowhere, ...config }, more);
  void g.fire("gateway_start", { port: 1 }, {});
  return { ...g, told: () => g.shared().bridge.status().told, notAsked: () => g.shared().bridge.status().skipped };
}

const prompt = { prompt: "secret", messages: [] };

/** All that one turn fires. @param {ReturnType<typeof started>} g @param {object} ctx */
async function turn(g, ctx) {
  const { sessionKey, sessionId, runId, agentId } = /** @type {any} */ (ctx);
  const tool = { sessionKey, sessionId, runId, agentId };
  await g.fire("session_start", { sessionId, sessionKey }, { sessionKey, sessionId, agentId });
  await g.fire("before_prompt_build", prompt, ctx);
  await g.fire("after_tool_call", { toolName: "read", runId }, tool);
  await g.fire("agent_end", { messages: [], runId }, ctx);
  await g.fire("after_compaction", { compactedCount: 1 }, { sessionKey, sessionId, agentId });
  await g.fire("session_end", { sessionId, sessionKey, reason: "new" }, { sessionKey, sessionId, agentId });
}

for (const [name, config, ctx, told] of /** @type {Array<[string, object, object, number]>} */ ([
  ["a direct chat", {}, CTX, 6],
  ["a group", {}, { ...CTX, sessionKey: GROUP }, 0],
  ["a group that is allowed", { allowedChatTypes: ["group"] }, { ...CTX, sessionKey: GROUP }, 6],
  ["a chat that is denied", { deniedChatIds: ["telegram:telegram:direct:42"] }, CTX, 0],
  ["another agent", { agents: ["work"] }, CTX, 0],
  ["a subagent", {}, { ...CTX, sessionKey: "agent:main:subagent:1" }, 0],
  ["the main session over a channel", {}, { ...CTX, sessionKey: MAIN }, 6],
  ["the main session on the command line", {}, { runId: "r1", sessionKey: MAIN, sessionId: "s1", agentId: "main", trigger: "user" }, 0],
])) {
  test(`of ${name} ${told === 0 ? "nothing" : "everything"} leaves the gateway`, async () => {
    const g = started(config);
    await turn(g, ctx);
    assert.equal(g.told(), told, "each event, and the turn that got no answer");
    assert.equal(g.notAsked(), told === 0 ? 0 : 1, "requests for which there was no connection");
  });
}

test("a heartbeat in a direct chat tells nothing, and the chat's own turns go on", async () => {
  const g = started();
  await g.fire("before_prompt_build", prompt, { ...CTX, runId: "h1", trigger: "heartbeat" });
  await g.fire("after_tool_call", { runId: "h1" }, { sessionKey: KEY, runId: "h1" });
  assert.equal(g.told(), 0);
  await g.fire("before_prompt_build", prompt, CTX);
  await g.fire("after_tool_call", { runId: "r1" }, { sessionKey: KEY, runId: "r1" });
  assert.equal(g.told(), 2);
});

test("events before the first turn of a main session wait for it", async () => {
  const ctx = { sessionKey: MAIN, sessionId: "s1", agentId: "main" };
  const g = started();
  await g.fire("session_end", { sessionKey: MAIN, sessionId: "s1", reason: "new" }, ctx);
  await g.fire("session_start", { sessionKey: MAIN, sessionId: "s1" }, ctx);
  assert.equal(g.told(), 0);
  await g.fire("before_prompt_build", prompt, { ...CTX, sessionKey: MAIN, trigger: "heartbeat" });
  assert.equal(g.told(), 0, "a heartbeat is nobody's turn");
  await g.fire("before_prompt_build", prompt, { ...CTX, sessionKey: MAIN });
  assert.equal(g.told(), 3);
  await g.fire("session_end", { sessionKey: MAIN, sessionId: "s1", reason: "new" }, ctx);
  assert.equal(g.told(), 4, "known from now on");
});

test("a reload keeps what is known of chats, unless the rules change", async () => {
  const ctx = { sessionKey: MAIN, sessionId: "s1", agentId: "main" };
  const end = { sessionKey: MAIN, sessionId: "s1", reason: "new" };
  const g = started();
  await g.fire("before_prompt_build", prompt, { ...CTX, sessionKey: MAIN });
  const next = started({ timeoutMs: 1000 });
  await next.fire("session_end", end, ctx);
  assert.equal(next.told(), 2);
  const other = started({ allowedChatTypes: ["group"] });
  await other.fire("session_end", end, ctx);
  assert.equal(other.told(), 2);
});

test("/hint off: nothing of the chat is asked or told, also of hooks that were listed", async () => {
  const g = started({ hooks: { include: ["*"] }, triage: { enabled: true } });
  g.hint("off");
  const before = g.told();
  for (const { hook, event } of samples()) {
    if (hook === "gateway_start" || hook === "gateway_stop" || hook.startsWith("cron") || ["before_install", "channel_pairing_requested"].includes(hook)) continue;
    await g.fire(hook, { ...event, sessionKey: KEY }, CTX);
  }
  assert.equal(g.told(), before);
  assert.equal(g.notAsked(), 0);
  assert.match(g.hint(), /no hint \(off\)/);
  g.hint("on");
  await turn(g, CTX);
  assert.equal(g.notAsked(), 1);
});

test("a decision hook that the operator has listed is asked for in every chat, but not where it is off", async () => {
  const g = started({ deniedChatIds: ["telegram:telegram:direct:42"], hooks: { decide: ["before_tool_call", "before_dispatch"] } });
  for (const [word, asked] of /** @type {Array<[string, number]>} */ ([["on", 2], ["off", 2], ["on", 4]])) {
    g.hint(word);
    await g.fire("before_tool_call", { toolName: "exec" }, CTX);
    await g.fire("before_dispatch", { content: "x", isGroup: false }, CTX);
    assert.equal(g.notAsked(), asked, word);
  }
});

test("triage: groups alone, of those that it is for", async () => {
  const g = started({ triage: { enabled: true, groups: ["*:group:-1*"], excludeGroups: ["*:-13"] } });
  for (const [key, isGroup, asked] of /** @type {Array<[string, boolean | undefined, number]>} */ ([
    [KEY, false, 0],
    [KEY, undefined, 0],
    [GROUP, true, 1],
    [GROUP, undefined, 2],
    ["agent:main:telegram:group:-13", true, 2],
    ["agent:main:telegram:group:-2", true, 2],
  ])) {
    await g.fire("before_dispatch", { content: "x", isGroup, sessionKey: key }, { sessionKey: key });
    assert.equal(g.notAsked(), asked, key);
  }
  await g.fire("before_prompt_build", prompt, { ...CTX, sessionKey: GROUP });
  assert.equal(g.notAsked(), 3, "a group's turn may be told what was skipped");
  assert.equal(g.told(), 1, "and that it got no answer");
  await g.fire("agent_end", { messages: [], runId: "r1" }, { ...CTX, sessionKey: GROUP });
  assert.equal(g.told(), 1, "but its events are not used");
});

test("experiences reach people's turns in every chat", async () => {
  const g = started({ knowhub: { enabled: true } });
  await g.fire("before_prompt_build", prompt, { ...CTX, sessionKey: GROUP });
  assert.equal(g.notAsked(), 1);
  await g.fire("before_prompt_build", prompt, { ...CTX, trigger: "cron" });
  assert.equal(g.notAsked(), 1);
});

const user = (/** @type {string} */ content, more = {}) => ({ role: "user", content, timestamp: 1000, ...more });
const assistant = (/** @type {string} */ content, more = {}) => ({ role: "assistant", content, timestamp: 1001, ...more });
const kept = [user("hello"), assistant("Hi.", { __openclaw: { runId: "r1" } })];

for (const [name, between, later = []] of /** @type {Array<[string, object[], object[]?]>} */ ([
  ["a heartbeat", [user("[OpenClaw heartbeat poll]", { provenance: { kind: "internal_system", sourceTool: "heartbeat" } }), assistant("The oven is hot.")]],
  ["a scheduled job", [user("[cron:1 tidy] Tidy up.", { provenance: { kind: "internal_system", sourceTool: "cron" } }), { role: "toolResult", content: "x" }, assistant("Done.")]],
  ["another session", [user("[Inter-session message] The child has ended.", { provenance: { kind: "inter_session" } }), assistant("It has ended.")]],
  ["a run while the chat was off", [user("secret"), assistant("Secret.", { __openclaw: { runId: "off" } })]],
  ["a run that no person began", [user("Look around."), assistant("Done.", { __openclaw: { runId: "heartbeat" } })]],
  ["a time when the chat was off, by the message", [user("secret", { timestamp: 5000 })]],
  ["a time when the chat was off, by the answer", [user("secret"), { role: "toolResult", content: "x" }, assistant("Secret.", { timestamp: 5500 })]],
  ["nothing", []],
  ["nothing, where the chat is on again", [], [user("again", { timestamp: 6001 }), assistant("Yes.", { timestamp: 6002 })]],
])) {
  test(`history: holds nothing of ${name}`, (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 5000 });
    const chats = new Chats();
    const permits = new Permits(readOptions({}), chats, new Chats());
    permits.turn(CTX);
    permits.turn({ ...CTX, runId: "heartbeat", trigger: "heartbeat" });
    chats.set(KEY, true);
    permits.turn({ ...CTX, runId: "off" });
    t.mock.timers.setTime(6000);
    chats.set(KEY, false);
    const event = { prompt: "p", messages: [...kept, ...between, ...kept, ...later] };
    const history = { turns: Number.MAX_SAFE_INTEGER, bytes: 1_000_000, textOnly: false };
    const body = encodeBody({ hook: "before_prompt_build", event, ctx: CTX, ts: 1, id: "e" }, 1_000_000, { ...history, leaveOut: permits.leaveOut("before_prompt_build", event, CTX) });
    assert.deepEqual(JSON.parse(body ?? "").event, { prompt: "p", messages: [...kept, ...kept, ...later] });
    assert.equal(permits.leaveOut("agent_end", event, CTX), undefined, "of a run that is told, the outcome is");
  });
}

test("history: times when a chat was off are kept over a restart, the oldest as one", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hint-"));
  try {
    const file = join(directory, "chats-off.json");
    const chats = new Chats();
    chats.open(file);
    t.mock.timers.enable({ apis: ["Date"], now: 0 });
    for (let at = 0; at < 60; at += 2) {
      t.mock.timers.setTime(at * 100);
      chats.set(KEY, true);
      chats.set(KEY, true);
      t.mock.timers.setTime(at * 100 + 100);
      chats.set(KEY, false);
    }
    const again = new Chats();
    again.open(file);
    assert.deepEqual([again.isOff(KEY), again.wasOff(KEY, 50), again.wasOff(KEY, 5850), again.wasOff(KEY, 5950), again.wasOff("another", 50)], [false, true, true, false, false]);
    assert.equal(JSON.parse(readFileSync(file, "utf8"))[0].off.length, 20);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
