// The plugin against real consumers and a real NATS server.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";

import { VERSION } from "../src/config.js";
import { build, eventually, freePort, start } from "./consumer.js";
import { CTX, KEY, forget, gateway } from "./gateway.js";
import { samples } from "./samples.js";
import { eventsIn } from "./stream.js";

/** @type {ReturnType<typeof build>} */
let built;
/** @type {Awaited<ReturnType<typeof start>>} */
let consumer;
/** @type {import("@nats-io/transport-node").NatsConnection} */
let nc;

before(async () => {
  built = build();
  consumer = await start(built, { port: await freePort(), name: "main" });
  nc = await connect({ servers: consumer.url.replace("nats://", "") });
});

after(async () => {
  await nc?.close();
  await consumer?.stop();
  built?.remove();
});

afterEach(forget);

/** @param {string} id */
function session(id, data = consumer.data) {
  try {
    return JSON.parse(readFileSync(join(data, "sessions", `${id}.json`), "utf8"));
  } catch {
    return undefined;
  }
}

/** @param {() => Promise<unknown>} what */
async function took(what) {
  const began = performance.now();
  await what();
  return performance.now() - began;
}

/**
 * Answers requests of a prefix.
 *
 * @param {string} prefix
 * @param {(msg: import("@nats-io/transport-node").Msg, n: number) => void} answer
 * @param {string} [hooks] which, as the rest of the subject
 */
async function responder(prefix, answer, hooks = ">") {
  let n = 0;
  const subscription = nc.subscribe(`${prefix}.request.${hooks}`, { callback: (_error, msg) => answer(msg, n++) });
  await nc.flush();
  return { count: () => n, stop: () => subscription.unsubscribe() };
}

/** The id that the server gives to a new connection. */
async function clientId() {
  const probe = await connect({ servers: consumer.url.replace("nats://", "") });
  const id = probe.info?.client_id ?? 0;
  await probe.close();
  return id;
}

const prompt = (/** @type {string} */ text) => ({ prompt: text, messages: [] });

test("a turn: hint, tool call, end", async () => {
  const g = gateway({ natsUrl: consumer.url });
  await g.fire("gateway_start", { port: 1 }, {});
  const ctx = { ...CTX, sessionId: "turn", runId: "turn-1" };
  const result = /** @type {any} */ (await g.fire("before_prompt_build", prompt("remind me tomorrow at nine to water the plants"), ctx));
  assert.match(result.prependContext, /^intent: PRODUCTIVITY_CALENDAR/m);
  assert.deepEqual(Object.keys(result), ["prependContext"]);
  await g.fire("after_tool_call", { toolName: "cron", params: { at: 9n }, runId: "turn-1", toolCallId: "c1", result: "ok", durationMs: 3 }, ctx);
  await g.fire("agent_end", { runId: "turn-1", success: true, messages: [{ role: "user", content: "x" }, { role: "assistant", content: "Done." }] }, ctx);
  await eventually("the turn is a session file", () => session("turn")?.current.result === "Done.");
  assert.deepEqual(session("turn").current.toolCalls[0].params, { at: "9" });
  assert.match(g.hint(), /Last hint here: PRODUCTIVITY_CALENDAR 0\.\d\d from local/);
  assert.match(g.hint(), /Asked 1: 1 answered/);
});

test("no decision is no result", async () => {
  const g = gateway({ natsUrl: consumer.url, hooks: { decide: ["before_agent_run"] } });
  assert.equal(await g.fire("before_prompt_build", prompt("x"), { ...CTX, trigger: "cron" }), undefined);
  assert.match(g.hint(), /no hint \(not_user_trigger\)/);
  assert.equal(await g.fire("before_agent_run", prompt("x")), undefined);
});

test("a session that is held out gets no hint, and /hint says so", async () => {
  const told = headers();
  for (const [name, value] of [["Hint-Skip", "holdout"], ["Hint-Intent", "CODE_REVIEW"], ["Hint-Confidence", "0.97"], ["Hint-Source", "local"]]) told.set(/** @type {string} */ (name), /** @type {string} */ (value));
  const r = await responder("heldout", (msg) => void msg.respond("{}", { headers: told }));
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "heldout" });
  assert.equal(await g.fire("before_prompt_build", prompt("x")), undefined);
  assert.match(g.hint(), /Last hint here: CODE_REVIEW 0\.97 from local, not said \(holdout\)/);
  r.stop();
});

