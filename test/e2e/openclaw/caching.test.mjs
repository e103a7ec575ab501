// What hints cost: two conversations with and without the plugin, in the API of each
// kind of provider (docs/decisions/0015).

import assert from "node:assert/strict";
import { afterEach, before, describe, test } from "node:test";
import { apis, conversations, converse } from "./conversation.mjs";
import { compare, conversation } from "./promptcache.mjs";

describe("the provider's prompt cache", () => {
  let given, without, rig;
  before(async () => {
    ({ given, without } = await converse({ HINT_REPEAT: "changed", HINT_MIN_CONFIDENCE: "0.5" }, (started) => {
      rig = started;
    }));
  }, { timeout: 1_800_000 }); // 320 turns, on a busy machine
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig?.logs());
  });

  for (const [name, api] of Object.keys(conversations).flatMap((name) => apis.map((api) => [name, api]))) {
    test(`hints cost ${api} little: ${name}`, (t) => {
      const [hinting, plain] = [given[name][api], without[name][api]];
      const requests = hinting.flatMap((turn) => turn.requests);
      const hinted = hinting.filter((turn, i) => told(turn.requests[0]) > (i === 0 ? 0 : told(hinting[i - 1].requests[0])));
      assert.ok(hinted.length >= 5, `${hinted.length} turns with a hint: as many as there are subjects at least`);
      assert.equal(told(requests.at(-1)), hinted.length, "history keeps them");
      assert.equal(plain.reduce((sum, turn) => sum + told(turn.requests[0]), 0), 0);

      const sums = compare(hinting, plain);
      const report = JSON.stringify(sums);
      t.diagnostic(`${hinted.length} hints, ${report}`);
      assert.ok(sums.unchangedTurns >= 8, report);
      assert.ok(sums.unchanged >= 0.99, `turns of an unchanged intent, the worst: ${report}`);
      assert.ok(sums.overall >= 0.9, `the whole conversation: ${report}`);
      assert.ok(sums.added <= 0.08, `input added: ${report}`);
      if (api === "anthropic-messages") {
        assert.ok(sums.read > 0, "the requests have marks");
        assert.ok(sums.writes <= 1.1, `cache writes: ${report}`);
      }
    });
  }
});

/** How many hints a request has. */
const told = (request) => conversation(request).split("<intention_hint_plugin>").length - 1;
