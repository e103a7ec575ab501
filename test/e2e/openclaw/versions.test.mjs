// Upgrade and downgrade: plugin and consumer of this version and of the one before, in any order, on the
// same data.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";

import { pluginDir } from "./gateway.mjs";
import { hints, intentOf, Rig } from "./rig.mjs";

const previous = process.env.E2E_PREVIOUS;
const plugins = { present: pluginDir, previous: join(previous ?? "", "openclaw-plugin") };
const consumers = { present: join(process.env.E2E_BIN, "consumer"), previous: join(previous ?? "", "consumer") };
const key = "agent:main:web-versions";

describe("versions", { skip: previous ? false : "the version before is not part of this repository's history" }, () => {
  let rig;
  before(async () => {
    rig = await Rig.start({ telegram: false, nats: true });
    await writeFile(join(rig.gateway.workspace, "notes.txt"), "Water the plants.\n");
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  const turns = [["present", "present"], ["previous", "present"], ["previous", "previous"], ["present", "previous"], ["present", "present"]];
  for (const [i, [plugin, consumer]] of turns.entries()) {
    test(`turn ${i + 1}: the ${plugin} plugin and the ${consumer} consumer`, async () => {
      const n = i + 1;
      if (rig.consumer.program !== consumers[consumer]) {
        await rig.consumer.stop();
        rig.consumer.program = consumers[consumer];
        await rig.consumer.start();
      }
      if (rig.gateway.pluginDir !== plugins[plugin]) {
        await rig.gateway.stop();
        await rig.gateway.use(plugins[plugin]);
        await rig.gateway.start();
      }
      const { requests } = await rig.turn(key, "Can you review my pull request before I merge it?", [{ calls: [["read", { path: "notes.txt" }]] }, `Reviewed ${n}.`]);
      assert.equal(intentOf(hints(requests[0])[0]), "CODE_REVIEW");
      const shown = await rig.shows(key, n);
      assert.equal(shown.length, n, "no turn is missing, and none is there twice");
      assert.deepEqual(shown.map(({ result }) => result), Array.from({ length: n }, (_, i) => `Reviewed ${i + 1}.`));
      for (const { toolCalls } of shown) assert.deepEqual(toolCalls.map(({ name, result }) => [name, result]), [["read", "Water the plants.\n"]]);
      assert.doesNotMatch(rig.consumer.process.output, /"level":"ERROR"/);
    });
  }
});
