// `openclaw agent --local`: a turn in a process of its own, without a gateway.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { hints, intentOf, Rig } from "./rig.mjs";

const review = "Can you review my pull request before I merge it?";

// The time from the model's last answer to the end of the process, which OpenClaw
// itself needs on a busy machine. An open connection would keep it running.
const promptlyMs = 20_000;

describe("agent --local", () => {
  let rig;
  before(async () => {
    // Turns from the command line have an unknown chat type, which must be allowed.
    rig = await Rig.start({ run: false, plugin: { allowedChatTypes: ["direct", "unknown"] } });
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  async function local(steps) {
    const said = rig.scripted(review, steps);
    const ran = await rig.gateway.run("agent", "--local", "--agent", "main", "--message", said.text);
    const requests = rig.model.of(said.word);
    assert.equal(ran.code, 0, ran.output);
    assert.equal(requests.length, steps.length, ran.output);
    assert.ok(ran.stdout.includes(steps.at(-1)), ran.output);
    const tail = Date.now() - requests.at(-1).at;
    assert.ok(tail < promptlyMs, `it ended ${tail} ms after the model's last answer`);
    return { ...said, requests };
  }

  test("gets the hint, ends promptly, and its events arrive", async () => {
    const turn = await local([{ calls: [["exec", { command: "echo local" }]] }, "Done locally."]);
    for (const request of turn.requests) assert.equal(intentOf(hints(request)[0]), "CODE_REVIEW");
    const [shown] = await rig.shows("agent:main:main", 1);
    assert.deepEqual([shown.input, shown.result], [turn.text, "Done locally."]);
    assert.deepEqual(shown.toolCalls.map(({ name, result }) => [name, result]), [["exec", "local"]]);
  });

  test("ends promptly without NATS", async () => {
    await rig.consumer.stop();
    const turn = await local(["Done without."]);
    assert.deepEqual(turn.requests.flatMap(hints), []);
  });
});
