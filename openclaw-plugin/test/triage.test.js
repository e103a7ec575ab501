// The triage gate's side of the plugin: what it asks, adds, remembers and lets people say.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { build, eventually, freePort, start } from "./consumer.js";
import { CTX, GROUP, KEY, forget, gateway } from "./gateway.js";
import { startService } from "./service.js";
import { eventsIn } from "./stream.js";

/** @type {ReturnType<typeof build>} */
let built;
/** @type {Awaited<ReturnType<typeof start>>} */
let consumer;

before(async () => {
  built = build();
  consumer = await start(built, { port: await freePort(), name: "triage" });
});

after(async () => {
  await consumer?.stop();
  built?.remove();
});

afterEach(forget);

const nowhere = { natsUrl: "nats://127.0.0.1:1", triage: { enabled: true } };

/** A message of a group, as before_dispatch has it. @param {string} messageId @param {string} content */
const said = (messageId, content, more = {}) => ({ messageId, content, body: content, channel: "telegram", sessionKey: GROUP, senderId: "7001", isGroup: true, ...more });

const where = { sessionKey: GROUP, senderId: "7001" };

/** A group's turn. @param {object} [more] */
const turnOf = (more = {}) => ({ ...CTX, sessionKey: GROUP, ...more });

/** @param {object} message of reply_dispatch, as a channel fills it */
const dispatched = (message) => ({ ctx: message, sessionKey: GROUP, inboundAudio: false });

let prefixes = 0;

/**
 * A gateway, and in the gate's place a service that skips what says so.
 *
 * @param {object} [triage]
 * @param {object} [more] of the plugin API
 */
async function gated(triage = {}, more = {}) {
  const subjectPrefix = `triage${++prefixes}`;
  const gate = await startService({
    url: consumer.url,
    subject: `${subjectPrefix}.request.before_dispatch.*`,
    decide: ({ event }) => (event.content.includes("skip") ? { handled: true } : {}),
    explain: ({ event }) => ({ "Triage-Decision": event.content.includes("skip") ? "skip" : "respond", "Triage-Reason": "model", "Triage-Score": "3", "Triage-Model": "mock/small" }),
  });
  const turns = await startService({ url: consumer.url, subject: `${subjectPrefix}.request.before_prompt_build.*`, decide: () => ({}) });
  const g = gateway({ natsUrl: consumer.url, subjectPrefix, triage: { enabled: true, ...triage } }, more);
  await g.fire("gateway_start", { port: 1 }, {});
  return { ...g, gate, turns, stop: () => Promise.all([gate.stop(), turns.stop()]) };
}

test("a skipped message is handled, an answered one is not", async () => {
  const g = await gated();
  assert.deepEqual(await g.fire("before_dispatch", said("1", "skip me"), where), { handled: true });
  assert.equal(await g.fire("before_dispatch", said("2", "answer me"), where), undefined);
  assert.equal(g.gate.asked.length, 2);
  await g.stop();
});

for (const [name, more, want] of /** @type {Array<[string, any, string | undefined]>} */ ([
  ["from a list of agents", { config: { agents: { list: [{ id: "main", identity: { name: "Rosalind" } }] } } }, "Rosalind"],
  ["from agents by id", { config: { agents: { entries: { main: { identity: { name: "Rosalind" } } } } } }, "Rosalind"],
  ["as the gateway resolves it", { runtime: { agent: { resolveAgentIdentity: (/** @type {any} */ config, /** @type {string} */ id) => ({ name: `${config.a} ${id}` }) }, config: { current: () => ({ a: "now" }) } } }, "now main"],
  ["of another agent", { config: { agents: { list: [{ id: "work", identity: { name: "Rosalind" } }] } } }, undefined],
  ["nowhere", {}, undefined],
  ["failing", { runtime: { config: { current: () => assert.fail("no configuration") } } }, undefined],
])) {
  test(`the gate is asked with the agent's name: ${name}`, async () => {
    const g = await gated({}, more);
    await g.fire("before_dispatch", said("1", "hello"), where);
    assert.deepEqual(g.gate.asked[0].ctx, want === undefined ? where : { ...where, agentName: want, agentNames: [want] });
    await g.stop();
  });
}

test("the gate is asked with all names of the agent: identity, user name on the channel, patterns", async () => {
  const g = await gated({}, { config: { agents: { list: [{ id: "main", identity: { name: "Rosalind" } }] }, messages: { groupChat: { mentionPatterns: ["@?rosa", "", 7] } } } });
  const on = { ...where, channelId: "telegram", accountId: "default" };
  await g.fire("before_dispatch", said("1", "hello"), on);
  assert.deepEqual(g.gate.asked[0].ctx.agentNames, ["Rosalind", "@?rosa"]);
  await g.fire("reply_dispatch", dispatched({ BotUsername: "rosa_bot", Provider: "telegram", AccountId: "default" }), {});
  await g.fire("before_dispatch", said("2", "hello"), on);
  assert.deepEqual(g.gate.asked[1].ctx.agentNames, ["Rosalind", "@rosa_bot", "@?rosa"]);
  await g.fire("before_dispatch", said("3", "hello"), { ...on, accountId: "second" });
  assert.deepEqual(g.gate.asked[2].ctx.agentNames, ["Rosalind", "@?rosa"], "another account's bot has another name");
  await g.stop();
});

