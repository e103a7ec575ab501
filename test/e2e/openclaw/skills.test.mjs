// Skills that an intent names, in the gateway's own list of skills.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { until } from "./process.mjs";
import { hints, Rig } from "./rig.mjs";

const intent = `---
id: GARDENING
triggers:
  - The user asks how to keep plants.
examples:
  - how often do I water my plants
  - my plants are dry
---
Follow skill: gardening, and skill: nobody-has-this.
`;

const skills = ["gardening", "composting"];

describe("skills", () => {
  let rig, intentsDir;
  before(async () => {
    intentsDir = await mkdtemp(join(tmpdir(), "intenthint-intents-"));
    await writeFile(join(intentsDir, "gardening.md"), intent);
    // NATS of its own, so that the gateway does not see when the consumer restarts.
    rig = await Rig.start({ plugin: { intentsDir }, nats: true, run: false });
    for (const name of skills) {
      const skill = join(rig.gateway.workspace, "skills", name);
      await mkdir(skill, { recursive: true });
      await writeFile(join(skill, "SKILL.md"), `---\nname: ${name}\ndescription: How to keep <plants> & flowers.\n---\n\nWater them.\n`);
    }
    await rig.gateway.start();
  });
  after(async () => {
    await rig?.stop();
    await rm(intentsDir, { recursive: true, force: true });
  });

  test("a skill that an intent names is in the hint with its path, and counted when the agent reads it", async (t) => {
    const key = "agent:main:web-skills";
    const first = await rig.turn(key, "how often do I water my plants");
    const [hint] = hints(first.requests[0]);
    t.diagnostic(hint);
    const path = /skill: gardening \(read (\S+): How to keep &lt;plants&gt; &amp; flowers\.\)/.exec(hint)?.[1];
    assert.ok(path?.endsWith("skills/gardening/SKILL.md"), hint);
    assert.match(hint, /skill: nobody-has-this\./);

    // Another session: in this one the conversation holds the intent's prompt already.
    const other = "agent:main:web-skills-read";
    await rig.turn(other, "my plants are dry", [{ calls: [["read", { path }]] }, "Water them."]);
    const [ignored] = await rig.shows(key, 1);
    const [taken] = await rig.shows(other, 1);
    assert.deepEqual(ignored.skillsHinted, [{ name: "gardening", path, used: false }]);
    assert.deepEqual(taken.skillsHinted, [{ name: "gardening", path, used: true }]);
    const counted = (outcome) => rig.consumer.counter("skill_hints_total", { outcome });
    await until("the skill that was read", async () => (await counted("used")) === 1);
    assert.deepEqual([await counted("named"), await counted("unknown")], [2, 2]);
  });

  test("no skill is missing after a restart of the consumer with other intents, or of the gateway", async () => {
    const named = async (key) => {
      const turn = await rig.turn(key, "how often do I water my plants");
      const [hint] = hints(turn.requests[0]);
      return skills.filter((name) => hint.includes(`skills/${name}/SKILL.md: How`));
    };
    assert.deepEqual(await named("agent:main:web-skills-before"), ["gardening"]);
    await rig.consumer.stop();
    await writeFile(join(intentsDir, "gardening.md"), intent.replace("nobody-has-this", "composting"));
    await rig.consumer.start();
    assert.deepEqual(await named("agent:main:web-skills-changed"), skills);
    await rig.consumer.stop();
    await rig.consumer.start();
    assert.deepEqual(await named("agent:main:web-skills-consumer"), skills);
    await rig.gateway.stop();
    await rig.gateway.start();
    assert.deepEqual(await named("agent:main:web-skills-gateway"), skills);
  });
});
