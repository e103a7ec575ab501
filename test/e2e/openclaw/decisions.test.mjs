// The decision model intenthint/auto of a real gateway: a plugin asks it, the consumer answers by a
// scripted teacher, and each row is one of the gateway's rules for providers of decisions.

import assert from "node:assert/strict";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { after, afterEach, before, describe, test } from "node:test";

import { Gateway } from "./gateway.mjs";
import { body, json, listen } from "./http.mjs";
import { until } from "./process.mjs";
import { Rig } from "./rig.mjs";

const askerDir = join(dirname(fileURLToPath(import.meta.url)), "asker");

// A budget that no answer on a busy machine needs, and a time by which what is said to be at once is.
const plentyMs = 25_000;
const atOnceMs = 5000;

// Silence is transport, some ms before the deadline; on a busy machine the gateway may be first.
const late = ["transport", "deadline"];

const answers = {
  topic: { type: "choice", choice: "card", confidence: 0.6, probabilities: { card: 0.8, other: 0.2 } },
  urgency: { type: "score", score: 1.2, confidence: 0.7, probabilities: { 0: 0.1, 1: 0.6, 2: 0.3 }, legend: { 0: "can wait", 1: "this week", 2: null } },
  tools: { type: "noul", noul: 0.25 },
};

const questions = {
  topic: { type: "choice", instructions: "What is it about?", criteria: { card: "a card", other: null } },
  urgency: { type: "score", criteria: ["can wait", "this week", null] },
  tools: { type: "boolean", criteria: { true: "needs tools" } },
};

/** A server of the wire that answers a state by its words: "unsure" with 422, "busy" with 429, "slow" after a while. */
class Teacher {
  /** States in the order of the requests. */
  states = [];

  async start() {
    this.server = createServer(async (req, res) => {
      const asked = await body(req);
      this.states.push(asked.state);
      if (asked.state.includes("slow")) await delay(4000);
      if (asked.state.includes("unsure")) return json(res, 422, { detail: "unsure" });
      if (asked.state.includes("busy")) return json(res, 429, { detail: "busy" });
      return json(res, 200, { model: asked.model, answers, usage: { input_tokens: 12, output_tokens: 3 } });
    });
    this.url = `http://127.0.0.1:${await listen(this.server)}`;
    return this;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

/** Answers every question over NATS, in NATS's own protocol, with the same body; ends with close(). */
async function answering(url, reply) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write('CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB openclaw.request.decide.* 1\r\nPING\r\n');
  let ready;
  const serving = new Promise((resolve) => (ready = resolve));
  socket.setEncoding("utf8").on("data", (text) => {
    if (text.includes("PONG")) ready();
    if (text.includes("PING")) socket.write("PONG\r\n");
    for (const [, inbox] of text.matchAll(/^HMSG openclaw\.request\.decide\.\S+ 1 (\S+) \d+ \d+\r$/gm)) {
      socket.write(`PUB ${inbox} ${reply.length}\r\n${reply}\r\n`);
    }
  });
  await serving;
  return { close: () => socket.destroy() };
}

/** Whether a process stands still, where that can be seen. */
async function stopped(pid) {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, "utf8").catch(() => ") T ")));
  return states.every((stat) => stat.includes(") T "));
}

/** The gateway's decision model is the plugin's, and the plugin that asks it is there. */
function deciding(config) {
  config.agents.defaults.decisionModel = "intenthint/auto";
  config.plugins.load.paths.push(askerDir);
  config.plugins.entries.asker = { enabled: true };
}

