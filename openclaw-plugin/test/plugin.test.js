// The plugin without a NATS server: nothing it does may delay or break a gateway.

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";

import { eventually } from "./consumer.js";
import { CTX, GROUP, KEY, forget, gateway } from "./gateway.js";
import { samples } from "./samples.js";

afterEach(forget);

/** A port that nobody listens on. */
async function deadPort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const nowhere = { natsUrl: `nats://127.0.0.1:${await deadPort()}` };

/** @param {() => Promise<unknown>} what */
async function took(what) {
  const began = performance.now();
  await what();
  return performance.now() - began;
}

test("register: does not connect", async () => {
  const server = createServer();
  let connections = 0;
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  for (const registrationMode of ["full", "discovery", "tool-discovery", "cli-metadata"]) {
    const g = gateway({ natsUrl: `127.0.0.1:${port}` }, { registrationMode });
    assert.equal(g.shared().bridge.status().state, "idle");
  }
  await new Promise((resolve) => server.close(resolve));
  assert.equal(connections, 0);
});

test("register: a disabled plugin registers nothing", () => {
  const g = gateway({ enabled: false });
  assert.equal(g.hooks.size, 0);
  assert.throws(() => g.hint());
});

test("register: a problem of the configuration is logged once", () => {
  const config = { natsURL: "x", timeoutMs: 1, hooks: { decide: ["agent_end"] } };
  const g = gateway(config);
  assert.deepEqual(gateway(config).log, []);
  assert.equal(g.log.filter((line) => line.includes("options that do not count as written: natsURL is not known; timeoutMs is out of its range: 500 counts")).length, 1);
  assert.match(g.hint(), /^Option natsURL is not known\nOption timeoutMs is out of its range: 500 counts$/m);
  assert.match(g.log.join("\n"), /agent_end is not a decision hook/);
});

test("register: discovery logs nothing", () => {
  assert.deepEqual(gateway({ natsURL: "x" }, { registrationMode: "discovery" }).log, []);
});

for (const [name, config, hooks, hook, want] of /** @type {Array<[string, any, any, string, number]>} */ ([
  ["the default", {}, undefined, "before_prompt_build", 4000],
  ["as configured", { timeoutMs: 1500 }, undefined, "before_prompt_build", 2500],
  ["triage's", { triage: { enabled: true, timeoutMs: 7000 } }, undefined, "before_dispatch", 8000],
  ["less, when the operator says so", { timeoutMs: 3000 }, { timeouts: { before_prompt_build: 2000 } }, "before_prompt_build", 2900],
  ["not more for prompts", { timeoutMs: 3000 }, { timeoutMs: 20_000 }, "before_prompt_build", 4000],
  ["the operator's for others", { hooks: { decide: ["before_agent_run"] } }, { timeoutMs: 20_000 }, "before_agent_run", 20_900],
])) {
  test(`register: time limit of a decision: ${name}`, () => {
    const g = gateway(config, { config: { plugins: { entries: { "intention-hint": { hooks } } } } });
    assert.equal(g.hooks.get(hook)?.options.timeoutMs, want);
  });
}

test("before_prompt_build: without NATS the turn continues at once", async () => {
  const g = gateway(nowhere);
  await g.fire("gateway_start", { port: 1 }, {});
  for (const { event, ctx } of samples("before_prompt_build")) {
    const ms = await took(async () => assert.equal(await g.fire("before_prompt_build", event, ctx), undefined));
    assert.ok(ms < 1000, `${ms} ms`);
  }
  assert.match(g.hint(), /not connected \(connection refused\)/);
  assert.equal(g.log.filter((line) => line.includes("no connection to NATS")).length, 1, "logged once");
});