test("an agent's own patterns replace those for all", async () => {
  const g = await gated({}, { config: { agents: { entries: { main: { groupChat: { mentionPatterns: ["nova"] } } } }, messages: { groupChat: { mentionPatterns: ["rosa"] } } } });
  await g.fire("before_dispatch", said("1", "hello"), where);
  assert.deepEqual(g.gate.asked[0].ctx, { ...where, agentName: "nova", agentNames: ["nova"] });
  await g.stop();
});

test("lists of groups cover their topics", async () => {
  const g = await gated({ excludeGroups: [GROUP] });
  await g.fire("before_dispatch", said("1", "skip me", { sessionKey: `${GROUP}:topic:42` }), { ...where, sessionKey: `${GROUP}:topic:42` });
  assert.deepEqual(g.gate.asked, []);
  await g.stop();
});

test("commands to the gateway are nobody's decision", async () => {
  const g = await gated();
  for (const content of ["/new", "/triage skip", " /hint@a_bot skip", "/model: x", "/stop\nnow"]) assert.equal(await g.fire("before_dispatch", said("1", content), where), undefined);
  assert.deepEqual(g.gate.asked, []);
  const others = ["/ skip, a slash alone", "/etc/hosts looks odd", "/tmp/x.log", "see /new"];
  for (const [i, content] of others.entries()) await g.fire("before_dispatch", said(String(i + 2), content), where);
  assert.equal(g.gate.asked.length, others.length);
  await g.stop();
});

for (const [name, message, want] of /** @type {Array<[string, any, string[] | undefined]>} */ ([
  ["a plain list", { InboundHistory: [{ sender: "Ada", body: "a", messageId: "5" }, { sender: "Ada", body: "b", messageId: "7" }] }, ["5", "7"]],
  [
    "a window, which stands for the list",
    {
      InboundHistory: [{ messageId: "1" }],
      ChannelStructuredContext: [{ type: "chat_window", payload: { messages: [{ message_id: "session:c9" }, { message_id: "5" }, {}] } }, { type: "other", payload: { messages: [{ message_id: "9" }] } }],
    },
    ["session:c9", "5"],
  ],
  ["the newest of a long list", { InboundHistory: Array.from({ length: 30 }, (_, i) => ({ messageId: String(i) })) }, Array.from({ length: 20 }, (_, i) => String(i + 10))],
  ["nothing", {}, undefined],
  ["odd values", { InboundHistory: [null, 7, { messageId: 5 }], ChannelStructuredContext: "x" }, undefined],
])) {
  test(`a group's turn is asked about with what the gateway tells itself: ${name}`, async () => {
    const g = await gated();
    await g.fire("reply_dispatch", dispatched({ InboundHistory: [{ messageId: "of an earlier turn" }] }), {});
    assert.equal(await g.fire("reply_dispatch", dispatched(message), {}), undefined);
    const turn = (/** @type {string} */ runId) => g.fire("before_prompt_build", { prompt: "p", messages: [] }, turnOf({ runId }));
    await turn("r1");
    await g.fire("reply_dispatch", dispatched({ InboundHistory: [{ messageId: "of a later turn" }] }), {});
    await turn("r1");
    await turn("r2");
    assert.deepEqual(g.turns.asked.map(({ ctx }) => ctx.heldMessageIds), [want, want, ["of a later turn"]], "a retry is told what the turn was");
    await g.fire("before_prompt_build", { prompt: "p", messages: [] }, CTX);
    assert.equal(g.turns.asked[3].ctx.heldMessageIds, undefined, "another chat");
    await g.stop();
  });
}

test("of a group's turn that got no answer ids alone are told", async () => {
  const directory = mkdtempSync(join(tmpdir(), "triage-"));
  try {
    const g = gateway(nowhere, { runtime: { state: { resolveStateDir: () => directory } } });
    await g.fire("gateway_start", { port: 1 }, {});
    await g.fire("before_prompt_build", { prompt: "secret", messages: [{ role: "user", content: "secret" }] }, turnOf({ runId: "lost" }));
    const file = join(directory, "plugins", "intention-hint", "outbox.jsonl");
    await eventually("the event waits on disk", () => existsSync(file));
    const waiting = readFileSync(file, "utf8");
    assert.match(waiting, /openclaw\.event\.before_prompt_build\.main\.s1/);
    assert.match(waiting, /lost/);
    assert.doesNotMatch(waiting, /secret/);
  } finally {
    await forget();
    rmSync(directory, { recursive: true });
  }
});

