import assert from "node:assert/strict";
import { test } from "node:test";

import { readOptions } from "../src/config.js";
import { lastTurns } from "../src/messages.js";
import { encodeBody, traceparentOf } from "../src/wire.js";
import { samples } from "./samples.js";

const ALL = { turns: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, textOnly: false };
const TEXTS = { turns: 50, bytes: 262_144, textOnly: true };
const MB = 1 << 20;

/** @param {any[]} messages */
function texts(messages) {
  return messages
    .filter(({ role }) => role === "user" || role === "assistant")
    .flatMap(({ content }) => content)
    .filter((part) => typeof part === "string" || part.type === "text")
    .map((part) => part.text ?? part);
}

/**
 * @param {string} hook
 * @param {unknown} event
 * @param {unknown} [ctx]
 * @param {number} [bytes]
 * @param {import("../src/wire.js").History} [history]
 */
function encode(hook, event, ctx = {}, bytes = MB, history = ALL) {
  const body = encodeBody({ hook, event, ctx, ts: 1_763_680_000_123, id: "e1" }, bytes, history);
  if (body === undefined) return undefined;
  assert.ok(Buffer.byteLength(body) <= bytes, `${Buffer.byteLength(body)} bytes`);
  return JSON.parse(body);
}

const user = (/** @type {string} */ content) => ({ role: "user", content });
const assistant = (/** @type {string} */ text) => ({ role: "assistant", content: [{ type: "text", text }] });

test("encodeBody: captured events are encoded whole", () => {
  for (const { hook, event, ctx } of samples()) {
    if (hook === "agent_end") continue;
    const { config: _config, cfg: _cfg, ...rest } = ctx ?? {};
    assert.deepEqual(encode(hook, event, ctx), { hook, ts: 1_763_680_000_123, id: "e1", ctx: rest, event }, hook);
  }
});

test("encodeBody: the gateway's configuration is left out", () => {
  const body = encode("gateway_start", { port: 1 }, { config: { token: "secret" }, cfg: { token: "secret" }, port: 1 });
  assert.deepEqual(body.ctx, { port: 1 });
});

for (const [name, event, ctx, want] of /** @type {Array<[string, any, any, any]>} */ ([
  ["no arguments", undefined, undefined, [{}, {}]],
  ["arguments of other types", "text", [1], [{}, {}]],
  ["no messages", { prompt: "hi" }, {}, [{ prompt: "hi" }, {}]],
  ["nothing but messages", { messages: [] }, {}, [{ messages: [] }, {}]],
  ["messages that are not a list", { messages: "odd" }, {}, [{ messages: "odd" }, {}]],
  ["messages that are not objects", { messages: [null, 7, "x"] }, {}, [{ messages: [null, 7, "x"] }, {}]],
])) {
  test(`encodeBody: ${name}`, () => {
    const body = encode("before_prompt_build", event, ctx);
    assert.deepEqual([body.event, body.ctx], want);
  });
}

test("encodeBody: a history of texts leaves out tools, thinking and images", () => {
  for (const { event, ctx } of samples("before_prompt_build")) {
    const body = encode("before_prompt_build", event, ctx, MB, TEXTS);
    assert.equal(body.event.prompt, event.prompt);
    for (const message of body.event.messages) {
      assert.match(message.role, /^(user|assistant)$/);
      if (Array.isArray(message.content)) assert.ok(message.content.every((/** @type {any} */ p) => p.type === "text"));
    }
    assert.deepEqual(texts(body.event.messages), texts(event.messages));
  }
});

test("encodeBody: the last turns", () => {
  const messages = [user("1"), assistant("1a"), user("2"), user("3"), assistant("3a"), user("4")];
  for (const [turns, first] of /** @type {Array<[number, unknown]>} */ ([
    [0, undefined],
    [1, user("3")],
    [2, user("1")],
    [9, user("1")],
  ])) {
    const body = encode("before_prompt_build", { prompt: "p", messages }, {}, MB, { ...ALL, turns });
    assert.deepEqual(body.event.messages[0], first);
  }
});

test("encodeBody: the oldest messages are left out first, to the byte", () => {
  const messages = Array.from({ length: 100 }, (_, i) => user(`${i} ${"é".repeat(100)}`));
  const whole = encodeBody({ hook: "before_prompt_build", event: { prompt: "p", messages }, ctx: {}, ts: 1, id: "e" }, MB, ALL) ?? "";
  for (const bytes of [300, 5000, Buffer.byteLength(whole) - 1, Buffer.byteLength(whole)]) {
    const sent = encode("before_prompt_build", { prompt: "p", messages }, {}, bytes).event.messages;
    assert.deepEqual(sent, messages.slice(messages.length - sent.length));
    if (bytes >= Buffer.byteLength(whole) + 15) assert.equal(sent.length, 100);
    else assert.ok(sent.length < 100);
  }
  const few = encode("before_prompt_build", { prompt: "p", messages }, {}, MB, { ...ALL, bytes: 1000 });
  assert.equal(few.event.messages.length, 4);
});

