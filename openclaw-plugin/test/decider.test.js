// The gateway's decision model, against services on a real NATS server.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, afterEach, before, test } from "node:test";

import { build, eventually, freePort, start } from "./consumer.js";
import { forget, gateway } from "./gateway.js";
import { startService } from "./service.js";

/** @type {ReturnType<typeof build>} */
let built;
/** @type {Awaited<ReturnType<typeof start>>} */
let consumer;

before(async () => {
  built = build();
  consumer = await start(built, { port: await freePort(), name: "main" });
});

after(async () => {
  await consumer?.stop();
  built?.remove();
});

afterEach(forget);

let prefixes = 0;

/** The provider that the plugin registers. @param {object} config */
function provider(config) {
  /** @type {import("../src/api.js").DecisionProvider | undefined} */
  let given;
  const g = gateway(config, { registerDecisionProvider: (/** @type {any} */ one) => (given = one) });
  assert.ok(given);
  return Object.assign(g, { provider: given });
}

/**
 * The provider, and a service that answers it.
 *
 * @param {(body: any) => object} decide
 * @param {Partial<Parameters<typeof startService>[0]>} [more]
 */
async function answered(decide, more = {}) {
  const subjectPrefix = `decider${++prefixes}`;
  const service = await startService({ url: consumer.url, subject: `${subjectPrefix}.request.decide.*`, decide, ...more });
  return { service, ...provider({ natsUrl: consumer.url, subjectPrefix }) };
}

/** @param {number} [ms] @param {AbortSignal} [signal] */
const context = (ms = 5000, signal = new AbortController().signal) => ({ model: "auto", agentId: "main", signal, deadlineMonotonicMs: performance.now() + ms });

const unavailable = (/** @type {string} */ reason) => ({ status: "unavailable", reason });

/** @type {import("../src/api.js").DecisionBatch} */
const batch = {
  state: { latest: "Where is my card?" },
  questions: {
    topic: { type: "choice", instructions: "What is it about?", criteria: { card: "a card", other: null } },
    urgency: { type: "score", criteria: ["can wait", { means: "this week" }, null] },
    tools: { type: "boolean", instructions: null, criteria: { true: "needs tools" } },
  },
};

/** Answers of the wire (contract §15). */
const reply = {
  model: "wire/one",
  answers: {
    topic: { type: "choice", choice: "card", confidence: 0.6, probabilities: { card: 0.8, other: 0.2 } },
    urgency: { type: "score", score: 1.2, confidence: 0.7, probabilities: { 2: 0.3, 0: 0.1, 1: 0.6 }, legend: { 0: "can wait", 1: {}, 2: null } },
    tools: { type: "noul", noul: 0.25 },
  },
  usage: { input_tokens: 12, output_tokens: 3 },
};

/** The reply without an answer, or with another in its place. @param {string} key @param {object} [answer] */
const changed = (key, answer) => ({ ...reply, answers: { ...reply.answers, [key]: answer } });

test("decision model: questions and answers take the form of the other side", async () => {
  const { service, provider } = await answered(() => reply);
  assert.deepEqual([provider.id, provider.contractVersion, provider.isReady()], ["intenthint", 1, true]);
  assert.deepEqual(await provider.evaluate(batch, context()), {
    status: "ok",
    result: {
      model: "wire/one",
      answers: {
        topic: { type: "choice", choice: "card", confidence: 0.6, probabilities: { card: 0.8, other: 0.2 } },
        urgency: { type: "score", score: 1.2, confidence: 0.7, probabilities: [0.1, 0.6, 0.3] },
        tools: { type: "boolean", probabilityTrue: 0.25 },
      },
      usage: { inputTokens: 12, outputTokens: 3 },
    },
  });
  const [{ hook, ctx, event }] = service.asked;
  assert.deepEqual([hook, ctx], ["decide", { agentId: "main" }]);
  assert.deepEqual(event, { model: "auto", state: batch.state, questions: { ...batch.questions, tools: { ...batch.questions.tools, type: "noul" } } });
  await service.stop();
});

