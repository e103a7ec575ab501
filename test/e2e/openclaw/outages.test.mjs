// Turns and session files when the consumer, NATS or the plugin goes away. In each
// case the gateway's turn goes on, hints come back, and every event counts once.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { eventsIn } from "../../../openclaw-plugin/test/stream.js";
import { pluginId } from "./gateway.mjs";
import { until } from "./process.mjs";
import { hints, intentOf, Rig } from "./rig.mjs";
import { direct } from "./telegram.mjs";

const review = "Can you review my pull request before I merge it?";
const slow = [{ calls: [["exec", { command: "sleep 2; echo slept" }]] }, { calls: [["exec", { command: "echo again" }]] }, "I am done."];

// The maximum for a turn without a hint: far less than the plugin's timeout of
// three seconds, and enough for a busy machine.
const atOnceMs = 1000;

const applied = "[reload] config hot reload applied";

describe("outages", () => {
  let rig;
  before(async () => {
    rig = await Rig.start({ nats: true });
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  /** Begins a turn, and returns it when it has its hint and its first tool runs. */
  async function busyTurn(key) {
    const turn = await rig.begin(key, review, slow);
    await until("the first tool call", () => rig.model.of(turn.word)[0]?.callIds.length);
    assert.equal(intentOf(hints(rig.model.of(turn.word)[0])[0]), "CODE_REVIEW");
    return turn;
  }

  /** The turn has gone on to its end with the usual number of model calls. */
  async function wentOn(turn) {
    assert.equal(await rig.gateway.ended(turn.runId), "ok");
    assert.equal(rig.model.of(turn.word).length, slow.length);
  }

  /** Runs a turn without a hint and without a delay, and returns it. */
  async function hintless(key) {
    const turn = await rig.turn(key, review);
    assert.deepEqual(turn.requests.flatMap(hints), []);
    const { ms } = (await rig.timings()).find(({ runId }) => runId === turn.runId);
    assert.ok(ms < atOnceMs, `the prompt was held for ${ms} ms`);
    return turn;
  }

  /** Runs turns until one has a hint again, and returns all of them. */
  async function hintsAreBack(key) {
    const turns = [];
    await until("a turn with a hint", async () => {
      const turn = await rig.turn(key, review);
      turns.push(turn);
      return hints(turn.requests[0]).length === 1;
    });
    return turns;
  }

  /** The session file has these turns, with and without a hint, each complete and once. */
  async function holds(key, turns, ms) {
    const words = turns.map(({ word }) => word);
    await until("the session file of all that happened", async () => {
      const shown = await rig.consumer.turns(key);
      const ids = shown.flatMap((turn) => (turn.toolCalls ?? []).map(({ toolCallId }) => toolCallId)).sort();
      return shown.length >= turns.length && shown.every((turn) => turn.timestamps.end) && ids.length >= rig.toolCallIds(words).length;
    }, ms);
    const shown = await rig.consumer.turns(key);
    assert.deepEqual(shown.map(({ input }) => input), turns.map(({ text }) => text));
    assert.deepEqual(shown.flatMap((turn) => (turn.toolCalls ?? []).map(({ toolCallId }) => toolCallId)).sort(), rig.toolCallIds(words));
  }

  test("the consumer is killed in the middle of a turn", async () => {
    const key = "agent:main:web-killed";
    const turn = await busyTurn(key);
    await rig.consumer.kill();
    await wentOn(turn);
    const without = await hintless(key);
    await rig.consumer.start();
    const next = await hintsAreBack(key);
    await holds(key, [turn, without, ...next]);
  });

  test("NATS is restarted in the middle of a turn", async () => {
    const key = "agent:main:web-nats";
    const turn = await busyTurn(key);
    await rig.nats.stop();
    await wentOn(turn);
    const without = await hintless(key);
    await rig.nats.start();
    const next = await hintsAreBack(key);
    await holds(key, [turn, without, ...next]);
  });

  test("the gateway is restarted while NATS is away", async () => {
    const key = "agent:main:web-restarted";
    const first = await rig.turn(key, review, [{ calls: [["exec", { command: "echo kept" }]] }, "Done before."]);
    await rig.nats.stop();
    const away = await rig.turn(key, review, [{ calls: [["exec", { command: "echo kept too" }]] }, "Done without."]);
    await rig.gateway.stop();
    await rig.nats.start();
    await rig.gateway.start();
    const next = await hintsAreBack(key);
    await holds(key, [first, away, ...next]);
    const told = (await eventsIn(rig.nats.url, "OPENCLAW_EVENTS")).filter(({ body }) => [first, away, ...next].some(({ runId }) => runId === body.ctx?.runId));
    assert.equal(new Set(told.map(({ id }) => id)).size, told.length, "each event once");
    const ofAway = told.filter(({ body }) => body.ctx.runId === away.runId).map(({ body }) => body.hook);
    assert.deepEqual(ofAway, ["before_prompt_build", "after_tool_call", "agent_end"], "in order");
  });

  test("the gateway's configuration is edited, in the middle of a turn and between turns", async () => {
    const key = "agent:main:web-edited";
    const [turns, told] = [[], []];
    for (const timeoutMs of [2900, 2700]) {
      // The gateway does not replace the plugin while a run uses it.
      const turn = await busyTurn(key);
      await edited({ timeoutMs }, applied, "[reload] config reload failed");
      await wentOn(turn);
      await edited({ timeoutMs: timeoutMs - 100 }, applied);
      turns.push(turn, ...(await hintsAreBack(key)));
      const message = await rig.telegramTurn(direct, review, [{ calls: [["exec", { command: "echo told" }]] }]);
      assert.equal(hints(message.requests[0]).length, 1, "a channel uses the current plugin");
      told.push(message);
    }
    await holds(key, turns);
    await holds("agent:main:main", told);
  });

  test("the consumer loads an edit of the gateway's configuration", async () => {
    const key = "agent:main:web-denied";
    const intent = async () => intentOf(hints((await rig.turn(key, review)).requests[0])[0]);
    assert.equal(await intent(), "CODE_REVIEW");
    // Without its intent the message fits no other well.
    await edited({ intentDeny: { "*": ["CODE_*"] }, minConfidence: 0 }, applied);
    await until("a hint without the denied intents", async () => !/^(CODE_.*|undefined)$/.test(await intent()));
    await edited({ intentDeny: {} }, applied);
    await until("the intent again", async () => (await intent()) === "CODE_REVIEW");
  });

  /** Edits the plugin's configuration and waits until the gateway has logged one of the outcomes. */
  async function edited(change, ...outcomes) {
    const { length } = rig.gateway.process.output;
    await rig.gateway.reconfigure((config) => {
      Object.assign(config.plugins.entries[pluginId].config, change);
    });
    await until(`the gateway logs ${outcomes.join(" or ")}`, () => {
      const since = rig.gateway.process.output.slice(length);
      return outcomes.some((outcome) => since.includes(outcome));
    });
  }
});
