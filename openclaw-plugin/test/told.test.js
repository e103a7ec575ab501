// What is told of tool calls: what a session keeps of them (contract §8), at the sizes that tools return.

import assert from "node:assert/strict";
import { test } from "node:test";

import { encodeBody } from "../src/wire.js";
import { toldCall } from "../src/tell.js";
import { samples } from "./samples.js";

const ALL = { turns: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, textOnly: false };
const ctx = { agentId: "main", sessionKey: "agent:main:telegram:direct:42", sessionId: "s1", runId: "r1", toolCallId: "c1", toolName: "read" };

/** @param {any} event @param {string[]} [whole] */
function told(event, whole = []) {
  const body = encodeBody({ hook: "after_tool_call", event: toldCall(event, whole), ctx, ts: 1, id: "e1" }, 262_144, ALL) ?? "";
  return { bytes: Buffer.byteLength(body), event: JSON.parse(body).event };
}

/** The text that a consumer takes from a result. @param {any} result */
const said = (result) => (typeof result === "string" ? result : (result?.content?.find((/** @type {any} */ part) => part?.type === "text")?.text ?? ""));

/** What tools of the gateway return for a file: the text, and again in details. @param {string} text */
const file = (text) => ({ content: [{ type: "text", text }], details: { kind: "text", content: text } });

test("told: a captured call has all that a session keeps of it, and no details", () => {
  for (const { scenario, event } of samples("after_tool_call")) {
    const { result, ...rest } = event;
    const sent = told(event).event;
    assert.equal(said(sent.result).slice(0, 200), said(result).slice(0, 200), scenario);
    assert.equal(sent.result?.details, undefined, scenario);
    delete sent.result;
    assert.deepEqual(sent, rest, scenario);
  }
});

for (const [name, result] of /** @type {Array<[string, any]>} */ ([
  ["a file of 64 kB", file("a line of a file\n".repeat(3856))],
  ["64 kB as a string", "a line of a file\n".repeat(3856)],
  ["8,000 rows", { content: [{ type: "text", text: "8000 rows" }], details: Array.from({ length: 8000 }, (_, id) => ({ id, name: `row ${id}`, tags: ["a"] })) }],
  ["an image", { content: [{ type: "image", data: "x".repeat(500_000) }, { type: "text", text: "a chart" }] }],
])) {
  test(`told: ${name}`, () => {
    const { bytes, event } = told({ toolName: "read", params: { path: "note.txt" }, runId: "r1", toolCallId: "c1", result, durationMs: 3 });
    assert.ok(bytes < 1600, `${bytes} bytes`);
    assert.equal(said(event.result).slice(0, 200), said(result).slice(0, 200));
    assert.deepEqual([event.toolName, event.runId, event.toolCallId, event.durationMs], ["read", "r1", "c1", 3]);
  });
}

test("told: nothing of a result is read but its text", () => {
  const event = { toolName: "query", result: { content: [{ type: "text", text: "rows" }], get details() { return assert.fail("details are read"); } } };
  assert.deepEqual(told(event).event.result, { content: [{ type: "text", text: "rows" }] });
});

test("told: params and errors are bounded", () => {
  const { bytes, event } = told({ toolName: "write", params: { path: "a.md", content: "x".repeat(64_000) }, error: "y".repeat(10_000), runId: "r1" });
  assert.ok(bytes < 3500, `${bytes} bytes`);
  assert.equal(event.params.path, "a.md");
  assert.match(event.params.content, /^x{900,}\.\.\.\(truncated\)$/);
  assert.match(event.error, /^y{900,}\.\.\.\(truncated\)$/);
  const rows = told({ toolName: "insert", params: { rows: Array.from({ length: 8000 }, (_, id) => ({ id })), table: "t" } });
  assert.ok(rows.bytes < 4600, `${rows.bytes} bytes`);
});

test("told: of a skill that was read its front matter is whole", () => {
  const matter = `---\nname: gardening\ndescription: ${"How to keep plants. ".repeat(120)}\n---\n`;
  const params = { path: "skills/gardening/SKILL.md" };
  for (const text of [`${matter}${"Water them.\n".repeat(9000)}`, `\uFEFF${matter.replaceAll("\n", "\r\n")}${"Water them.\r\n".repeat(9000)}`]) {
    for (const named of [params, { file_path: params.path }]) {
      const sent = said(told({ toolName: "Read", params: named, result: file(text) }).event.result);
      assert.ok(sent.startsWith(text.slice(0, text.indexOf("Water"))) || /\n---\r?\n?\.\.\.\(truncated\)$/.test(sent), sent.slice(-40));
      assert.ok(sent.length < 3000, String(sent.length));
    }
  }
  const open = said(told({ toolName: "read", params, result: file(`---\nname: x\n${"more: y\n".repeat(9000)}`) }).event.result);
  assert.equal(open.length, 1000, "without an end there is none");
});

test("told: whole results of tools that the operator lists", () => {
  const result = file("x".repeat(5000));
  assert.deepEqual(told({ toolName: "exec", result }, ["ex*"]).event.result, result);
  assert.equal(said(told({ toolName: "read", result }, ["ex*"]).event.result).length, 1000);
});

test("told: a result that cannot be read does no harm", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  for (const result of [proxy, { content: proxy }, { content: [proxy] }]) assert.deepEqual(toldCall({ toolName: "t", result }, []), { toolName: "t" });
});

for (const [name, result, want] of /** @type {Array<[string, unknown, unknown]>} */ ([
  ["none", undefined, undefined],
  ["null", null, undefined],
  ["a number", 7, undefined],
  ["parts that are not text", { content: [null, { type: "image" }] }, undefined],
  ["a blank text first", { content: [{ type: "text", text: "" }, { type: "text", text: "x" }] }, { content: [{ type: "text", text: "" }] }],
  ["a list of parts", [{ type: "text", text: "x" }], { content: [{ type: "text", text: "x" }] }],
])) {
  test(`told: a result that is ${name}`, () => assert.deepEqual(told({ toolName: "t", result }).event.result, want));
}
