// What the gateway's turns and the session files are like when something goes
// away: the consumer, NATS, the plugin itself. Whatever it is, the gateway's
// turn goes on, hints come back, and every event counts once.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { pluginId } from "./gateway.mjs";
import { until } from "./process.mjs";
import { hints, intentOf, Rig } from "./rig.mjs";
import { direct } from "./telegram.mjs";

const review = "Can you review my pull request before I merge it?";
const slow = [{ calls: [["exec", { command: "sleep 2; echo slept" }]] }, { calls: [["exec", { command: "echo again" }]] }, "I am done."];

// A turn without a hint must not wait for one: this is far less than the three
// seconds that the plugin would wait for an answer, and enough for a busy machine.
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

  /** Begins a turn, and returns it when its hint was given and its first tool runs. */
  async function busyTurn(key) {
    const turn = await rig.begin(key, review, slow);
    await until("the first tool call", () => rig.model.of(turn.word)[0]?.callIds.length);
    assert.equal(intentOf(hints(rig.model.of(turn.word)[0])[0]), "CODE_REVIEW");
    return turn;
  }

  /** The turn has gone on to its end, and the model was asked as often as ever. */
  async function wentOn(turn) {
    assert.equal(await rig.gateway.ended(turn.runId), "ok");
    assert.equal(rig.model.of(turn.word).length, slow.length);
  }

  /** A turn that gets no hint and is not held up. */
  async function hintless(key) {
    const turn = await rig.turn(key, review);
    assert.deepEqual(turn.requests.flatMap(hints), []);
    const { ms } = (await rig.timings()).find(({ runId }) => runId === turn.runId);
    assert.ok(ms < atOnceMs, `the prompt was held for ${ms} ms`);
  }

  /** Turns until one has a hint again, which is returned. */
  async function hintsAreBack(key) {
    return until("a turn with a hint", async () => {
      const turn = await rig.turn(key, review);
      return hints(turn.requests[0]).length === 1 && turn;
    });
  }

  /** The session file holds these turns, each of them whole and once. */
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
    await hintless(key);
    await rig.consumer.start();
    const next = await hintsAreBack(key);
    await holds(key, [turn, next]);
  });

  test("NATS is restarted in the middle of a turn", async () => {
    const key = "agent:main:web-nats";
    const turn = await busyTurn(key);
    await rig.nats.stop();
    await wentOn(turn);
    await hintless(key);
    await rig.nats.start();
    const next = await hintsAreBack(key);
    await holds(key, [turn, next]);
  });

  test("the gateway's configuration is edited, in the middle of a turn and between turns", async () => {
    const key = "agent:main:web-edited";
    const [turns, told] = [[], []];
    for (const timeoutMs of [2900, 2700]) {
      // While a run holds the plugin the gateway refuses to replace it.
      const turn = await busyTurn(key);
      await edited({ timeoutMs }, applied, "[reload] config reload failed");
      await wentOn(turn);
      await edited({ timeoutMs: timeoutMs - 100 }, applied);
      turns.push(turn, await hintsAreBack(key));
      const message = await rig.telegramTurn(direct, review, [{ calls: [["exec", { command: "echo told" }]] }]);
      assert.equal(hints(message.requests[0]).length, 1, "a channel uses the plugin that is there now");
      told.push(message);
    }
    await holds(key, turns);
    await holds("agent:main:main", told);
  });

  test("the consumer takes an edit of the gateway's configuration", async () => {
    const key = "agent:main:web-denied";
    const intent = async () => intentOf(hints((await rig.turn(key, review)).requests[0])[0]);
    assert.equal(await intent(), "CODE_REVIEW");
    // Without its intent the message fits none well.
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