test("/hint wrong marks the last turn, and none before it", async () => {
  const told = headers();
  told.set("Hint-Intent", "CODE_REVIEW");
  const r = await responder("marked", (msg, n) => void (n === 0 && msg.respond('{"prependContext": "x"}', { headers: told })));
  /** @type {any[]} */
  const marks = [];
  const events = nc.subscribe("marked.event.feedback.>", { callback: (_error, msg) => void marks.push(/** @type {any} */ (msg.json()).event) });
  await nc.flush();
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "marked", timeoutMs: 500 });
  for (const attempt of ["answered", "late"]) {
    await g.fire("before_prompt_build", prompt("x"), { ...CTX, runId: "first" });
    assert.match(g.hint(), /Last hint here: CODE_REVIEW/, `${attempt}: a retry without an answer takes nothing away`);
  }
  for (const bad of ["NO/SUCH", "<b>", "A".repeat(201)]) assert.match(g.hint(`wrong ${bad}`), /^Nothing is noted: the id of an intent has/);
  assert.match(g.hint("wrong memory_lookup"), /^Noted: CODE_REVIEW is wrong, MEMORY_LOOKUP is right\. Where the consumer has no intent MEMORY_LOOKUP, /);
  await g.fire("before_prompt_build", prompt("y"), { ...CTX, runId: "second" });
  assert.match(g.hint("wrong"), /^Nothing is noted: the request for a hint got no answer in the last turn here/);
  await eventually("the mark", () => marks.length > 0);
  assert.deepEqual(marks, [{ kind: "hint", runId: "first", verdict: "wrong", intent: "MEMORY_LOOKUP" }]);
  events.unsubscribe();
  r.stop();
});

test("captured turns get the outcome that the whole session would have given", async () => {
  const g = gateway({ natsUrl: consumer.url });
  await g.fire("gateway_start", { port: 1 }, {});
  for (const [i, { event, ctx }] of samples("agent_end").entries()) {
    const id = `captured-${i}`;
    const mine = { ...ctx, sessionId: id, sessionKey: `agent:main:telegram:direct:${i}`, runId: id, trigger: "user", messageProvider: "telegram", channelId: "1", inputProvenance: undefined };
    await g.fire("before_prompt_build", prompt("hello"), mine);
    await g.fire("agent_end", { ...event, runId: id }, mine);
    await eventually(`${id} ended`, () => session(id)?.current.timestamps.end !== undefined);
    const last = event.messages.toReversed().find((/** @type {any} */ m) => m.role === "assistant");
    if (last?.stopReason === "error") assert.equal(session(id).current.error, last.errorMessage);
  }
});

test("a request: headers, subject and history", async () => {
  /** @type {import("@nats-io/transport-node").Msg | undefined} */
  let seen;
  const r = await responder("seen", (msg) => {
    seen = msg;
    msg.respond('{"prependContext": "x"}');
  });
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "seen", timeoutMs: 1234 });
  const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: "01" };
  const messages = [{ role: "user", content: "old" }, { role: "toolResult", content: [{ type: "text", text: "big" }] }];
  const ctx = { ...CTX, trace, abortSignal: new AbortController().signal, config: { secret: 1 } };
  assert.deepEqual(await g.fire("before_prompt_build", { prompt: "p", messages }, ctx), { prependContext: "x" });
  assert.equal(seen?.subject, "seen.request.before_prompt_build.main");
  const budget = Number(seen?.headers?.get("Hint-Timeout-Ms"));
  assert.ok(budget > 1000 && budget <= 1234, String(budget));
  assert.equal(seen?.headers?.get("traceparent"), `00-${trace.traceId}-${trace.spanId}-01`);
  const body = /** @type {any} */ (seen?.json());
  assert.deepEqual(body.event, { prompt: "p", messages: [{ role: "user", content: "old" }] });
  assert.deepEqual(body.ctx, { ...CTX, trace });
  assert.equal(body.hook, "before_prompt_build");
  assert.ok(Math.abs(body.ts - Date.now()) < 60_000);
  r.stop();
});