for (const [name, greeting] of [
  ["is silent", ""],
  ["is silent in the TLS handshake", 'INFO {"tls_required":true}\r\n'],
]) {
  test(`before_prompt_build: when the server ${name} only the first turn waits, and no socket is left`, async () => {
    /** @type {Set<import("node:net").Socket>} */
    const sockets = new Set();
    const mute = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket)).resume().write(greeting);
    }).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (mute.address());
    const g = gateway({ natsUrl: `127.0.0.1:${port}`, timeoutMs: 500 });
    await g.fire("gateway_start", { port: 1 }, {});
    const turn = () => took(() => g.fire("before_prompt_build", { prompt: "p", messages: [] }));
    const first = await turn();
    assert.ok(first >= 400 && first < 1500, `${first} ms`);
    while (g.shared().bridge.status().state === "connecting") await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok((await turn()) < 100);
    await forget();
    mute.close();
    await once(mute, "close");
    await eventually("the sockets' own events have come", () => sockets.size === 0);
  });
}

test("hooks: every captured event is accepted, and none throws", async () => {
  const everywhere = { allowedChatTypes: ["direct", "group", "channel", "explicit", "unknown"] };
  const g = gateway({ ...nowhere, ...everywhere, hooks: { include: ["*"], decide: ["before_tool_call", "before_dispatch"] } });
  await g.fire("gateway_start", { port: 1 }, {});
  let told = 0;
  for (const sample of samples()) {
    const { hook, event } = sample;
    // Every one comes from a person's turn, of which everything may be told.
    const ctx = { ...sample.ctx, sessionKey: "agent:main:telegram:direct:42", trigger: "user", inputProvenance: undefined };
    if (hook === "gateway_stop" || hook === "gateway_start") continue;
    const result = g.hooks.get(hook)?.handler(event, ctx);
    if (hook === "before_prompt_build" || !["before_tool_call", "before_dispatch"].includes(hook)) told++;
    if (!["before_prompt_build", "before_tool_call", "before_dispatch"].includes(hook)) {
      assert.equal(result, undefined, `${hook} delays nobody`);
    } else assert.equal(await result, undefined, hook);
  }
  assert.equal(g.shared().bridge.status().buffered, told + 1, "with gateway_start");
});

test("hooks: useless arguments do no harm", async () => {
  const g = gateway({ ...nowhere, hooks: { include: ["*"] } });
  await g.fire("gateway_start", { port: 1 }, {});
  const throwing = new Proxy({}, { get: () => assert.fail("get"), ownKeys: () => assert.fail("keys"), has: () => assert.fail("has") });
  for (const [hook, { handler }] of g.hooks) {
    if (hook === "gateway_stop" || hook === "gateway_start") continue;
    for (const argument of [undefined, null, 7, "x", [], throwing]) assert.equal(await handler(argument, argument), undefined, hook);
  }
});

test("hooks: before_tool_call fails open, or closed if configured", async () => {
  for (const [failClosed, want] of /** @type {Array<[string[], any]>} */ ([
    [[], undefined],
    [["before_tool_call"], true],
  ])) {
    const g = gateway({ ...nowhere, hooks: { decide: ["before_tool_call"], failClosed } });
    for (const { event, ctx } of samples("before_tool_call")) {
      const result = /** @type {any} */ (await g.fire("before_tool_call", event, ctx));
      assert.equal(result?.block, want);
      if (want) assert.match(result.blockReason, /intenthint/);
    }
    await forget();
  }
});

test("hooks: in a chat that is switched off nobody is asked, by hooks.decide neither", async () => {
  const g = gateway({ ...nowhere, hooks: { decide: ["before_tool_call", "before_dispatch"], failClosed: ["before_tool_call"] } });
  const tried = () => g.shared().bridge.status().skipped;
  for (const [word, requests] of /** @type {Array<[string, number]>} */ ([["off", 0], ["on", 2]])) {
    g.hint(word);
    const before = tried();
    assert.equal(/** @type {any} */ (await g.fire("before_tool_call", { toolName: "read" }, CTX)).block, true);
    assert.equal(await g.fire("before_dispatch", { content: "hello" }, CTX), undefined);
    assert.equal(tried() - before, requests, word);
  }
});