describe("the decision model", () => {
  let rig;
  let teacher;
  before(async () => {
    teacher = await new Teacher().start();
    rig = await Rig.start({
      telegram: false,
      nats: true,
      run: false,
      plugin: {
        providers: { teacher: { baseUrl: teacher.url, api: "systemone" } },
        decide: { enabled: true },
        decideModel: "teacher/one",
      },
      settings: { HINT_TIMEOUT_MS: String(plentyMs) },
    });
    await rig.gateway.reconfigure(deciding);
    await rig.gateway.start();
  });
  after(async () => {
    await rig?.stop();
    await teacher?.stop();
  });
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  const evaluate = (state, { timeoutMs = plentyMs, gateway = rig.gateway, ...more } = {}) =>
    gateway.call("asker.evaluate", { batch: { state, questions }, timeoutMs, ...more });
  const reason = async (state, more) => (await evaluate(state, more)).reason;

  /** The reasons of questions, one after another. */
  const reasons = async (states, more) => {
    const out = [];
    for (const state of states) out.push(await reason(state, more));
    return out;
  };

  /** Waits for a success, which makes the gateway forget the failures before. */
  const answered = (what, more) => until(what, async () => (await evaluate("Where is my card?", more)).status === "ok");

  test("is among the models that a person can choose", async () => {
    const { decisionModels } = await rig.gateway.call("models.list", {});
    assert.deepEqual(decisionModels?.map(({ provider, id, name }) => [provider, id, name]), [["intenthint", "auto", "intenthint"]]);
  });

  test("ok: answers in the gateway's form", async () => {
    const { status, result, provenance } = await evaluate("Where is my card?");
    assert.equal(status, "ok");
    assert.equal(provenance.providerId, "intenthint");
    assert.deepEqual(result.usage, { inputTokens: 12, outputTokens: 3 });
    assert.equal(result.model, "teacher/one");
    const { topic, urgency, tools } = result.answers;
    assert.deepEqual([topic.choice, topic.probabilities], ["card", { card: 0.8, other: 0.2 }]);
    assert.deepEqual([urgency.score, urgency.probabilities.length], [1.2, 3]);
    assert.deepEqual(tools, { type: "boolean", probabilityTrue: 0.25 });
  });

  test("abstain: as often as it comes, and the circuit stays closed", async () => {
    assert.deepEqual(await reasons([1, 2, 3, 4, 5].map((i) => `unsure ${i}`)), Array(5).fill("unsupported-input"));
    assert.equal((await evaluate("Where is my card?")).status, "ok");
  });

  test("a late teacher: it abstains before the deadline, and the circuit stays closed", async () => {
    assert.deepEqual(await reasons([1, 2, 3, 4].map((i) => `slow ${i}`), { timeoutMs: 1500 }), Array(4).fill("unsupported-input"));
    assert.equal((await evaluate("Where is my card?")).status, "ok");
  });

  test("a batch that NATS does not carry: it abstains, and the circuit stays closed", async () => {
    const around = JSON.stringify({ state: "", questions }).length;
    const state = "x".repeat(2 ** 20 - around); // as large as the gateway allows
    assert.deepEqual(await reasons(Array(4).fill(state)), Array(4).fill("unsupported-input"));
    assert.ok(!teacher.states.includes(state));
    assert.equal((await evaluate("Where is my card?")).status, "ok");
  });

  test("an overloaded teacher: rate-limited, then the circuit", async () => {
    assert.deepEqual(await reasons([1, 2, 3, 4].map((i) => `busy ${i}`)), ["rate-limited", "rate-limited", "rate-limited", "circuit-open"]);
    await answered("the next trial succeeds");
  });

  test("the fifth question at once is refused, and four are answered", async () => {
    const four = [1, 2, 3, 4].map((i) => evaluate(`slow at once ${i}`));
    await until("four are with the teacher", () => teacher.states.filter((state) => state.includes("at once")).length === 4);
    assert.equal(await reason("Where is my card?"), "overloaded");
    assert.deepEqual((await Promise.all(four)).map(({ status }) => status), Array(4).fill("ok"));
  });

  test("abort: the caller waits no longer, and its place is free", async () => {
    const [one] = await Promise.all([1, 2, 3, 4].map((i) => evaluate(`slow aborted ${i}`, { abortAfterMs: 200 })));
    assert.equal(one.rejected, "AbortError");
    assert.ok(one.ms < 3000, `it took ${one.ms} ms, and the teacher 4000`);
    assert.equal((await evaluate("Where is my card?")).status, "ok");
  });

  test("the consumer is killed: transport at once, then the circuit; a new one is asked again", async () => {
    await rig.consumer.kill();
    const results = [];
    for (let i = 0; i < 4; i++) results.push(await evaluate("Where is my card?"));
    assert.deepEqual(results.map(({ reason }) => reason), ["transport", "transport", "transport", "circuit-open"]);
    for (const { ms } of results) assert.ok(ms < atOnceMs, `it took ${ms} ms`);
    await rig.consumer.start();
    await answered("the next trial succeeds");
  });

  test("an answer that does not fit the questions: invalid-response, then the circuit", async () => {
    await rig.consumer.stop();
    const stranger = await answering(rig.nats.url, JSON.stringify({ model: "x", answers: { topic: answers.topic }, usage: {} }));
    try {
      assert.deepEqual(await reasons(Array(4).fill("Where is my card?")), ["invalid-response", "invalid-response", "invalid-response", "circuit-open"]);
    } finally {
      stranger.close();
    }
    await rig.consumer.start();
    await answered("the next trial succeeds");
  });

  test("the consumer is killed while it works: the caller waits no longer than its time", async () => {
    const pending = evaluate("slow and killed", { timeoutMs: 3000 });
    await until("the teacher is asked", () => teacher.states.includes("slow and killed"));
    await rig.consumer.kill();
    const { reason, ms } = await pending;
    assert.ok(late.includes(reason), reason);
    assert.ok(ms < 3000 + atOnceMs, `it took ${ms} ms`);
    await rig.consumer.start();
    await answered("the next question is answered");
  });

  test("deadline: a consumer that hangs holds the caller no longer than its time", async () => {
    const { child } = rig.consumer.process;
    child.kill("SIGSTOP");
    await until("all its threads stand still", () => stopped(child.pid)); // on a busy machine that takes a while
    const { reason, ms } = await evaluate("Where is my card?", { timeoutMs: 500 });
    child.kill("SIGCONT");
    assert.ok(late.includes(reason), reason);
    assert.ok(ms < atOnceMs, `it took ${ms} ms`);
    await answered("the next question is answered");
  });

  test("a dead bus: not ready at once, and no failure is counted", async () => {
    const pending = evaluate("slow and cut off");
    await until("the teacher is asked", () => teacher.states.includes("slow and cut off"));
    await rig.nats.stop();
    assert.equal((await pending).reason, "transport");
    for (let i = 0; i < 5; i++) {
      const { reason, ms } = await evaluate("Where is my card?");
      assert.equal(reason, "credentials-unavailable");
      assert.ok(ms < atOnceMs, `it took ${ms} ms`);
    }
    await rig.nats.start();
    await answered("the next question is answered");
  });

  test("two gateways on one consumer: each has four at once, and its own circuit", async (t) => {
    const other = new Gateway({ dir: join(rig.dir, "other"), model: rig.model, plugin: { natsUrl: rig.nats.url } });
    t.after(() => other.stop());
    await mkdir(other.dir);
    await other.prepare();
    await other.reconfigure(deciding);
    await other.start();
    const both = [rig.gateway, other];
    const each = (ask) => Promise.all(both.map(ask));
    await each((gateway) => answered("each is answered", { gateway }));

    const eight = both.flatMap((gateway, g) => [1, 2, 3, 4].map((i) => evaluate(`slow ${i} of both, ${g}`, { gateway })));
    await until("eight are with the teacher", () => teacher.states.filter((state) => state.includes("of both")).length === 8);
    assert.deepEqual(await each((gateway) => reason("Where is my card?", { gateway })), ["overloaded", "overloaded"]);
    assert.deepEqual((await Promise.all(eight)).map(({ status }) => status), Array(8).fill("ok"));

    // What one gateway's teacher refuses closes no other gateway's circuit.
    await reasons([1, 2, 3].map((i) => `busy ${i} of one`));
    assert.equal(await reason("Where is my card?"), "circuit-open");
    assert.equal((await evaluate("Where is my card?", { gateway: other })).status, "ok");
    await answered("the first one's next trial succeeds");

    await rig.consumer.kill();
    const killed = await each((gateway) => reasons(Array(4).fill("Where is my card?"), { gateway }));
    assert.deepEqual(killed, Array(2).fill(["transport", "transport", "transport", "circuit-open"]));
    await rig.consumer.start();
    await each((gateway) => answered("a new consumer answers both", { gateway }));

    await rig.nats.stop();
    await each((gateway) => until("each knows that the bus is dead", async () => (await reason("Where is my card?", { gateway })) === "credentials-unavailable"));
    assert.deepEqual(await each((gateway) => reasons(Array(4).fill("Where is my card?"), { gateway })), Array(2).fill(Array(4).fill("credentials-unavailable")));
    await rig.nats.start();
    await each((gateway) => answered("both are answered again", { gateway }));
  });
});
