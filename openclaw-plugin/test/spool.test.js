import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { Outbox, Spool } from "../src/outbox.js";
import { Warnings } from "../src/recent.js";

/** @type {string} */
let directory;
/** @type {string[]} */
let log;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "spool-"));
  log = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const say = (/** @type {string} */ text) => log.push(text);
const file = () => join(directory, "plugins", "outbox.jsonl");
const lines = () => (existsSync(file()) ? readFileSync(file(), "utf8").split("\n").slice(0, -1) : []);
const inFile = () => lines().map((line) => JSON.parse(line).id);
const ids = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: to - from }, (_, i) => String(from + i));

/**
 * An outbox with its file, as a new process has it.
 *
 * @param {object} [given]
 * @param {boolean} [given.up]
 * @param {{events: number, bytes: number}} [given.limits]
 * @param {(item: import("../src/outbox.js").Item) => void} [given.published]
 */
async function start({ up = false, limits = { events: 1000, bytes: 1e6 }, published: onPublished = () => {} } = {}) {
  /** @type {string[]} */
  const published = [];
  const link = { up, outcome: /** @type {import("../src/outbox.js").Outcome} */ ("stored") };
  const box = new Outbox({
    limits,
    ready: () => link.up,
    away: () => !link.up,
    publish: async (item) => {
      if (link.outcome === "stored") {
        published.push(item.id);
        onPublished(item);
      }
      return link.outcome;
    },
  });
  const spool = new Spool(file(), new Warnings({ info: say, warn: say, error: say }));
  const keep = spool.keep.bind(spool);
  let writes = 0;
  spool.keep = (...args) => {
    writes++;
    return keep(...args);
  };
  await box.restore(spool);
  return {
    box,
    writes: () => writes,
    published,
    link,
    settled: () => box.saved(),
    push: (/** @type {number} */ from, /** @type {number} */ to, body = "0123456789") => {
      for (let i = from; i < to; i++) box.push({ subject: "s", id: String(i), body });
    },
  };
}

test("events that wait survive the process, in order, and are published once", async () => {
  const first = await start();
  first.push(0, 100);
  await first.settled();
  assert.deepEqual(inFile(), ids(0, 100), "without any word of the process that it ends");

  const second = await start();
  second.push(100, 110);
  await second.settled();
  const third = await start();
  third.push(110, 111);
  third.link.up = true;
  assert.equal(await third.box.drained(1000), true);
  assert.deepEqual(third.published, ids(0, 111));
  await third.settled();
  assert.equal(existsSync(file()), false, "nothing waits");

  const fourth = await start({ up: true });
  await fourth.box.drained(10);
  assert.deepEqual(fourth.published, []);
});

test("an event that waits keeps its trace", async () => {
  const first = await start();
  first.box.push({ subject: "s", id: "traced", body: "x", trace: "00-aa-bb-01" });
  first.push(0, 1);
  await first.settled();
  assert.deepEqual(lines().map((line) => JSON.parse(line).trace), ["00-aa-bb-01", undefined]);
  /** @type {Array<string | undefined>} */
  const traces = [];
  const second = await start({ up: true, published: ({ trace }) => void traces.push(trace) });
  assert.equal(await second.box.drained(1000), true);
  assert.deepEqual(traces, ["00-aa-bb-01", undefined]);
});

test("nothing is written while events are stored", async () => {
  const { box, push, settled } = await start({ up: true });
  push(0, 500);
  await box.drained(1000);
  await settled();
  assert.equal(existsSync(join(directory, "plugins")), false);
});

test("events are written while the stream refuses them, and while the connection is lost", async () => {
  const { box, link, push, settled } = await start({ up: true });
  link.outcome = "again";
  push(0, 3);
  await new Promise(setImmediate);
  await settled();
  assert.deepEqual(inFile(), ids(0, 3));
  link.outcome = "stored";
  assert.equal(await box.drained(5000), true);
  link.up = false;
  push(3, 5);
  await settled();
  assert.deepEqual(inFile(), ids(3, 5), "the ones before are stored");
});

test("a burst of events is a few writes", async () => {
  const { push, settled, writes } = await start({ limits: { events: 1e5, bytes: 1e8 } });
  push(0, 5000);
  await settled();
  push(5000, 5001);
  await settled();
  assert.deepEqual(inFile(), ids(0, 5001));
  assert.ok(writes() <= 4, `${writes()} writes`);
});

test("the file is the user's alone", async () => {
  const { push, settled } = await start();
  push(0, 2);
  await settled();
  assert.equal(statSync(file()).mode & 0o777, 0o600);
  assert.equal(statSync(join(directory, "plugins")).mode & 0o777, 0o700);
});