for (const [name, decide, headers, want] of /** @type {Array<[string, () => any, Record<string, string>, string]>} */ ([
  ["no teacher", () => ({}), { "Decide-Skip": "no_teacher" }, "unsupported-input"],
  ["the teacher is not sure", () => ({}), { "Decide-Skip": "unsure" }, "unsupported-input"],
  ["unsupported questions", () => ({}), { "Decide-Skip": "unsupported" }, "unsupported-input"],
  ["the teacher is late", () => ({}), { "Decide-Skip": "deadline" }, "unsupported-input"],
  ["too many questions at once", () => ({}), { "Decide-Skip": "overloaded" }, "rate-limited"],
  ["no reason", () => ({}), {}, "unsupported-input"],
  ["an error of the service", () => ({}), { "Nats-Service-Error": "bad request" }, "invalid-response"],
  ["no object", () => [], {}, "invalid-response"],
  ["no model", () => ({ answers: reply.answers }), {}, "invalid-response"],
  ["no answers", () => ({ model: "wire/one" }), {}, "invalid-response"],
  ["an answer is missing", () => changed("tools"), {}, "invalid-response"],
  ["an answer to another type", () => changed("topic", reply.answers.tools), {}, "invalid-response"],
])) {
  test(`decision model: ${name}: ${want}`, async () => {
    const { service, provider } = await answered(decide, { explain: () => headers });
    assert.deepEqual(await provider.evaluate(batch, context()), unavailable(want));
    await service.stop();
  });
}

test("decision model: a service that is silent is not waited for", async () => {
  const { service, provider } = await answered(() => reply, { delayMs: 2000 });
  assert.deepEqual(await provider.evaluate(batch, context(400)), unavailable("transport"));
  await service.stop();
});

test("decision model: an answer is wanted 20 ms before the deadline", async () => {
  const { provider: given, shared } = provider({});
  /** @type {number[]} */
  const deadlines = [];
  shared().bridge = { request: async (/** @type {any[]} */ ...args) => (deadlines.push(args[3]), { outcome: "down" }), close: async () => {} };
  const asked = context();
  await given.evaluate(batch, asked);
  assert.deepEqual(deadlines, [asked.deadlineMonotonicMs - 20]);
});

test("decision model: with no time left nobody is asked", async () => {
  const { service, provider } = await answered(() => reply);
  assert.deepEqual(await provider.evaluate(batch, context(15)), unavailable("unsupported-input"));
  assert.equal((await provider.evaluate(batch, context())).status, "ok");
  assert.equal(service.asked.length, 1);
  await service.stop();
});

test("decision model: an abort settles at once, and leaves no listener", async () => {
  const { service, provider } = await answered(() => reply, { delayMs: 3000 });
  const controller = new AbortController();
  const pending = provider.evaluate(batch, context(60_000, controller.signal));
  await eventually("it is asked", () => service.asked.length === 1);
  const began = performance.now();
  controller.abort();
  assert.deepEqual(await pending, unavailable("transport"));
  assert.ok(performance.now() - began < 1000);
  assert.deepEqual(await provider.evaluate(batch, context(60_000, controller.signal)), unavailable("transport"));
  assert.equal(service.asked.length, 1, "nobody is asked after it");
  await eventually("no listener", () => getEventListeners(controller.signal, "abort").length === 0);
  await service.stop();
});

test("decision model: a batch is asked as a whole or not at all", async () => {
  const { service, provider } = await answered(() => reply);
  assert.deepEqual(await provider.evaluate({ ...batch, state: "x".repeat(9 * 2 ** 20) }, context()), unavailable("unsupported-input"));
  const long = "y".repeat(500_000);
  assert.equal((await provider.evaluate({ ...batch, state: long }, context())).status, "ok");
  assert.deepEqual(service.asked.map(({ event }) => event.state), [long]);
  await service.stop();
});

test("decision model: nobody answers: at once, and /hint says so", async () => {
  const g = provider({ natsUrl: consumer.url, subjectPrefix: "nobody" });
  const began = performance.now();
  assert.deepEqual(await g.provider.evaluate(batch, context(60_000)), unavailable("transport"));
  assert.ok(performance.now() - began < 5000);
  assert.match(g.hint(), /^Nobody answers decide$/m);
});

test("decision model: it is not ready while NATS is known to be down", async () => {
  const g = provider({ natsUrl: `nats://127.0.0.1:${await freePort()}` });
  assert.equal(g.provider.isReady(), true, "not dialled yet");
  assert.deepEqual(await g.provider.evaluate(batch, context(60_000)), unavailable("transport"));
  assert.equal(g.provider.isReady(), false);
});

test("decision model: it uses the newest state, and never throws", async () => {
  const { service, provider: kept, shared } = await answered(() => reply);
  const state = shared();
  const { bridge } = state;
  state.bridge = { ...bridge, status: () => ({ state: "down" }), request: () => Promise.reject(new Error("broken")) };
  assert.deepEqual([kept.isReady(), await kept.evaluate(batch, context())], [false, unavailable("transport")]);
  state.bridge = undefined;
  assert.deepEqual([kept.isReady(), await kept.evaluate(batch, context())], [false, unavailable("transport")]);
  state.bridge = bridge;
  assert.equal((await kept.evaluate(batch, context())).status, "ok");
  await service.stop();
});
