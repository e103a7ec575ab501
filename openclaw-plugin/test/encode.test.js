import assert from "node:assert/strict";
import { test } from "node:test";

import { DEFAULT_LIMITS, cut, encode } from "../src/encode.js";
import { samples } from "./samples.js";

/**
 * What JSON.parse makes of an encoded value.
 *
 * @param {unknown} value
 * @param {import("../src/encode.js").Limits} [limits]
 * @param {import("../src/encode.js").Rules} [rules]
 */
function parsed(value, limits = DEFAULT_LIMITS, rules = {}) {
  const encoded = encode(value, limits, rules);
  if (!encoded) return undefined;
  assert.equal(Buffer.byteLength(encoded.json), encoded.bytes, "the bytes are counted");
  assert.ok(encoded.bytes <= limits.bytes);
  return JSON.parse(encoded.json);
}

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
  test(`encode: ${name}`, () => assert.deepEqual(parsed(value), want));
}

test("encode: a field named __proto__ is a field", () => {
  const out = parsed(JSON.parse('{"__proto__": {"polluted": 1}}'));
  assert.equal(JSON.stringify(out), '{"__proto__":{"polluted":1}}');
  assert.equal(/** @type {any} */ ({}).polluted, undefined);
});

test("encode: captured events stay unchanged", () => {
  for (const { hook, event, ctx } of samples()) {
    assert.deepEqual(parsed(event), event, hook);
    assert.deepEqual(parsed(ctx), ctx, hook);
  }
});

test("encode: depth is bounded", () => {
  /** @type {any} */
  let deep = {};
  for (let i = 0; i < 1_000_000; i++) deep = { deep };
  let depth = 0;
  for (let out = /** @type {any} */ (parsed(deep)); out.deep; out = out.deep) depth++;
  assert.equal(depth, DEFAULT_LIMITS.depth - 1);
});

test("encode: the number of values is bounded", () => {
  const limits = { ...DEFAULT_LIMITS, values: 100 };
  assert.equal(/** @type {any} */ (parsed(Array.from({ length: 1000 }, (_, i) => i), limits)).length, 99);
  const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]));
  assert.equal(Object.keys(/** @type {any} */ (parsed(wide, limits))).length, 99);
  // Lists of lists that grow by the product of their lengths.
  const many = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => ["x"]));
  assert.ok(JSON.stringify(parsed(many, limits)).length < 2000);
});

test("cut: strings are cut between characters", () => {
  assert.equal(cut("abc", 3), "abc");
  assert.equal(cut("a".repeat(30), 20), `${"a".repeat(6)}...(truncated)`);
  for (let n = 15; n < 25; n++) assert.doesNotMatch(cut("😀".repeat(30), n), /[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
});

test("encode: anything becomes JSON", () => {
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
    const value = any(0);
    parsed(value);
    for (const bytes of [0, 1, 5, 20, 60]) parsed(value, { ...DEFAULT_LIMITS, bytes });
  }
});

test("encode: it stops at the bound, and what is short still fits", () => {
  const rows = Array.from({ length: 8000 }, (_, id) => ({ id, name: `row ${id}`, ok: true, tags: ["a", "b"] }));
  let read = 0;
  const counted = new Proxy(rows, {
    get: (list, key) => {
      read++;
      return Reflect.get(list, key);
    },
  });
  const out = /** @type {any} */ (parsed({ rows: counted, runId: "r1" }, { ...DEFAULT_LIMITS, bytes: 4096 }));
  assert.deepEqual(out.rows.slice(0, 10), rows.slice(0, 10));
  assert.ok(out.rows.length < 100);
  assert.ok(read < 300, `${read} reads of the list`);
  const texts = /** @type {any} */ (parsed({ a: "x".repeat(50_000), b: "y".repeat(50_000), runId: "r1" }, { ...DEFAULT_LIMITS, bytes: 20_000 }));
  assert.deepEqual([texts.a.length, texts.b.length, texts.runId], [4096, 4096, "r1"]);
});

test("encode: a field may have a bound of its own", () => {
  const out = /** @type {any} */ (parsed({ params: { content: "x".repeat(60_000), path: "a.md" }, runId: "r1" }, DEFAULT_LIMITS, { bounds: { params: 4096 } }));
  assert.deepEqual([out.params.content.length, out.params.path, out.runId], [1024, "a.md", "r1"]);
  assert.match(out.params.content, /\.\.\.\(truncated\)$/);
});

test("encode: what has to be whole is so or is nothing", () => {
  const value = { role: "user", content: "hello", more: [1, 2, { a: "b" }] };
  const bytes = Buffer.byteLength(JSON.stringify(value));
  assert.deepEqual(parsed(value, { ...DEFAULT_LIMITS, bytes }, { whole: true }), value);
  for (let n = 0; n < bytes; n++) assert.equal(encode(value, { ...DEFAULT_LIMITS, bytes: n }, { whole: true }), undefined);
});