for (const [name, limits] of /** @type {Array<[string, {events: number, bytes: number}]>} */ ([
  ["number", { events: 50, bytes: 1e6 }],
  ["bytes", { events: 1e6, bytes: 500 }],
])) {
  test(`the file is bounded by ${name}, and the oldest are dropped and counted`, async () => {
    const first = await start({ limits });
    for (let i = 0; i < 1000; i++) {
      first.push(i, i + 1);
      await first.settled();
      assert.ok(lines().length <= 100, `${lines().length} lines`);
    }
    const second = await start({ limits, up: true });
    await second.box.drained(1000);
    assert.deepEqual(second.published, ids(950, 1000));
    assert.equal(first.box.dropped, 950);
    assert.ok(second.box.dropped <= 50, "what the first process had dropped already");
  });
}

test("a last line that was not written to its end is left out", async () => {
  const first = await start();
  first.push(0, 3);
  await first.settled();
  appendFileSync(file(), '{"subject":"s","id":"3","bo');
  const second = await start();
  second.push(4, 5);
  await second.settled();
  assert.deepEqual(inFile(), ["0", "1", "2", "4"]);
  const third = await start({ up: true });
  await third.box.drained(1000);
  assert.deepEqual(third.published, ["0", "1", "2", "4"]);
  assert.deepEqual(log, []);
});

for (const [name, content] of [
  ["text", "hello\n"],
  ["a line in the middle", '{"subject":"s","id":"0","body":"x"}\n{"subj\n{"subject":"s","id":"1","body":"x"}\n'],
  ["other objects", '{"a":1}\n'],
  ["no line at all", "\u0000\u0000\u0000"],
]) {
  test(`a corrupt file is put aside and named: ${name}`, async () => {
    mkdirSync(join(directory, "plugins"));
    writeFileSync(file(), content ?? "");
    const { box, push, published, link, settled } = await start();
    assert.equal(readFileSync(`${file()}.corrupt`, "utf8"), content);
    assert.deepEqual(log, [`the file of waiting events is corrupt and was put aside: ${file()}.corrupt`]);
    push(0, 2);
    await settled();
    assert.deepEqual(inFile(), ids(0, 2));
    link.up = true;
    await box.drained(1000);
    assert.deepEqual(published, ids(0, 2));
  });
}

test("a directory that cannot be written is one warning, and events wait in memory", async () => {
  writeFileSync(join(directory, "plugins"), "a file");
  const { box, push, published, link, settled } = await start();
  push(0, 3);
  push(3, 5);
  await settled();
  assert.equal(log.length, 1, log.join("\n"));
  assert.match(log[0] ?? "", /waiting events cannot be kept on disk: /);
  link.up = true;
  await box.drained(1000);
  assert.deepEqual(published, ids(0, 5));
});

/** Makes appending to the file fail, and replacing it succeed. */
function unappendable() {
  rmSync(file());
  symlinkSync(directory, file());
}

test("events that could not be added are written when the outbox ends, and it is not called kept before", async () => {
  const { box, push, settled } = await start();
  push(0, 3);
  await settled();
  unappendable();
  push(3, 4);
  await settled();
  assert.equal(box.kept, 3, "of four that wait");
  assert.deepEqual(await box.abandon(), { kept: 4, lost: 0 });
  assert.deepEqual(inFile(), ids(0, 4));
});

test("an outbox that ends while a write fails loses nothing", async () => {
  const { box, push, settled } = await start();
  push(0, 3);
  await settled();
  unappendable();
  push(3, 4);
  push(4, 5);
  assert.deepEqual(await box.abandon(), { kept: 5, lost: 0 });
  assert.deepEqual(inFile(), ids(0, 5));
});

test("an outbox that ends counts as lost what cannot be written", async () => {
  writeFileSync(join(directory, "plugins"), "a file");
  const { box, push } = await start();
  push(0, 3);
  assert.deepEqual(await box.abandon(), { kept: 0, lost: 3 });
  assert.equal(box.dropped, 3);
});

test("an outbox that ends leaves its events in the file, also right after it was opened", async () => {
  const first = await start();
  first.push(0, 3);
  assert.deepEqual(await first.box.abandon(), { kept: 3, lost: 0 });
  assert.deepEqual(inFile(), ids(0, 3));

  const box = new Outbox({ limits: { events: 10, bytes: 1e6 }, ready: () => false, publish: async () => "again" });
  const opened = box.restore(new Spool(file(), new Warnings(/** @type {any} */ (console))));
  box.push({ subject: "s", id: "3", body: "x" });
  await box.abandon();
  await opened;
  assert.deepEqual(inFile(), ids(0, 4));
});

test("a file that cannot be read is put aside, not overwritten", async () => {
  mkdirSync(file(), { recursive: true }); // reading it fails with EISDIR
  const { push, settled } = await start();
  push(0, 2);
  await settled();
  assert.deepEqual(inFile(), ids(0, 2));
  assert.equal(statSync(`${file()}.unread`).isDirectory(), true);
  assert.equal(log.filter((line) => line.includes("was put aside")).length, 1);
});