test("buffer: while disconnected the oldest events are dropped and counted", async () => {
  const g = gateway({ ...nowhere, buffer: { events: 50 } });
  await g.fire("gateway_start", { port: 1 }, {});
  for (let i = 0; i < 200; i++) await g.fire("after_tool_call", { toolName: "read", i });
  const status = g.shared().bridge.status();
  assert.equal(status.buffered, 50);
  assert.equal(status.dropped, 150);
  assert.match(g.hint(), /200 published, 0 stored, 50 waiting, 150 dropped/);
  assert.equal(g.log.filter((line) => line.includes("event buffer is full")).length, 1);
});

test("gateway_stop: ends soon without NATS, and logs what is lost", async () => {
  const g = gateway(nowhere);
  await g.fire("gateway_start", { port: 1 }, {});
  await g.fire("agent_end", { messages: [] });
  await g.fire("before_prompt_build", { prompt: "p", messages: [] });
  assert.ok((await took(() => g.fire("gateway_stop", { reason: "gateway stopping" }, {}))) < 1000);
  assert.match(g.log.join("\n"), /2 events were not delivered/, "the end and the turn without an answer");
  assert.equal(g.shared().bridge.status().state, "closed");
});

test("agent_end: a command that ends with the run is not delayed without NATS", async () => {
  const g = gateway(nowhere);
  assert.ok((await took(() => g.fire("agent_end", { messages: [] }))) < 1000);
});

test("reload: options are those of the newest registration, and old handlers use them", async () => {
  const old = gateway({ ...nowhere, timeoutMs: 1000 });
  const bridge = old.shared().bridge;
  gateway({ ...nowhere, timeoutMs: 2000 }, { registrationMode: "discovery" });
  assert.equal(bridge.options.timeoutMs, 1000, "discovery changes nothing");
  const next = gateway({ ...nowhere, timeoutMs: 2000 });
  assert.equal(next.shared().bridge, bridge, "one bridge per process");
  assert.equal(bridge.options.timeoutMs, 2000);
  await old.fire("after_tool_call", {});
  assert.equal(next.shared().bridge.status().told, 1);
  await old.fire("gateway_stop", { reason: "plugin replacement" }, {});
  assert.notEqual(bridge.status().state, "closed", "the newer registration keeps its connection");
});

test("reload: events keep waiting for a connection", async () => {
  const old = gateway(nowhere);
  await old.fire("gateway_start", { port: 1 }, {});
  await old.fire("after_tool_call", {});
  await old.fire("gateway_stop", { reason: "plugin replacement" }, {});
  assert.equal(old.shared().bridge.status().state, "closed");
  const next = gateway(nowhere);
  await next.fire("gateway_start", { port: 1 }, {});
  assert.equal(next.shared().bridge.status().buffered, 1);
  assert.equal(next.shared().bridge.status().dropped, 0);
});

test("reload: late answers are remembered, unless the breaker's options change", () => {
  const g = gateway({ ...nowhere, breaker: { lateAnswers: 1 } });
  const pausing = () => g.shared().bridge.status().pausing.length;
  g.shared().bridge.breaker("before_prompt_build").late();
  assert.equal(pausing(), 1);
  gateway({ ...nowhere, breaker: { lateAnswers: 1 } });
  assert.equal(pausing(), 1);
  gateway({ ...nowhere, breaker: { lateAnswers: 2 } });
  assert.equal(pausing(), 0);
});

test("reload: another version takes over", async () => {
  const old = gateway(nowhere);
  const before = old.shared();
  before.version = "0.0.1";
  const next = gateway(nowhere);
  assert.notEqual(next.shared(), before);
  await old.fire("after_tool_call", {});
  assert.equal(next.shared().bridge.status().told, 1, "old handlers use the new bridge");
});

