// What a long session costs: the work and the bytes of a turn are those of a short one.
//
// `node test/growth.test.js` prints the figures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readOptions } from "../src/config.js";
import { encodeBody } from "../src/wire.js";
import { ALWAYS_ON, Permits } from "../src/permits.js";

const permits = new Permits(readOptions({}), ALWAYS_ON, ALWAYS_ON);
const ctx = { runId: "r1", agentId: "main", sessionKey: "agent:main:telegram:direct:42", sessionId: "s1", trigger: "user", messageProvider: "telegram", channelId: "42" };

/** A turn as a gateway keeps it: a question, a tool call with its result, an answer. @param {number} i */
function turn(i) {
  const sent = 1_800_000_000_000 + i;
  const model = { api: "openai-completions", provider: "p", model: "m", usage: { input: 120, output: 12, cost: { input: 0 } }, timestamp: sent };
  return [
    { role: "user", content: [{ type: "text", text: `${String(i).padStart(4, "0")}: can you review my pull request? ${"It changes the parser. ".repeat(8)}` }], timestamp: sent },
    { role: "assistant", content: [{ type: "thinking", thinking: "hm ".repeat(100) }, { type: "toolCall", id: `c${i}`, name: "read", arguments: { path: "x.md" } }], stopReason: "toolUse", ...model },
    { role: "toolResult", toolCallId: `c${i}`, toolName: "read", content: [{ type: "text", text: "a line of a file\n".repeat(400) }], isError: false, timestamp: sent },
    { role: "assistant", content: [{ type: "text", text: `I looked at it. ${"The change is fine as far as I can see. ".repeat(12)}` }], stopReason: "stop", ...model },
  ];
}

/** @param {string} hook @param {unknown} event */
const historyOf = (hook, event) => ({ ...readOptions({}).history, leaveOut: permits.leaveOut(hook, event, ctx) });

const session = (/** @type {number} */ turns) => Array.from({ length: turns }, (_, i) => turn(i)).flat();

/**
 * Encodes bodies of two sessions in turns.
 *
 * @param {string} hook
 * @param {[number, number]} turns
 */
function compare(hook, turns) {
  const sides = turns.map((n) => ({ n, event: { prompt: "and now?", messages: session(n) }, bytes: 0, times: /** @type {number[]} */ ([]) }));
  for (let round = 0; round < 400; round++) {
    for (const side of sides) {
      const began = performance.now();
      const body = encodeBody({ hook, event: side.event, ctx, ts: 1, id: "e" }, 1_000_000, historyOf(hook, side.event)) ?? "";
      side.times.push(performance.now() - began);
      side.bytes = Buffer.byteLength(body);
    }
  }
  return sides.map(({ n, bytes, times }) => ({ n, bytes, ms: times.toSorted((a, b) => a - b)[times.length / 2] ?? 0 }));
}

for (const hook of ["before_prompt_build", "agent_end"]) {
  test(`${hook}: turn 200 and turn 1000 cost what turn 20 costs`, (t) => {
    for (const far of [200, 1000]) {
      const [near, late] = compare(hook, [20, far]);
      assert.ok(near && late);
      t.diagnostic(`turn ${near.n}: ${near.ms.toFixed(3)} ms, ${near.bytes} bytes; turn ${late.n}: ${late.ms.toFixed(3)} ms, ${late.bytes} bytes`);
      assert.equal(late.bytes, near.bytes);
      assert.ok(late.ms < 2 * near.ms + 0.02, `${late.ms} ms at turn ${far}, ${near.ms} ms at turn 20`);
    }
  });
}

test("before_prompt_build: turn 1000 reads as many messages as turn 20", () => {
  const read = [20, 1000].map((n) => {
    let count = 0;
    const messages = new Proxy(session(n), { get: (list, name) => (typeof name === "string" && /^\d+$/.test(name) && count++, Reflect.get(list, name)) });
    const event = { prompt: "and now?", messages };
    encodeBody({ hook: "before_prompt_build", event, ctx, ts: 1, id: "e" }, 1_000_000, historyOf("before_prompt_build", event));
    return count;
  });
  assert.ok(/** @type {number} */ (read[0]) > 0);
  assert.equal(read[1], read[0]);
});