test("/triage: tells what was decided and why", async () => {
  const g = await gated();
  assert.match(g.triage(), /^Triage gate for this chat: on\nLast decision: none yet$/);
  await g.fire("before_dispatch", said("1", "skip   me,\nplease"), where);
  assert.match(g.triage("status"), /^Last decision: skip \(model, score 3, mock\/small\), message 1 of 7001: "skip me, please", \d+\.\d ms, at 20/m);
  assert.doesNotMatch(g.triage(), /Last skipped/);
  await g.fire("before_dispatch", said("2", `answer ${"x".repeat(100)}`), where);
  assert.match(g.triage(), /^Last decision: respond \(.*message 2 of 7001: "answer x{53}…"/m);
  assert.match(g.triage(), /^Last skipped: skip \(.*message 1 of 7001/m);
  assert.match(g.triage("status", { sessionKey: KEY }), /for this chat: off \(only for groups/);
  await g.gate.stop();
  await g.fire("before_dispatch", said("3", "anybody?"), where);
  assert.match(g.triage(), /^Last decision: respond \(unanswered\), message 3/m);
  assert.match(g.triage(), /^Nobody answers before_dispatch, so every message is answered$/m);
  await g.turns.stop();
});

test("/triage: remembers the newest decisions alone, and a repeat once", async () => {
  const g = gateway(nowhere);
  for (let i = 0; i < 30; i++) await g.fire("before_dispatch", said(String(i), "x"), where);
  await g.fire("before_dispatch", said("29", "x"), where);
  const ids = g.shared().bridge.gate.verdicts(GROUP).map((/** @type {any} */ verdict) => verdict.messageId);
  assert.deepEqual(ids, Array.from({ length: 20 }, (_, i) => String(i + 10)));
  assert.match(g.triage(), /^NATS: not connected, so every message is answered$/m);
});

test("/triage respond and skip publish feedback, on the last message or on the one that is replied to", async () => {
  const g = await gated();
  // A subject that the consumer's stream takes.
  const own = gateway({ natsUrl: consumer.url, triage: { enabled: true } });
  const ctx = { agentId: "main", sessionId: "s7", senderId: "7001" };
  assert.match(own.triage("skip", ctx), /^Nothing was decided here/);
  await own.fire("before_dispatch", said("5", "first"), where);
  await own.fire("before_dispatch", said("6", "second"), where);
  assert.equal(own.triage("respond", ctx), 'Noted: message 6 ("second") deserves an answer.');
  await own.fire("before_dispatch", said("7", "/triage skip", { replyToId: "5" }), where);
  assert.equal(own.triage("SKIP", ctx), 'Noted: message 5 ("first") needs no answer.');
  await own.fire("before_dispatch", said("8", "/triage skip", { replyToId: "2" }), where);
  await own.fire("before_dispatch", said("9", "/triage respond", { replyToId: "5", senderId: "7002" }), { ...where, senderId: "7002" });
  assert.equal(own.triage("skip", ctx), "Noted: message 2 needs no answer.", "older than the gateway, and not what another person replies to");
  await own.fire("before_dispatch", said("10", "/triage respond"), where);
  assert.match(own.triage("respond", ctx), /message 6/, "a command that is no reply is on the last message");
  await eventually("the feedback is stored", () => own.shared().bridge.status().stored === 4);
  const feedback = (await eventsIn(consumer.url, "OPENCLAW_EVENTS")).filter(({ body }) => body.hook === "feedback" && body.event.kind === "triage");
  assert.deepEqual(
    feedback.map(({ body }) => body.event),
    [
      ["6", "respond"],
      ["5", "skip"],
      ["2", "skip"],
      ["6", "respond"],
    ].map(([messageId, verdict]) => ({ kind: "triage", messageId, group: GROUP, verdict, by: "7001" })),
  );
  for (const { subject, id, body } of feedback) {
    assert.equal(subject, "openclaw.event.feedback.main.s7");
    assert.equal(id, body.id);
    assert.deepEqual(body.ctx, { agentId: "main", sessionKey: GROUP, sessionId: "s7" });
  }
  await g.stop();
});

test("/triage off: the gate is not asked, also after a restart", async () => {
  const directory = mkdtempSync(join(tmpdir(), "triage-"));
  try {
    const more = { runtime: { state: { resolveStateDir: () => directory } } };
    const first = await gated({}, more);
    assert.equal(first.triage("off"), "The triage gate is off for this chat.");
    assert.equal(await first.fire("before_dispatch", said("1", "skip me"), where), undefined);
    assert.deepEqual(first.gate.asked, []);
    await first.fire("before_prompt_build", { prompt: "p", messages: [] }, turnOf());
    assert.equal(first.turns.asked.length, 1, "what was skipped before is still told");
    await first.stop();
    await forget();

    const second = await gated({}, more);
    assert.match(second.triage(), /^Triage gate for this chat: off$/m);
    assert.equal(second.triage("on"), "The triage gate is on for this chat.");
    assert.deepEqual(await second.fire("before_dispatch", said("1", "skip me"), where), { handled: true });
    const [{ off }] = JSON.parse(readFileSync(join(directory, "plugins", "intention-hint", "triage-off.json"), "utf8"));
    assert.deepEqual(off.map((/** @type {number[]} */ span) => span.length), [2], "it was off once, and is not any more");
    await second.stop();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("/triage: answers", () => {
  const g = gateway(nowhere);
  assert.equal(g.triage("off"), "The triage gate is off for this chat until the gateway restarts.");
  assert.match(g.triage("frobnicate"), /There is no \/triage frobnicate/);
  assert.match(g.triage("skip", /** @type {any} */ ({ sessionKey: undefined })), /no session/);
});

test("without triage there is no command, and nothing is watched", () => {
  const g = gateway({ natsUrl: "nats://127.0.0.1:1" });
  assert.deepEqual([...g.commands.keys()], ["hint"]);
  assert.ok(!g.hooks.has("reply_dispatch") && !g.hooks.has("before_dispatch"));
});

for (const [name, config, want] of /** @type {Array<[string, any, string[]]>} */ ([
  ["without triage", {}, []],
  ["a gate without history", { triage: { enabled: true } }, []],
  ["a gate with history", { triage: { enabled: true, historyCount: 3 } }, [GROUP]],
  ["a trained gate", { triage: { enabled: true, local: true } }, [GROUP]],
  ["a gate with history for other groups", { triage: { enabled: true, historyCount: 3, excludeGroups: [GROUP] } }, []],
  ["an operator who lists it", { hooks: { include: ["message_sent"] } }, [KEY]],
  ["an operator who excludes it", { triage: { enabled: true, historyCount: 3 }, hooks: { exclude: ["message_sent"] } }, []],
])) {
  test(`the agent's own messages are told where somebody uses them: ${name}`, async () => {
    const g = gateway({ ...config, natsUrl: "nats://127.0.0.1:1" });
    /** @type {string[]} */
    const told = [];
    for (const sessionKey of [GROUP, KEY]) {
      const { told: before } = g.shared().bridge.status();
      await g.fire("message_sent", { to: "telegram:-100", content: "Done.", success: true, messageId: "9", sessionKey }, { channelId: "telegram", sessionKey, messageId: "9" });
      if (g.shared().bridge.status().told > before) told.push(sessionKey);
    }
    assert.deepEqual(told, want);
  });
}

test("/hint right and wrong publish feedback on the last run", async () => {
  const g = gateway({ natsUrl: consumer.url });
  const ctx = { sessionKey: KEY, agentId: "main", senderId: "42" }; // a command need not know the session's id
  assert.match(g.hint("right", ctx), /^Nothing is noted: no hint was asked for/);
  await g.fire("before_prompt_build", { prompt: "remind me tomorrow at nine to water the plants", messages: [] }, { ...CTX, sessionId: "rated", runId: "rated-1" });
  assert.equal(g.hint("right", ctx), "Noted: PRODUCTIVITY_CALENDAR is right.");
  assert.match(g.hint("wrong code_review", ctx), /^Noted: PRODUCTIVITY_CALENDAR is wrong, CODE_REVIEW is right\./);
  assert.match(g.hint("right CODE_REVIEW", ctx), /^Use \/hint right/);
  await eventually("the feedback is stored", () => g.shared().bridge.status().stored === 2);
  const feedback = (await eventsIn(consumer.url, "OPENCLAW_EVENTS")).filter(({ body }) => body.hook === "feedback" && body.event.kind === "hint");
  assert.deepEqual(
    feedback.map(({ subject, body }) => [subject, body.event]),
    [
      ["openclaw.event.feedback.main.rated", { kind: "hint", runId: "rated-1", verdict: "right", by: "42" }],
      ["openclaw.event.feedback.main.rated", { kind: "hint", runId: "rated-1", verdict: "wrong", intent: "CODE_REVIEW", by: "42" }],
    ],
  );
});

test("/hint right and wrong need a turn that was asked about", async () => {
  const g = gateway({ natsUrl: "nats://127.0.0.1:1" });
  await g.fire("before_prompt_build", { prompt: "p", messages: [] }, turnOf());
  assert.match(g.hint("wrong", { sessionKey: GROUP }), /^Nothing is noted: no hint was asked for/);
});
