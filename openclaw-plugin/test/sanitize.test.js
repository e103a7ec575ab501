import assert from "node:assert/strict";
import { test } from "node:test";

import { DEFAULT_LIMITS, cut, sanitize } from "../src/sanitize.js";
import { samples } from "./samples.js";

class Holder {
  kept = 1;
  get thrown() {
    throw new Error("no");
  }
}

const cyclic = /** @type {any} */ ({ a: 1, list: [] });
cyclic.self = cyclic;
cyclic.list.push(cyclic);

const shared = { s: 1 };
const revoked = Proxy.revocable({}, {});
revoked.revoke();

for (const [name, value, want] of /** @type {Array<[string, unknown, unknown]>} */ ([
  ["plain values", { a: "x", b: 1.5, c: true, d: null }, { a: "x", b: 1.5, c: true, d: null }],
  ["functions, symbols, undefined", { f() {}, s: Symbol("s"), u: undefined, k: 1 }, { k: 1 }],
  ["a function in a list", [1, () => {}, 2], [1, null, 2]],
  ["big integers", { n: 12345678901234567890n }, { n: "12345678901234567890" }],
  ["numbers that JSON lacks", [Number.NaN, Number.POSITIVE_INFINITY], [null, null]],
  ["signals and promises", { abort: new AbortController().signal, p: Promise.resolve(), k: 1 }, { k: 1 }],
  ["a cycle", cyclic, { a: 1, list: [null] }],
  ["an object that occurs twice", { a: shared, b: shared }, { a: { s: 1 }, b: { s: 1 } }],
  ["a getter that throws", Object.defineProperty({ a: 1 }, "b", { enumerable: true, get: () => assert.fail() }), { a: 1 }],
  ["an instance", new Holder(), { kept: 1 }],
  ["a revoked proxy", { p: revoked.proxy, k: 1 }, { k: 1 }],
  ["a date", { d: new Date(0), bad: new Date(Number.NaN) }, { d: "1970-01-01T00:00:00.000Z", bad: null }],
  ["maps and sets", { m: new Map([["a", 1]]), s: new Set([1, 2]) }, { m: { a: 1 }, s: [1, 2] }],
  ["bytes", { b: Buffer.alloc(3), v: new Uint16Array(2), a: new ArrayBuffer(5) }, { b: "(3 bytes)", v: "(4 bytes)", a: "(5 bytes)" }],
  ["an error", Object.assign(new Error("broken"), { code: 7 }), { name: "Error", message: "broken", code: 7 }],
  ["an address", { u: new URL("https://example.org/x") }, { u: "https://example.org/x" }],
  ["nothing", undefined, undefined],
  ["a function", () => {}, undefined],
])) {
  test(`sanitize: ${name}`, () => assert.deepEqual(sanitize(value), want));
}

test("sanitize: a field named __proto__ is a field", () => {
  const out = sanitize(JSON.parse('{"__proto__": {"polluted": 1}}'));
  assert.equal(JSON.stringify(out), '{"__proto__":{"polluted":1}}');
  assert.equal(/** @type {any} */ ({}).polluted, undefined);
});

test("sanitize: captured events stay unchanged", () => {
  for (const { hook, event, ctx } of samples()) {
    assert.deepEqual(sanitize(event), event, hook);
    assert.deepEqual(sanitize(ctx), ctx, hook);
  }
});

test("sanitize: depth is bounded", () => {
  /** @type {any} */
  let deep = {};
  for (let i = 0; i < 1_000_000; i++) deep = { deep };
  let depth = 0;
  for (let out = /** @type {any} */ (sanitize(deep)); out.deep; out = out.deep) depth++;
  assert.equal(depth, DEFAULT_LIMITS.depth - 1);
});

test("sanitize: the number of values is bounded", () => {
  const limits = { ...DEFAULT_LIMITS, values: 100 };
  assert.equal(/** @type {any} */ (sanitize(Array.from({ length: 1000 }, (_, i) => i), limits)).length, 99);
  const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]));
  assert.equal(Object.keys(/** @type {any} */ (sanitize(wide, limits))).length, 99);
  // Lists of lists that grow by the product of their lengths.
  const many = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => ["x"]));
  assert.ok(JSON.stringify(sanitize(many, limits)).length < 2000);
});

test("cut: strings are cut between characters", () => {
  assert.equal(cut("abc", 3), "abc");
  assert.equal(cut("a".repeat(30), 20), `${"a".repeat(6)}...(truncated)`);
  for (let n = 15; n < 25; n++) assert.doesNotMatch(cut("😀".repeat(30), n), /[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
});

test("sanitize: anything becomes JSON", () => {
  // A small generator with a fixed seed, so that a failure can be seen again.
  let seed = 20_261_121;
  const next = (/** @type {number} */ n) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return seed % n;
  };
  /** @type {object[]} */
  const made = [];
  /** @param {number} depth @returns {unknown} */
  const any = (depth) => {
    const kinds = [
      () => next(1000) - 500,
      () => "\uD800x".repeat(next(4)),
      () => 10n ** BigInt(next(30)),
      () => () => {},
      () => Symbol("x"),
      () => undefined,
      () => new Proxy({}, { ownKeys: () => ["a"], getOwnPropertyDescriptor: () => assert.fail("trap") }),
      () => made[next(made.length || 1)],
      () => Array.from({ length: next(4) }, () => any(depth + 1)),
      () => {
        /** @type {Record<string, unknown>} */
        const o = {};
        made.push(o);
        for (let i = next(4); i > 0; i--) o[`k${next(10)}`] = any(depth + 1);
        return o;
      },
    ];
    return kinds[next(depth > 6 ? 8 : kinds.length)]?.();
  };
  for (let i = 0; i < 2000; i++) {
    const out = sanitize(any(0));
    const json = JSON.stringify(out);
    if (json !== undefined) assert.deepEqual(JSON.parse(json), out);
  }
});