test("an event has the trace of its hook, and none without one", async () => {
  /** @type {Array<string | undefined>} */
  const seen = [];
  const events = nc.subscribe("openclaw.event.after_tool_call.*.traced", { callback: (_error, msg) => void seen.push(msg.headers?.get("traceparent") || undefined) });
  await nc.flush();
  const g = gateway({ natsUrl: consumer.url });
  const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: "01" };
  for (const more of [{ trace }, {}]) {
    await g.fire("after_tool_call", { toolName: "read", toolCallId: "c", result: "x" }, { ...CTX, sessionId: "traced", ...more });
  }
  await eventually("both events", () => seen.length === 2);
  assert.deepEqual(seen, [`00-${trace.traceId}-${trace.spanId}-01`, undefined]);
  events.unsubscribe();
});

test("a history beyond the server's max_payload loses its oldest messages", async () => {
  const small = await start(built, { port: await freePort(), name: "small", conf: "max_payload: 65536" });
  try {
    const g = gateway({ natsUrl: small.url, queryMode: "full" });
    const messages = Array.from({ length: 500 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `${i} ${"x".repeat(1000)}` }));
    const result = /** @type {any} */ (await g.fire("before_prompt_build", { prompt: "what did I tell you about the dentist?", messages }));
    assert.match(result?.prependContext ?? "", /MEMORY_LOOKUP/);
    await g.fire("after_tool_call", { toolName: "read", result: { content: [{ type: "text", text: "y".repeat(200_000) }] } });
    await eventually("the tool call is stored", () => g.shared().bridge.status().stored === 1);
    await forget();

    // Published before the server's max_payload is known.
    const early = gateway({ natsUrl: small.url });
    const text = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, "y".repeat(1000)]));
    for (const more of [text, {}]) await early.fire("session_start", { sessionId: "s1", ...more });
    await eventually("the large one is refused, the other is stored", () => {
      const { stored, refused, buffered } = early.shared().bridge.status();
      return stored === 1 && refused === 1 && buffered === 0;
    });
  } finally {
    await forget();
    await small.stop();
  }
});

test("no responders: the turn continues at once", async () => {
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "nobody" });
  await g.fire("gateway_start", { port: 1 }, {});
  await eventually("connected", () => g.shared().bridge.status().state === "up");
  for (let i = 0; i < 5; i++) {
    assert.ok((await took(async () => assert.equal(await g.fire("before_prompt_build", prompt("x")), undefined))) < 500);
  }
  assert.match(g.hint(), /0 late, 5 without a responder/);
  assert.equal(g.log.filter((line) => line.includes("is a consumer running?")).length, 1);
});

test("late answers: the turn continues in time, and requests stop until a probe is answered", async () => {
  let answering = false;
  const r = await responder("late", (msg) => {
    if (answering) msg.respond('{"prependContext": "x"}');
  });
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "late", timeoutMs: 500, breaker: { lateAnswers: 2, pauseMs: 1000 } });
  const ask = () => g.fire("before_prompt_build", prompt("x"));
  for (let i = 0; i < 2; i++) {
    const ms = await took(async () => assert.equal(await ask(), undefined));
    assert.ok(ms >= 400 && ms < 900, `${ms} ms`);
  }
  assert.ok((await took(ask)) < 100, "a pause");
  assert.match(g.log.join("\n"), /2 answers in a row were late/);
  assert.match(g.hint(), /Pausing before_prompt_build/);
  assert.equal(r.count(), 2);
  answering = true;
  await eventually("a probe is answered", async () => /** @type {any} */ (await ask())?.prependContext === "x");
  assert.equal(r.count(), 3, "one probe");
  assert.doesNotMatch(g.hint(), /Pausing/);
  r.stop();
});

/**
 * A stream for the events of a prefix, in which no consumer looks.
 *
 * @param {string} prefix
 */
async function stream(prefix) {
  const jsm = await jetstreamManager(nc);
  const name = prefix.toUpperCase();
  await jsm.streams.add({ name, subjects: [`${prefix}.event.>`] });
  return {
    /** All events, oldest first. */
    events: () => eventsIn(consumer.url, name),
    remove: () => jsm.streams.delete(name),
  };
}

