// With `usage: true` the tokens of an agent's model calls stand in `consumer stats --effect`.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { until } from "./process.mjs";
import { Rig } from "./rig.mjs";

const review = "Can you review my pull request before I merge it?";
const sessions = 12;

// What the scripted model says of each of its answers (wire.mjs).
const input = 100;
const output = 10;

describe("usage of the agent's model", () => {
  let rig;
  before(async () => {
    // Half of the sessions get no hints, so that there is something to compare.
    rig = await Rig.start({ telegram: false, plugin: { usage: true }, settings: { HINT_HOLDOUT: "0.5" } });
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  test("is summed up by stats", async () => {
    for (let i = 0; i < sessions; i++) {
      const key = `agent:main:usage-${i}`;
      await rig.turn(key, review, [{ calls: [["exec", { command: "echo used" }]] }, "Used."]);
      await rig.shows(key, 1);
    }
    // The two calls of a turn are told after its end.
    let effect;
    await until(`stats show ${sessions} turns with two calls each`, async () => {
      effect = JSON.parse(await rig.consumer.run("stats", "--effect", "--json"));
      const { hinted, heldOut, agent } = effect.total;
      return hinted.turns > 0 && heldOut.turns > 0 && hinted.turns + heldOut.turns === sessions && agent.modelCalls.hinted === 2 && agent.modelCalls.heldOut === 2;
    }).catch((error) => {
      throw new Error(`${error.message}; they show ${JSON.stringify(effect, null, 1)}`);
    });
    for (const [name, want] of [
      ["inputTokens", 2 * input],
      ["outputTokens", 2 * output],
    ]) {
      const { hinted, heldOut } = effect.total.agent[name];
      assert.deepEqual([hinted, heldOut], [want, want], name);
    }
  });
});
