import assert from "node:assert/strict";
import { test } from "node:test";

import { readOptions } from "../src/config.js";
import { USAGE_HOOKS, planHooks } from "../src/hooks.js";
import { counted } from "../src/tell.js";

const output = {
  runId: "r1",
  sessionId: "s1",
  provider: "mock",
  model: "mock-1",
  resolvedRef: "mock/mock-1",
  reasoningEffort: "low",
  assistantTexts: ["secret"],
  lastAssistant: { content: [{ type: "text", text: "secret" }] },
  usage: { input: 240, output: 24, cacheRead: 3, cacheWrite: 2, total: 269, cost: { total: 0 }, note: "secret" },
};

test("usage: only counts, model and effort of llm_output are told", () => {
  assert.deepEqual(counted("llm_output", output), {
    runId: "r1",
    sessionId: "s1",
    provider: "mock",
    model: "mock-1",
    resolvedRef: "mock/mock-1",
    reasoningEffort: "low",
    usage: { input: 240, output: 24, cacheRead: 3, cacheWrite: 2 },
  });
});

test("usage: a field of another type is left out", () => {
  assert.deepEqual(counted("llm_output", { runId: "r1", model: { text: "secret" } }), { runId: "r1" });
  assert.deepEqual(counted("llm_output", undefined), {});
});

test("usage: a call is told without its error's text", () => {
  const call = { runId: "r1", callId: "r1:model:1", provider: "mock", model: "mock-1", outcome: "error", durationMs: 26, errorMessage: "secret" };
  assert.deepEqual(counted("model_call_ended", call), { runId: "r1", callId: "r1:model:1", provider: "mock", model: "mock-1", outcome: "error", durationMs: 26 });
});

test("usage: other events are told as they are", () => {
  const event = { messages: [] };
  assert.equal(counted("agent_end", event), event);
});

const observed = (/** @type {object} */ config) => planHooks(readOptions(config)).observe.filter((hook) => USAGE_HOOKS.includes(hook));

test("usage: its hooks are observed only if the operator lets them", () => {
  assert.deepEqual(observed({}), []);
  assert.deepEqual(observed({ usage: false }), []);
  assert.deepEqual(observed({ usage: true }), USAGE_HOOKS);
  assert.deepEqual(observed({ usage: true, hooks: { exclude: ["llm_output"] } }), ["model_call_ended"]);
});
