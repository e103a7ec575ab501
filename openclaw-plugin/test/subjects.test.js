import assert from "node:assert/strict";
import { test } from "node:test";

import { addressOf, encodeToken, eventSubject, knowhubSubject, requestSubject } from "../src/wire.js";
import { samples } from "./samples.js";

// The rows of subjects/subjects_test.go.
for (const [name, value, token] of /** @type {Array<[string, string | Uint8Array, string]>} */ ([
  ["plain", "main-agent_1", "main-agent_1"],
  ["absent", "", "_"],
  ["a lone underscore", "_", "=5F"],
  ["two underscores", "__", "__"],
  ["colons", "agent:main:web1", "agent=3Amain=3Aweb1"],
  ["dots, wildcards and spaces", "a.*> b", "a=2E=2A=3E=20b"],
  ["an equals sign", "=41", "=3D41"],
  ["beyond ASCII", "é", "=C3=A9"],
  ["invalid UTF-8", Uint8Array.of(0xff, 0), "=FF=00"],
])) {
  test(`encodeToken: ${name}`, () => assert.equal(encodeToken(value), token));
}

test("encodeToken: nothing is absent", () => assert.equal(encodeToken(undefined), "_"));

test("subjects", () => {
  assert.equal(requestSubject("acme.claw", "before_prompt_build", "main"), "acme.claw.request.before_prompt_build.main");
  assert.equal(
    eventSubject("acme.claw", "agent_end", undefined, "agent:main:web1"),
    "acme.claw.event.agent_end._.agent=3Amain=3Aweb1",
  );
  assert.equal(eventSubject("p", "agent_end", "main", "s".repeat(1000)), `p.event.agent_end.main.${"s".repeat(1000)}`);
  assert.ok(eventSubject("p", "agent_end", "main", "s".repeat(10_000)).length < 300, "no server takes that line");
  assert.equal(knowhubSubject("p", "search"), "p.knowhub.search");
});

for (const [name, event, ctx, want] of /** @type {Array<[string, any, any, any]>} */ ([
  ["the context's", {}, { agentId: "a", sessionId: "s", sessionKey: "k" }, { agent: "a", session: "s" }],
  ["the event's", { sessionId: "s", agentId: "b" }, {}, { agent: "b", session: "s" }],
  ["an agent in the key", { sessionKey: "agent:ops:web1" }, {}, { agent: "ops", session: "agent:ops:web1" }],
  ["nothing", undefined, null, { agent: undefined, session: undefined }],
  ["wrong types", { sessionId: 7 }, { agentId: {} }, { agent: undefined, session: undefined }],
])) {
  test(`addressOf: ${name}`, () => assert.deepEqual(addressOf(event, ctx), want));
}

test("addressOf: every captured event of an agent has one", () => {
  for (const { hook, event, ctx } of samples()) {
    const { agent, session } = addressOf(event, ctx);
    if (typeof ctx?.agentId === "string") assert.equal(agent, ctx.agentId, hook);
    if (typeof ctx?.sessionId === "string") assert.equal(session, ctx.sessionId, hook);
    else if (typeof (ctx?.sessionKey ?? event.sessionKey) === "string") assert.ok(session, hook);
  }
});