for (const [name, prefix, responds] of /** @type {Array<[string, string, boolean]>} */ ([
  ["comes too late", "tardy", true],
  ["nobody gives", "vacant", false],
])) {
  test(`a turn whose answer ${name} is told with the request's own body, once for each time the gateway asks`, async () => {
    const { events, remove } = await stream(prefix);
    /** @type {any[]} */
    const requests = [];
    const r = responds ? await responder(prefix, (msg) => requests.push(msg.json())) : undefined;
    const g = gateway({ natsUrl: consumer.url, subjectPrefix: prefix, timeoutMs: 500, breaker: { lateAnswers: 1 } });
    await g.fire("gateway_start", { port: 1 }, {});
    const messages = [{ role: "user", content: "old" }, { role: "assistant", content: "old answer" }];
    for (const text of ["x", "Continue the current task"]) assert.equal(await g.fire("before_prompt_build", { prompt: text, messages }), undefined);
    await eventually("both are stored", () => g.shared().bridge.status().stored === 2);
    const told = await events();
    assert.deepEqual(told.map(({ body }) => body.event.prompt), ["x", "Continue the current task"]);
    for (const { subject, id, body } of told) {
      assert.equal(subject, `${prefix}.event.before_prompt_build.main.s1`);
      assert.equal(id, body.id);
      assert.deepEqual([body.hook, body.ctx, body.event.messages], ["before_prompt_build", CTX, messages]);
    }
    if (responds) assert.deepEqual(requests, [told[0]?.body], "the second was not asked: a pause after a late answer");
    r?.stop();
    await forget();
    await remove();
  });
}

test("an answer is not told, whatever it says", async () => {
  const { events, remove } = await stream("silent");
  const r = await responder("silent", (msg, n) => msg.respond(n === 0 ? "{}" : "garbage"));
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "silent" });
  for (let i = 0; i < 2; i++) await g.fire("before_prompt_build", prompt("x"));
  await g.fire("agent_end", { messages: [] });
  assert.deepEqual((await events()).map(({ body }) => body.hook), ["agent_end"]);
  r.stop();
  await forget();
  await remove();
});

test("late answers: only one of many turns probes", async () => {
  const r = await responder("probe", () => {});
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "probe", timeoutMs: 500, breaker: { lateAnswers: 1, pauseMs: 0 } });
  await g.fire("before_prompt_build", prompt("x"));
  await Promise.all(Array.from({ length: 20 }, () => g.fire("before_prompt_build", prompt("x"))));
  assert.equal(r.count(), 2);
  r.stop();
});

for (const [name, body] of /** @type {Array<[string, string | Uint8Array]>} */ ([
  ["an empty body", ""],
  ["not JSON", "<html>"],
  ["truncated JSON", '{"prependContext": "x"'],
  ["a list", "[1]"],
  ["null", "null"],
  ["a string", '"x"'],
  ["not UTF-8", Uint8Array.of(0x22, 0xff, 0x22)],
])) {
  test(`garbage: ${name} is no decision`, async () => {
    const r = await responder("garbage", (msg) => msg.respond(body));
    const g = gateway({ natsUrl: consumer.url, subjectPrefix: "garbage", hooks: { decide: ["before_tool_call"], failClosed: ["before_tool_call"] } });
    assert.equal(await g.fire("before_prompt_build", prompt("x")), undefined);
    assert.equal(/** @type {any} */ (await g.fire("before_tool_call", { toolName: "exec" })).block, true, "and it fails closed if configured");
    assert.match(g.hint(), /2 unusable/);
    r.stop();
  });
}

test("an error in the reply is no decision", async () => {
  const header = headers();
  header.set("Nats-Service-Error", "prompt of event must be a string");
  header.set("Nats-Service-Error-Code", "400");
  const r = await responder("errors", (msg) => msg.respond('{"prependContext": "x"}', { headers: header }));
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "errors" });
  assert.equal(await g.fire("before_prompt_build", prompt("x")), undefined);
  assert.match(g.log.join("\n"), /prompt of event must be a string/);
  r.stop();
});