test("/hint: on and off for a chat survive a restart", async () => {
  const directory = mkdtempSync(join(tmpdir(), "hint-"));
  try {
    const more = { runtime: { state: { resolveStateDir: () => directory } } };
    const first = gateway(nowhere, more);
    assert.match(first.hint("status"), /Hints for this chat: on/);
    assert.equal(first.hint("off"), "Hints are off for this chat.");
    await forget();

    const second = gateway(nowhere, more);
    assert.match(second.hint(), /Hints for this chat: off/);
    assert.equal(await second.fire("before_prompt_build", { prompt: "p", messages: [] }), undefined);
    assert.equal(second.shared().bridge.status().skipped, 0, "no request");
    await second.fire("before_prompt_build", { prompt: "p", messages: [] }, { ...CTX, sessionKey: "agent:main:telegram:direct:43" });
    assert.equal(second.shared().bridge.status().skipped, 1, "another chat would have sent one");
    assert.equal(second.hint("on"), "Hints are on for this chat.");
    const [{ chat, off }, ...others] = JSON.parse(readFileSync(join(directory, "plugins", "intention-hint", "chats-off.json"), "utf8"));
    assert.deepEqual([chat, off.length, others], [KEY, 1, []]);
    assert.ok(off[0][0] <= off[0][1] && off[0][1] <= Date.now(), "it keeps when the chat was off");
  } finally {
    rmSync(directory, { recursive: true });
  }
});

