// The sums about prompt caches, without a gateway.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commonPrefix, compare, conversation, inputSize, prefixes, simulate } from "./promptcache.mjs";

const marked = (part) => ({ ...part, cache_control: { type: "ephemeral" } });
const text = (text) => ({ type: "text", text });
const user = (...content) => ({ role: "user", content });
const assistant = (...content) => ({ role: "assistant", content });

for (const [name, a, b, want] of [
  ["the same", "abc", "abc", 3],
  ["a longer one", "abc", "abcd", 3],
  ["another end", "abc", "abd", 2],
  ["nothing in common", "abc", "xbc", 0],
  ["an empty one", "", "abc", 0],
  ["bytes, not characters", "é1", "é2", 2],
]) {
  test(`the common prefix: ${name}`, () => assert.equal(commonPrefix(a, b), want));
}

test("a conversation has no system prompt and no marks, and one text is the same as a list of it", () => {
  const said = { role: "user", content: "hello" };
  const plain = conversation({ messages: [said] });
  assert.equal(plain, '{"role":"user","content":[{"type":"text","text":"hello"}]}');
  assert.equal(conversation({ messages: [{ role: "system", content: "be kind" }, said] }), plain);
  assert.equal(conversation({ messages: [user(marked(text("hello")))] }), plain);
});

test("prefixes are of consecutive requests", () => {
  const [one, two] = [{ messages: [user(text("a"))] }, { messages: [user(text("a")), assistant(text("b"))] }];
  const [first, second, third] = prefixes([one, two, one]);
  assert.deepEqual([first.prefix, second.prefix, third.prefix], [0, first.size, first.size]);
});

/** A request with a mark at the end of the system prompt and one at the end of its last message. */
function asked(...messages) {
  const last = messages.at(-1);
  return { tools: [{ name: "t" }], system: [marked(text("s"))], messages: [...messages.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), marked(last.content.at(-1))] }] };
}
const all = (sums) => sums.read + sums.written + sums.rest;

test("simulated cache: a request that goes on reads the one before and writes what is new", () => {
  const [first, second] = simulate([asked(user(text("a"))), asked(user(text("a")), assistant(text("b")), user(text("c")))]);
  assert.deepEqual([first.read, first.rest], [0, 0]);
  assert.equal(second.read, first.written, "the first ended at a mark");
  assert.ok(second.written > 0 && second.rest === 0);
});

test("input: tools, system prompt and messages count, marks and the rest do not", () => {
  const request = { tools: [{ name: "t" }], system: [text("s")], messages: [user(text("a"))] };
  assert.equal(inputSize(request), inputSize(asked(...request.messages)));
  assert.equal(inputSize({ ...request, model: "m", stream: true }), inputSize(request));
  for (const part of ["tools", "system", "messages"]) {
    assert.ok(inputSize({ ...request, [part]: undefined }) < inputSize(request), part);
  }
});

test("input: what hints add to a conversation is a share of its input without them", () => {
  const turns = (hint) => [1, 2].map((n) => ({ intent: "CHAT", requests: [asked(...Array.from({ length: n }, () => user(text(`${hint}a`))))] }));
  const [plain, hinted] = [turns(""), turns("hint ")];
  const bytes = plain.reduce((sum, { requests }) => sum + inputSize(requests[0]), 0);
  assert.ok(Math.abs(compare(hinted, plain).added - (3 * "hint ".length) / bytes) < 1e-9);
  assert.equal(compare(plain, plain).added, 0);
});

test("simulated cache: the same request is read as a whole", () => {
  const request = asked(user(text("a")));
  const [first, second] = simulate([request, request]);
  assert.deepEqual(second, { read: first.written, written: 0, rest: 0 });
});

test("simulated cache: behind a changed block nothing is read, in front of it what ended at a mark", () => {
  const ask = (hint, ...more) => asked(user(text(`${hint}a`)), ...more);
  const [first, second] = simulate([ask("hint "), ask("", assistant(text("b")), user(text("c")))]);
  const system = simulate([{ tools: [{ name: "t" }], system: [marked(text("s"))], messages: [] }])[0].written;
  assert.ok(first.written > system);
  assert.equal(second.read, system, "tools and system prompt alone");
});

test("simulated cache: what follows the last mark is neither read nor written", () => {
  const request = { messages: [user(marked(text("a"))), user(text("transient"))] };
  const [first, second] = simulate([request, request]);
  assert.ok(first.rest > 0 && first.written > 0);
  assert.deepEqual(second, { read: first.written, written: 0, rest: first.rest });
  assert.deepEqual(simulate([{ messages: [user(text("a"))] }])[0].written, 0, "without a mark");
});

for (const [blocks, found] of [[19, true], [20, false]]) {
  test(`simulated cache: an entry ${blocks} blocks before the mark is ${found ? "found" : "not found"}`, () => {
    const between = Array.from({ length: blocks - 1 }, (_, i) => assistant(text(String(i))));
    const requests = [{ messages: [user(marked(text("a")))] }, { messages: [user(text("a")), ...between, user(marked(text("z")))] }];
    const [, second] = simulate(requests);
    assert.equal(second.read > 0, found);
    assert.equal(all(second), all(simulate([requests[1]])[0]));
  });
}

test("simulated cache: the same block in another message is another one", () => {
  const [, second] = simulate([{ messages: [user(marked(text("a")))] }, { messages: [assistant(marked(text("a")))] }]);
  assert.equal(second.read, 0);
  const [, joined] = simulate([{ messages: [user(text("a")), user(marked(text("b")))] }, { messages: [user(text("a"), marked(text("b")))] }]);
  assert.equal(joined.read, 0);
});