test("a consumer of another release is named once in the log, and in /hint", async () => {
  let version = VERSION;
  const r = await responder("versions", (msg) => {
    assert.equal(msg.headers?.get("Hint-Version"), VERSION);
    const header = headers();
    if (version !== "") header.set("Hint-Version", version);
    msg.respond("{}", { headers: header });
  });
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "versions" });
  const [major = "", minor = ""] = VERSION.split(".");
  for (const { told, shown, lines } of [
    { told: VERSION, shown: "", lines: 0 },
    { told: `${major}.${minor}.999`, shown: "", lines: 0 },
    { told: "", shown: "", lines: 0 },
    { told: `${major}.999.0`, shown: `${major}.999.0`, lines: 1 },
    { told: `${major}.999.0`, shown: `${major}.999.0`, lines: 1 },
    { told: "", shown: `${major}.999.0`, lines: 1 },
    { told: "999.0.0", shown: "999.0.0", lines: 2 },
    { told: "unknown", shown: "", lines: 2 },
    { told: VERSION, shown: "", lines: 2 },
  ]) {
    version = told;
    await g.fire("before_prompt_build", prompt("x"));
    assert.equal(g.log.filter((line) => line.includes("the consumer is version")).length, lines, told);
    const said = shown === "" ? [] : [`The consumer is version ${shown}, this plugin ${VERSION}: upgrade so that both are of one release`];
    assert.deepEqual(g.hint().split("\n").filter((/** @type {string} */ line) => line.includes("version")), said, told);
  }
  r.stop();
});

test("the consumer of this repository is of the plugin's release", async () => {
  const g = gateway({ natsUrl: consumer.url });
  await g.fire("before_prompt_build", prompt("x"));
  assert.doesNotMatch(g.hint() + g.log.join("\n"), /version/);
  const request = headers();
  request.set("Hint-Version", VERSION);
  const reply = await nc.request("openclaw.request.before_prompt_build.main", '{"hook":"before_prompt_build","event":{"prompt":"x"},"ctx":{}}', { timeout: 10_000, headers: request });
  assert.equal(reply.headers?.get("Hint-Version"), VERSION);
});

test("a hook that nobody handles costs nothing: hints go on, nothing waits, one line is logged", async () => {
  const hints = await responder("unhandled", (msg) => msg.respond('{"prependContext": "x"}'), "before_prompt_build.*");
  for (const [failClosed, blocked] of /** @type {Array<[string[], boolean | undefined]>} */ ([
    [[], undefined],
    [["before_tool_call"], true],
  ])) {
    const g = gateway({ natsUrl: consumer.url, subjectPrefix: "unhandled", timeoutMs: 60_000, hooks: { decide: ["before_tool_call"], failClosed } });
    const call = async (/** @type {number} */ i) =>
      /** @type {any} */ (await g.fire("before_tool_call", { toolName: "exec" }, { ...CTX, agentId: `agent-${i % 10}` }))?.block;
    const ms = await took(async () => {
      for (let i = 0; i < 100; i++) {
        assert.equal(await call(i), blocked);
        if (i % 10 === 0) assert.deepEqual(await g.fire("before_prompt_build", prompt("x")), { prependContext: "x" });
      }
    });
    assert.ok(ms < 20_000, `${ms} ms, of 60,000 that one answer may take`);
    const said = g.log.filter((line) => line.includes("nobody answers"));
    assert.deepEqual(said, ["nobody answers before_tool_call: no service subscribes to unhandled.request.before_tool_call.*"]);
    assert.match(g.hint(), /^Nobody answers before_tool_call$/m);
    assert.doesNotMatch(g.hint(), /Pausing/);

    const calls = await responder("unhandled", (msg) => msg.respond("{}"), "before_tool_call.*");
    assert.equal(await call(0), undefined, "a service that has come decides at once");
    assert.doesNotMatch(g.hint(), /Nobody answers/);
    calls.stop();
    await nc.flush();
    assert.equal(await call(0), blocked, "and is missed at once when it has gone");
    await forget();
  }
  hints.stop();
});

test("late answers to one hook do not stop another", async () => {
  const hints = await responder("apart", (msg) => msg.respond('{"prependContext": "x"}'), "before_prompt_build.*");
  const calls = await responder("apart", () => {}, "before_tool_call.*");
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "apart", timeoutMs: 500, breaker: { lateAnswers: 1 }, hooks: { decide: ["before_tool_call"] } });
  for (let i = 0; i < 3; i++) assert.equal(await g.fire("before_tool_call", { toolName: "exec" }), undefined);
  assert.equal(calls.count(), 1);
  assert.match(g.hint(), /Pausing before_tool_call/);
  assert.deepEqual(await g.fire("before_prompt_build", prompt("x")), { prependContext: "x" });
  calls.stop();
  hints.stop();
});