test("encodeBody: a prompt that is too long is cut, not left out", () => {
  const body = encode("before_prompt_build", { prompt: "x".repeat(100_000), messages: [user("old")] }, {}, 20_000);
  assert.equal(body.event.prompt.length, 4096);
  assert.deepEqual(body.event.messages, [user("old")]);
});

test("encodeBody: what does not fit is cut, and undefined without room for an event", () => {
  assert.equal(encode("x", { a: 1 }, {}, 20), undefined);
  const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key ${i}`, i]));
  const body = encode("x", keys, { runId: "r1" }, 10_000);
  assert.ok(Object.keys(body.event).length > 500);
  assert.deepEqual(body.ctx, { runId: "r1" });
});

test("encodeBody: a history of megabytes takes little time", () => {
  const messages = Array.from({ length: 20_000 }, (_, i) => assistant(`${i} ${"x".repeat(1000)}`));
  messages.push(/** @type {any} */ (user("last")));
  const began = performance.now();
  for (let i = 0; i < 20; i++) encode("before_prompt_build", { prompt: "p", messages }, {}, MB, TEXTS);
  assert.ok((performance.now() - began) / 20 < 100);
});

// What the consumer makes of agent_end (payload.AgentEnd.Outcome).
/** @param {any[]} messages */
function outcome(messages) {
  let failure = "";
  let last = true;
  for (const message of messages.toReversed()) {
    if (message?.role === "user") break;
    if (message?.role !== "assistant") continue;
    if (last && message.stopReason === "error") failure = message.errorMessage ?? "";
    last = false;
    const text = [message.content].flat().map((part) => (typeof part === "string" ? part : part?.type === "text" ? part.text : "")).join("\n");
    if (text.trim() !== "") return { result: text, failure };
  }
  return { result: "", failure };
}

test("encodeBody: agent_end holds its outcome alone, and that stays the same", () => {
  for (const { scenario, event, ctx } of samples("agent_end")) {
    const body = encode("agent_end", event, ctx);
    const { messages, ...rest } = body.event;
    assert.deepEqual(outcome(messages), outcome(event.messages), scenario);
    assert.ok(messages.length <= 2, scenario);
    for (const message of messages) {
      assert.equal(message.role, "assistant", scenario);
      for (const key of Object.keys(message)) assert.ok(["role", "content", "stopReason", "errorMessage"].includes(key), key);
    }
    const { messages: _, ...want } = event;
    assert.deepEqual(rest, want, scenario);
    assert.deepEqual(outcome(encode("agent_end", event, ctx, 4096).event.messages), outcome(event.messages), scenario);
  }
});

const failed = { role: "assistant", content: [], stopReason: "error", errorMessage: "HTTP 500" };
const call = { role: "assistant", content: [{ type: "thinking", thinking: "secret" }, { type: "toolCall", id: "c", name: "read" }], stopReason: "toolUse" };

for (const [name, messages, want] of /** @type {Array<[string, any[], any]>} */ ([
  ["nothing but an answer", [assistant("announced")], { result: "announced", failure: "" }],
  ["no answer", [assistant("old"), user("x")], { result: "", failure: "" }],
  ["a failure after a text", [user("x"), assistant("so far"), failed], { result: "so far", failure: "HTTP 500" }],
  ["a text after a failure", [user("x"), failed, assistant("Done.")], { result: "Done.", failure: "" }],
  ["a call after a text", [user("x"), assistant("I look"), call], { result: "I look", failure: "" }],
  ["no messages", [], { result: "", failure: "" }],
])) {
  test(`encodeBody: the outcome of agent_end with ${name}`, () => {
    assert.deepEqual(outcome(messages), want);
    const sent = encode("agent_end", { messages }).event.messages;
    assert.deepEqual(outcome(sent), want);
    assert.doesNotMatch(JSON.stringify(sent), /secret|toolCall/);
  });
}

test("encodeBody: agent_end holds the run's texts where experiences are extracted from it", () => {
  const messages = [user("old"), assistant("old"), user("x"), call, { role: "toolResult", content: "big" }, assistant("Done.")];
  const sent = encode("agent_end", { messages }, {}, MB, { ...ALL, runs: true }).event.messages;
  assert.deepEqual(texts(sent), ["x", "Done."]);
  assert.doesNotMatch(JSON.stringify(sent), /secret|toolCall|big/);
});

test("encodeBody: a message is its role, its text and where it came from", () => {
  const given = { role: "user", content: [{ type: "text", text: "hi", signature: "s" }, { type: "image", data: "aGk=" }], provenance: { kind: "inter_session", sourceSessionKey: "k" }, timestamp: 1, usage: {} };
  assert.deepEqual(encode("before_prompt_build", { messages: [given] }, {}, MB, TEXTS).event.messages, [
    { role: "user", content: "hi", provenance: { kind: "inter_session" }, timestamp: 1 },
  ]);
  const odd = [{ role: "user", content: { odd: 1 } }, { role: "user" }, { role: "system", content: "x" }, null, { role: "assistant", content: [null, 7, { type: "text" }] }];
  assert.deepEqual(texts(encode("before_prompt_build", { messages: odd }, {}, MB, TEXTS).event.messages), []);
});

test("lastTurns: heartbeats and messages without an answer do not count", () => {
  const messages = [user("1"), assistant("1a"), user("heartbeat poll"), assistant("HEARTBEAT_OK"), user("2"), call, user("3"), assistant("3a")];
  assert.equal(lastTurns(messages, 1)[0], messages[6]);
  assert.equal(lastTurns(messages, 2)[0], messages[0]);
  assert.deepEqual(lastTurns(messages, 0), []);
});

// What a consumer reads of messages within its window (conversation.last).
/** @param {any[]} messages @param {number} users @param {number} assistants */
function reads(messages, users, assistants) {
  const out = [];
  let answer = "";
  let anyAfter = false;
  for (const message of messages.toReversed()) {
    if (users <= 0 && assistants <= 0) break;
    const text = [message.content].flat().map((part) => part?.text ?? part).join("\n").replaceAll(/<think>[^]*?<\/think>/g, "").trim();
    if (message.role === "assistant" && answer === "" && text !== "HEARTBEAT_OK") answer = text;
    if (message.role !== "user" || (answer === "" && anyAfter) || text.includes("heartbeat poll")) continue;
    if (text === "" || text.startsWith("[Inter-session message]")) {
      answer = "";
      continue;
    }
    anyAfter = true;
    if (answer !== "" && assistants-- > 0) out.push(answer);
    answer = "";
    if (users-- > 0) out.push(text);
  }
  return out;
}

test("encodeBody: a request holds what a consumer reads, whatever a conversation is made of", () => {
  let seed = 20_261_128;
  const next = (/** @type {number} */ n) => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) % n;
  const kinds = [
    (/** @type {number} */ i) => user(`question ${i}`),
    (/** @type {number} */ i) => user(`question ${i}`),
    (/** @type {number} */ i) => assistant(`answer ${i}`),
    (/** @type {number} */ i) => assistant(`answer ${i}`),
    (/** @type {number} */ i) => assistant(`I look ${i}`),
    () => assistant("<think>hm</think>"),
    () => assistant("HEARTBEAT_OK"),
    () => user("heartbeat poll"),
    () => user(" "),
    () => user("[Inter-session message] from another"),
    () => ({ role: "toolResult", content: "big" }),
  ];
  for (const window of [{ user: 5, assistant: 3 }, { user: 2, assistant: 6 }, { user: 0, assistant: 1 }, { user: 20, assistant: 10 }]) {
    const { history } = readOptions({ contextWindow: { user: { turns: window.user }, assistant: { turns: window.assistant } } });
    let [sent, all] = [0, 0];
    for (let round = 0; round < 500; round++) {
      const messages = Array.from({ length: next(150) }, (_, i) => kinds[next(kinds.length)]?.(i));
      const got = encode("before_prompt_build", { prompt: "p", messages }, {}, MB, history).event.messages;
      assert.deepEqual(reads(got, window.user, window.assistant), reads(messages, window.user, window.assistant), JSON.stringify(messages));
      sent += got.length;
      all += messages.length;
    }
    if (window.user <= 5) assert.ok(sent < 0.6 * all, `${sent} of ${all}`);
  }
});

for (const [window, query, want] of /** @type {Array<[any, any, any]>} */ ([
  [{}, {}, { turns: 7, groupTurns: 20 }],
  [{ user: { turns: 12 } }, {}, { turns: 14, groupTurns: 20 }],
  [{ user: { turns: 0 }, assistant: { turns: 0 } }, {}, { turns: 0, groupTurns: 20 }],
  [{}, { queryMode: "message" }, { turns: 0, groupTurns: 0 }],
  [{}, { history: { turns: 9 } }, { turns: 9, groupTurns: 9 }],
])) {
  test(`the turns of a request with ${JSON.stringify(window)} and ${JSON.stringify(query)}`, () => {
    const { turns, groupTurns } = readOptions({ contextWindow: window, ...query }).history;
    assert.deepEqual({ turns, groupTurns }, want);
  });
}

for (const [name, trace, want] of /** @type {Array<[string, any, string | undefined]>} */ ([
  ["of the gateway", { traceId: "f".repeat(32), spanId: "a".repeat(16), traceFlags: "01" }, `00-${"f".repeat(32)}-${"a".repeat(16)}-01`],
  ["without flags", { traceId: "f".repeat(32), spanId: "a".repeat(16) }, `00-${"f".repeat(32)}-${"a".repeat(16)}-00`],
  ["that would break a header", { traceId: "x\r\ny", spanId: "a".repeat(16) }, undefined],
  ["missing", undefined, undefined],
])) {
  test(`traceparentOf: a trace ${name}`, () => assert.equal(traceparentOf({ trace }), want));
}
