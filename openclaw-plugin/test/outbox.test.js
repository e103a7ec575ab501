import assert from "node:assert/strict";
import { test } from "node:test";

import { Outbox } from "../src/outbox.js";

/**
 * @param {object} [with_]
 * @param {(item: import("../src/outbox.js").Item) => Promise<import("../src/outbox.js").Outcome>} [with_.publish]
 * @param {{events: number, bytes: number}} [with_.limits]
 */
function outbox({ publish = async () => "stored", limits = { events: 1000, bytes: 1e6 } } = {}) {
  /** @type {string[]} */
  const stored = [];
  const link = { up: true };
  const box = new Outbox({
    limits,
    ready: () => link.up,
    publish: async (item) => {
      const outcome = await publish(item);
      if (outcome === "stored") stored.push(item.id);
      return outcome;
    },
  });
  const push = (/** @type {number} */ from, /** @type {number} */ to) => {
    for (let i = from; i < to; i++) box.push({ subject: "s", id: String(i), body: "0123456789" });
  };
  return { box, stored, link, push };
}

const ids = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: to - from }, (_, i) => String(from + i));

test("Outbox: stores in order", async () => {
  const { box, stored, push } = outbox();
  push(0, 500);
  assert.equal(await box.drained(1000), true);
  assert.deepEqual(stored, ids(0, 500));
  assert.equal(box.stored, 500);
});

test("Outbox: events pushed while others are in flight come after them", async () => {
  const { box, stored, push } = outbox({ publish: () => new Promise((resolve) => setImmediate(() => resolve("stored"))) });
  push(0, 100);
  await new Promise(setImmediate);
  push(100, 200);
  assert.equal(await box.drained(1000), true);
  assert.deepEqual(stored, ids(0, 200));
});

test("Outbox: waits for the connection", async () => {
  const { box, stored, link, push } = outbox();
  link.up = false;
  push(0, 10);
  assert.equal(await box.drained(10), false);
  assert.deepEqual(stored, []);
  link.up = true;
  box.kick();
  assert.equal(await box.drained(1000), true);
  assert.deepEqual(stored, ids(0, 10));
});

test("Outbox: the oldest are dropped, by number and by bytes", async () => {
  for (const limits of [
    { events: 100, bytes: 1e6 },
    { events: 1000, bytes: 1009 },
  ]) {
    const { box, stored, link, push } = outbox({ limits });
    link.up = false;
    push(0, 250);
    assert.equal(box.size, 100);
    assert.equal(box.dropped, 150);
    link.up = true;
    assert.equal(await box.drained(1000), true);
    assert.deepEqual(stored, ids(150, 250));
  }
});

test("Outbox: events in flight are not dropped", async () => {
  /** @type {Array<() => void>} */
  const release = [];
  const { box, stored, push } = outbox({
    limits: { events: 70, bytes: 1e6 },
    publish: () => new Promise((resolve) => release.push(() => resolve("stored"))),
  });
  const releaseAll = async () => {
    for (const go of release.splice(0)) go();
    await new Promise(setImmediate);
  };
  push(0, 65);
  await releaseAll(); // the first went alone, the others are in flight now
  push(65, 200);
  assert.equal(box.size, 70);
  while (box.size > 0) await releaseAll();
  assert.deepEqual(stored, [...ids(0, 65), ...ids(194, 200)]);
  assert.equal(box.dropped, 129);
});

test("Outbox: a failed event is published again before later ones", async () => {
  let failures = 3;
  const { box, stored, push } = outbox({
    publish: async (item) => (item.id === "2" && failures-- > 0 ? "again" : "stored"),
  });
  push(0, 200);
  assert.equal(await box.drained(5000), true);
  assert.equal(stored.length, 200);
  assert.equal(new Set(stored).size, 200);
  assert.ok(stored.indexOf("2") < stored.indexOf("64") || failures < 0);
});

test("Outbox: an event that is refused, or fails while others do not, does not block the rest", async () => {
  for (const outcome of /** @type {const} */ (["refused", "again"])) {
    const { box, stored, push } = outbox({ publish: async (item) => (item.id === "3" ? outcome : "stored") });
    push(0, 10);
    for (let more = 10; box.refused === 0; more++) {
      push(more, more + 1);
      await box.drained(5);
      box.kick();
    }
    assert.equal(box.refused, 1);
    assert.ok(!stored.includes("3"));
    assert.ok(stored.includes("9"));
  }
});

test("Outbox: nothing is given up while nothing is stored", async () => {
  const { box, push } = outbox({ publish: async () => "again" });
  push(0, 5);
  for (let i = 0; i < 50; i++) {
    box.kick();
    await new Promise(setImmediate);
  }
  assert.equal(box.size, 5);
  assert.equal(box.refused, 0);
  assert.deepEqual(await box.abandon(), { kept: 0, lost: 5 });
  assert.equal(box.size, 0);
  assert.equal(box.dropped, 5);
});