test("a decision of another service reaches the gateway unchanged", async () => {
  const block = { block: true, blockReason: "not on Sundays", extra: [1] };
  const r = await responder("others", (msg) => msg.respond(msg.subject.includes("before_tool_call") ? JSON.stringify(block) : '{"handled": true}'));
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "others", hooks: { decide: ["before_tool_call"] }, triage: { enabled: true } });
  assert.deepEqual(await g.fire("before_tool_call", { toolName: "exec" }), block);
  const asked = r.count();
  let groups = 0;
  for (const { event, ctx } of samples("before_dispatch")) {
    const asked = event.isGroup && !event.content.startsWith("/");
    if (asked) groups++;
    assert.deepEqual(await g.fire("before_dispatch", event, ctx), asked ? { handled: true } : undefined);
  }
  assert.ok(groups > 0);
  assert.equal(r.count() - asked, groups, "the gate is for groups, and not for commands");
  r.stop();
});

test("reload during a request: the waiting turn continues, the next one gets its answer", async () => {
  const r = await responder("reload", (msg, n) => {
    if (n > 0) msg.respond('{"prependContext": "x"}');
  });
  const old = gateway({ natsUrl: consumer.url, subjectPrefix: "reload", timeoutMs: 20_000 });
  await old.fire("gateway_start", { port: 1 }, {});
  const waiting = old.fire("before_prompt_build", prompt("x"));
  await eventually("the request is in flight", () => r.count() === 1);
  await old.fire("gateway_stop", { reason: "plugin replacement" }, {});
  assert.equal(await waiting, undefined);
  const next = gateway({ natsUrl: [consumer.url], subjectPrefix: "reload" });
  await next.fire("gateway_start", { port: 1 }, {});
  assert.deepEqual(await next.fire("before_prompt_build", prompt("x")), { prependContext: "x" });
  assert.deepEqual(await old.fire("before_prompt_build", prompt("x")), { prependContext: "x" }, "an old handler uses the new bridge");
  r.stop();
});

