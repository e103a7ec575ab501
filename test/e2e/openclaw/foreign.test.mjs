// Another service decides about a hook that the consumer does not handle. The
// consumer must not answer.

import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { startService } from "../../../openclaw-plugin/test/service.js";
import { pluginId } from "./gateway.mjs";
import { textOf } from "./model.mjs";
import { until } from "./process.mjs";
import { hints, intentOf, Rig } from "./rig.mjs";

const review = "Can you review my pull request before I merge it?";
const reason = "exec is not allowed here";

// The gateway's timeout for one decision. A turn that takes less has not waited
// that long for any of its calls.
const timeoutMs = 60_000;

describe("another service", () => {
  let rig;
  before(async () => {
    rig = await Rig.start({ nats: true, plugin: { timeoutMs, hooks: { decide: ["before_tool_call"] } } });
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  /** A turn in which the model calls exec and read n times, with the result of each. */
  async function toolTurn(name, n) {
    const files = Array.from({ length: n }, (_, i) => `${name}-${i}.txt`);
    for (const file of files) await writeFile(join(rig.gateway.workspace, file), `content of ${file}\n`);
    const steps = files.map((file) => ({ calls: [["exec", { command: `echo done > ran-${file}` }], ["read", { path: file }]] }));
    const began = performance.now();
    const turn = await rig.turn(`agent:main:web-${name}`, review, [...steps, "All tried."]);
    const ms = performance.now() - began;
    assert.equal(turn.requests.length, n + 1);
    for (const request of turn.requests) assert.deepEqual(hints(request).map(intentOf), ["CODE_REVIEW"], "the consumer's hint");

    // The last request has all of them. The gateway may change the ids of the calls.
    const [names, results] = [new Map(), { exec: [], read: [] }];
    for (const message of turn.requests.at(-1).body.messages) {
      for (const { id, function: called } of message.tool_calls ?? []) names.set(id, called.name);
      if (message.role === "tool") results[names.get(message.tool_call_id)]?.push(textOf(message.content));
    }
    for (const tool of ["exec", "read"]) assert.equal(results[tool].length, n, tool);
    const ran = (await readdir(rig.gateway.workspace)).filter((file) => file.startsWith(`ran-${name}-`));
    return { ...results, ran, files, ms };
  }

  /** Every read is allowed, and every exec is blocked with this reason. */
  function assertBlocked(turn, why) {
    assert.deepEqual(turn.exec.filter((result) => !result.includes(why)), [], `blocked: ${why}`);
    assert.deepEqual(turn.ran, [], "no call has run");
  }

  function assertRead({ read, files }) {
    files.forEach((file, i) => assert.match(read[i], new RegExp(`content of ${file}`)));
  }

  /** No call has waited for an answer without responders, and the log has one line for all of them. */
  function assertNothingWaited({ ms }) {
    assert.ok(ms < timeoutMs, `the turn took ${ms} ms`);
    const said = rig.gateway.process.output.split("\n").filter((line) => line.includes("nobody answers"));
    assert.deepEqual(said.map((line) => line.includes("before_tool_call")), [true], said.join("\n"));
  }

  for (const [name, delayMs] of [["at-once", 0], ["after-5-ms", 5]]) {
    test(`decides alone, answering ${name.replaceAll("-", " ")}`, async () => {
      const service = await startService({
        url: rig.nats.url,
        subject: "openclaw.request.before_tool_call.*",
        decide: ({ event }) => (event.toolName === "exec" ? { block: true, blockReason: reason } : {}),
        delayMs,
      });
      try {
        const turn = await toolTurn(name, 20);
        assertBlocked(turn, reason);
        assertRead(turn);
        assert.equal(service.asked.length, 40);
      } finally {
        await service.stop();
      }
    });
  }

  test("without it the gateway learns at once that there are no responders, and allows calls", async () => {
    const turn = await toolTurn("open", 10);
    assert.equal(turn.ran.length, 10, turn.exec.join("\n"));
    assertRead(turn);
    assertNothingWaited(turn);
  });

  test("without it the gateway blocks calls when it is set to fail closed", async () => {
    await edited({ failClosed: ["before_tool_call"] });
    const turn = await toolTurn("closed", 10);
    const why = "nobody decided about this tool call";
    assertBlocked(turn, why);
    assert.deepEqual(turn.read.filter((result) => !result.includes(why)), [], "every tool is guarded");
    assertNothingWaited(turn);
  });

  /** Edits the plugin's options of hooks and waits until the gateway has loaded them. */
  async function edited(hooks) {
    const { length } = rig.gateway.process.output;
    await rig.gateway.reconfigure((config) => {
      Object.assign(config.plugins.entries[pluginId].config.hooks, hooks);
    });
    await until("the gateway has the change", () => rig.gateway.process.output.slice(length).includes("[reload] config hot reload applied"));
  }
});