for (const [name, content] of [
  ["broken", "{"],
  ["of another shape", '{"a": 1}'],
  ["with odd entries", `[1, null, "x", {"chat": "${KEY}"}, {"chat": "${KEY}", "off": ["y", [], [null]]}]`],
]) {
  test(`/hint: a state file that is ${name} does no harm`, async () => {
    const directory = mkdtempSync(join(tmpdir(), "hint-"));
    try {
      const more = { runtime: { state: { resolveStateDir: () => directory } } };
      gateway(nowhere, more).hint("off");
      writeFileSync(join(directory, "plugins", "intention-hint", "chats-off.json"), content ?? "");
      await forget();
      const g = gateway(nowhere, more);
      assert.match(g.hint(), /Hints for this chat: on/);
      const said = g.log.filter((line) => line.includes("chats that were switched off are on again"));
      const aside = name !== "with odd entries";
      assert.equal(said.length, aside ? 1 : 0);
      assert.equal(existsSync(join(directory, "plugins", "intention-hint", "chats-off.json.corrupt")), aside);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
}

for (const [name, hooks, want] of /** @type {Array<[string, any, RegExp | undefined]>} */ ([
  ["conversations are hidden from the plugin", undefined, /^Never asked for a hint: .*plugins\.entries\.intention-hint\.hooks\.allowConversationAccess is true$/m],
  ["prompts may not be changed", { allowConversationAccess: true, allowPromptInjection: false }, /^Never asked for a hint: .*allowPromptInjection is false$/m],
  ["nothing is missing", { allowConversationAccess: true }, undefined],
])) {
  test(`/hint: says why the plugin is never asked: ${name}`, () => {
    const g = gateway(nowhere, { config: { plugins: { entries: { "intention-hint": { hooks } } } } });
    const logged = g.log.filter((line) => line.includes("never asked"));
    assert.equal(logged.length, want ? 1 : 0);
    if (want) assert.match(g.hint(), want);
    else assert.doesNotMatch(g.hint(), /Never asked/);
  });
}

test("/hint: chats that an older version kept as off are off", async () => {
  const directory = mkdtempSync(join(tmpdir(), "hint-"));
  try {
    mkdirSync(join(directory, "plugins", "intention-hint"), { recursive: true });
    writeFileSync(join(directory, "plugins", "intention-hint", "chats-off.json"), JSON.stringify([KEY]));
    assert.match(gateway(nowhere, { runtime: { state: { resolveStateDir: () => directory } } }).hint(), /Hints for this chat: off/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("/hint and /triage: nothing is published of a chat that is off", async () => {
  const g = gateway({ ...nowhere, triage: { enabled: true } });
  const told = () => g.shared().bridge.status().told;
  await g.fire("before_prompt_build", { prompt: "p", messages: [] });
  g.hint("off");
  g.hint("off", { sessionKey: GROUP });
  const before = told();
  for (const answer of [g.hint("right"), g.hint("wrong"), g.hint("wrong MEMORY_LOOKUP"), g.triage("skip")]) assert.match(answer, /Nothing is noted: hints are off for this chat.*\/hint on/);
  assert.equal(told(), before);
});

test("/hint: a run that no person began does not hide the chat's last hint", async () => {
  const g = gateway(nowhere);
  await g.fire("before_prompt_build", { prompt: "p", messages: [] });
  const before = g.hint();
  for (const ctx of [{ trigger: "heartbeat" }, { trigger: "cron" }, { inputProvenance: { kind: "inter_session" } }]) {
    await g.fire("before_prompt_build", { prompt: "p", messages: [] }, { ...CTX, runId: "background", ...ctx });
    assert.equal(/** @type {any} */ (/^Last hint.*$/m.exec(g.hint()))[0], /** @type {any} */ (/^Last hint.*$/m.exec(before))[0]);
  }
  const other = "agent:main:telegram:direct:43";
  await g.fire("before_prompt_build", { prompt: "p", messages: [] }, { ...CTX, sessionKey: other, trigger: "cron" });
  assert.match(g.hint("", { sessionKey: other }), /^Last hint here: no hint \(not_user_trigger\)/m, "without one it is shown");
});

test("/hint: a mark is refused where there is no hint that it could be about", async () => {
  const g = gateway({ ...nowhere, agents: ["main"] });
  assert.match(g.hint("right"), /^Nothing is noted: no hint was asked for here since the gateway started\.$/);
  await g.fire("before_prompt_build", { prompt: "p", messages: [] }, { ...CTX, agentId: "work" });
  assert.match(g.hint("right"), /^Nothing is noted: no hint was asked for in the last turn here \(agent_disabled\)\.$/);
  await g.fire("before_prompt_build", { prompt: "p", messages: [] });
  const told = g.shared().bridge.status().told;
  assert.match(g.hint(), /^Last hint here: no hint \(no_answer\)/m);
  assert.match(g.hint("wrong MEMORY_LOOKUP"), /^Nothing is noted: the request for a hint got no answer in the last turn here/);
  assert.equal(g.shared().bridge.status().told, told);
});

test("/hint: answers", () => {
  const g = gateway(nowhere);
  assert.equal(g.hint("off"), "Hints are off for this chat until the gateway restarts.");
  assert.match(g.hint("frobnicate"), /There is no \/hint frobnicate/);
  assert.match(g.hint("off", /** @type {any} */ ({})), /no session/);
  assert.match(g.hint(), /Last hint here: none yet/);
});

test("tools: exist with KnowHub only, and name the reason of a failure", async () => {
  assert.deepEqual(gateway(nowhere).tools, []);
  await forget();
  const g = gateway({ ...nowhere, knowhub: { enabled: true } });
  assert.deepEqual(g.tools.map((tool) => tool.name), ["kb_search", "kb_submit", "kb_content"]);
  await assert.rejects(g.tools[0].execute("c1", { query: "tea" }), /KnowHub search failed: no connection to NATS \(connection refused\)/);
  g.hint("off");
  for (const tool of g.tools) await assert.rejects(tool.execute("c2", { query: "tea", id: "x" }), /KnowHub \w+ failed: \/hint off is set for this chat$/);
  g.hint("on");
  await assert.rejects(g.tools[2].execute("c3", { id: "x" }), /no connection to NATS/);
});