test("a connection that breaks during a request: the turn continues at once", async () => {
  /** @type {import("node:net").Socket[]} */
  const sockets = [];
  const proxy = createServer((near) => {
    const far = dial(Number(new URL(consumer.url).port), "127.0.0.1");
    for (const socket of [near, far]) sockets.push(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const r = await responder("break", () => {
    for (const socket of sockets) socket.destroy();
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (proxy.address());
  const g = gateway({ natsUrl: `127.0.0.1:${port}`, subjectPrefix: "break", timeoutMs: 20_000 });
  await g.fire("gateway_start", { port: 1 }, {});
  const ms = await took(async () => assert.equal(await g.fire("before_prompt_build", prompt("x")), undefined));
  assert.ok(ms < 5000, `${ms} ms`);
  assert.equal(r.count(), 1);
  r.stop();
  await forget();
  proxy.close();
  await once(proxy, "close");
});

test("a turn of a long session is held no longer than one of a short session", async (t) => {
  const g = gateway({ natsUrl: consumer.url });
  await g.fire("gateway_start", { port: 1 }, {});
  const sides = [20, 200].map((turns) => ({
    turns,
    ctx: { ...CTX, sessionId: `long-${turns}`, sessionKey: `agent:main:telegram:direct:${turns}` },
    messages: Array.from({ length: turns }, (_, i) => [
      { role: "user", content: `${i} ${"a question of some length ".repeat(8)}` },
      { role: "toolResult", content: [{ type: "text", text: "a line of a file\n".repeat(400) }] },
      { role: "assistant", content: [{ type: "text", text: `${i} ${"an answer of some length ".repeat(20)}` }] },
    ]).flat(),
    times: /** @type {number[]} */ ([]),
  }));
  for (let round = 0; round < 80; round++) {
    for (const { turns, ctx, messages, times } of sides) {
      times.push(await took(() => g.fire("before_prompt_build", { prompt: "what is on my calendar?", messages }, { ...ctx, runId: `${turns}-${round}` })));
    }
  }
  assert.equal(g.shared().bridge.status().answered, 160);
  const [near = 0, late = 0] = sides.map(({ times }) => times.slice(20).toSorted((a, b) => a - b)[15]);
  t.diagnostic(`turn 20: ${near.toFixed(2)} ms; turn 200: ${late.toFixed(2)} ms`);
  assert.ok(late < 1.5 * near + 0.5, `${late} ms at turn 200, ${near} ms at turn 20`);
});

test("many registrations share one connection", async () => {
  const first = await clientId();
  for (let i = 0; i < 5; i++) {
    const g = gateway({ natsUrl: consumer.url });
    await g.fire("gateway_start", { port: 1 }, {});
    await g.fire("before_prompt_build", prompt("x"));
  }
  assert.equal((await clientId()) - first, 3, "the greeting check, the connection, and the count itself");
});

test("a command closes its connection, and its events are stored before it ends", async () => {
  const g = gateway({ natsUrl: consumer.url });
  const ctx = { ...CTX, sessionId: "local", runId: "local-1" };
  await g.fire("before_prompt_build", prompt("hello"), ctx);
  await g.fire("after_tool_call", { toolName: "read", runId: "local-1", toolCallId: "c" }, ctx);
  await g.fire("agent_end", { runId: "local-1", messages: [{ role: "assistant", content: "Hi." }] }, ctx);
  assert.equal(g.shared().bridge.status().stored, 2, "agent_end was awaited");
  await eventually("the connection is closed", () => g.shared().bridge.status().state === "closed", 3000);
  await g.fire("llm_output", {}, ctx);
  assert.match(/** @type {any} */ (await g.fire("before_prompt_build", prompt("hello"), { ...ctx, runId: "local-2" })).prependContext, /intent: CHAT/);
});

test("gateway_stop: the last events are stored, then the connection is closed", async () => {
  const g = gateway({ natsUrl: consumer.url });
  await g.fire("gateway_start", { port: 1 }, {});
  for (let i = 0; i < 300; i++) await g.fire("session_end", { sessionId: `s${i}`, sessionKey: KEY }, {});
  await g.fire("gateway_stop", { reason: "gateway stopping" }, {});
  assert.equal(g.shared().bridge.status().stored, 300);
  assert.equal(g.shared().bridge.status().state, "closed");
});

test("an outage: turns continue at once, events wait and are stored once and in order", async () => {
  const port = await freePort();
  let down = await start(built, { port, name: "outage" });
  try {
    const g = gateway({ natsUrl: down.url, hooks: { include: ["after_tool_call"] } });
    await g.fire("gateway_start", { port: 1 }, {});
    const status = () => g.shared().bridge.status();
    const call = (/** @type {number} */ i) => g.fire("after_tool_call", { toolName: "read", params: { i } }, { agentId: "main", sessionId: "outage", sessionKey: KEY });
    for (let i = 0; i < 100; i++) await call(i);
    await down.kill();
    for (let i = 100; i < 200; i++) await call(i);
    await eventually("the loss is noticed", () => status().state === "down");
    assert.ok((await took(async () => assert.equal(await g.fire("before_prompt_build", prompt("x")), undefined))) < 100);
    for (let i = 200; i < 300; i++) await call(i);
    down = await start(built, { port, name: "outage" });
    await eventually("all is stored, and the turn that got no answer", () => status().stored === 301);
    assert.deepEqual([status().buffered, status().dropped, status().refused], [0, 0, 0]);

    const other = await connect({ servers: `127.0.0.1:${port}` });
    const jsm = await jetstreamManager(other);
    const info = await jsm.streams.info("OPENCLAW_EVENTS");
    const order = [];
    for (let seq = 1; seq <= info.state.last_seq; seq++) {
      const stored = await jsm.streams.getMessage("OPENCLAW_EVENTS", { seq });
      if (stored?.subject === "openclaw.event.after_tool_call.main.outage") order.push(stored.json().event.params.i);
    }
    await other.close();
    assert.deepEqual(order, Array.from({ length: 300 }, (_, i) => i));
    assert.match(/** @type {any} */ (await g.fire("before_prompt_build", prompt("Continue the current task"))).prependContext, /goal: x\n/, "a retry is about the first prompt");
    assert.match(/** @type {any} */ (await g.fire("before_prompt_build", prompt("hello"), { ...CTX, runId: "after" })).prependContext, /intent: CHAT/);
    assert.equal(g.log.filter((line) => line.includes("no connection to NATS")).length, 1);
  } finally {
    await forget();
    await down.stop();
  }
});

test("least rights: a denial is known at once and does not delay the rest", async () => {
  const conf = `authorization { users: [
    { user: "test", password: "pw" }
    { user: "gw", password: "p@ss", permissions: { publish: ["openclaw.request.>", "openclaw.event.agent_end.>"], subscribe: ["_INBOX_gw.>"] } }
  ] }`;
  const port = await freePort();
  const guarded = await start(built, { port, name: "guarded", conf, user: "test:pw" });
  try {
    const config = { natsUrl: `nats://gw:p%40ss@127.0.0.1:${port}`, natsInboxPrefix: "_INBOX_gw" };
    const g = gateway(config);
    await g.fire("gateway_start", { port: 1 }, {});
    assert.match(/** @type {any} */ (await g.fire("before_prompt_build", prompt("hello"))).prependContext, /intent: CHAT/);
    await g.fire("after_tool_call", {}, CTX);
    await g.fire("agent_end", { messages: [] }, CTX);
    await eventually("one is stored, one is refused", () => {
      const { stored, refused, buffered } = g.shared().bridge.status();
      return stored === 1 && refused === 1 && buffered === 0;
    });
    assert.match(g.log.join("\n"), /events are not stored: .*Permissions Violation/i);
    await forget();

    const inbox = gateway({ ...config, natsInboxPrefix: "" });
    assert.ok((await took(async () => assert.equal(await inbox.fire("before_prompt_build", prompt("hello")), undefined))) < 1500);
    await forget();

    const stranger = gateway({ natsUrl: `nats://gw:wrong@127.0.0.1:${port}` });
    assert.ok((await took(async () => assert.equal(await stranger.fire("before_prompt_build", prompt("hello")), undefined))) < 1500);
    assert.match(stranger.hint(), /not connected \(Authorization Violation: check the user and password/);
  } finally {
    await forget();
    await guarded.stop();
  }
});

test("a stream of another name refuses events when one is named", async () => {
  const g = gateway({ natsUrl: consumer.url, stream: "OTHER" });
  await g.fire("after_tool_call", {});
  await eventually("it is refused", () => g.shared().bridge.status().refused === 1);
  assert.match(g.log.join("\n"), /events are not stored: .*stream/);
});

test("tools: ask KnowHub, and its errors are readable", async () => {
  const g = gateway({ natsUrl: consumer.url, subjectPrefix: "kb", knowhub: { enabled: true, submittedBy: "ada" } });
  const [search, submit, content] = g.tools;
  await assert.rejects(search.execute("c", { query: "tea" }, AbortSignal.abort()), /cancelled/);
  await assert.rejects(search.execute("c", { query: "tea" }), /KnowHub search failed: no service answers/);
  /** @type {any[]} */
  const asked = [];
  const sub = nc.subscribe("kb.knowhub.>", {
    callback: (_error, msg) => {
      asked.push([msg.subject, msg.json()]);
      if (msg.subject.endsWith("content")) msg.respond('{"error": "there is no experience 7"}');
      else msg.respond('{"experiences": [{"id": "1"}]}');
    },
  });
  await nc.flush();
  const found = await search.execute("c", { query: "tea" });
  assert.deepEqual(found.details, { experiences: [{ id: "1" }] });
  assert.match(found.content[0].text, /"id": "1"/);
  await submit.execute("c", { task: "t", resource: "r", result: "x" });
  await assert.rejects(content.execute("c", { id: "7" }), /KnowHub content failed: there is no experience 7/);
  assert.deepEqual(asked, [
    ["kb.knowhub.search", { q: "tea", limit: 5, for_agent: "main" }],
    ["kb.knowhub.submit", { task: "t", resource: "r", result: "x", agent_id: "main", submitted_by: "ada" }],
    ["kb.knowhub.content", { id: "7", agent_id: "main" }],
  ]);
  sub.unsubscribe();
});
