import assert from "node:assert/strict";
import { test } from "node:test";

import { Breaker } from "../src/ask.js";

function breaker() {
  const clock = { now: 0 };
  return { clock, b: new Breaker({ lateAnswers: 3, pauseMs: 1000 }, () => clock.now) };
}

test("Breaker: opens after late answers in a row", () => {
  const { b } = breaker();
  for (const opened of [false, false, true]) {
    assert.equal(b.allow(), true);
    assert.equal(b.late(), opened);
  }
  assert.equal(b.allow(), false);
  assert.equal(b.pauseLeft, 1000);
});

test("Breaker: an answer in time resets the count", () => {
  const { b } = breaker();
  for (let i = 0; i < 10; i++) {
    b.late();
    b.late();
    b.answered();
  }
  assert.equal(b.allow(), true);
});

test("Breaker: no responders is not late", () => {
  const { b } = breaker();
  for (let i = 0; i < 10; i++) {
    assert.equal(b.allow(), true);
    b.unanswered();
  }
  assert.equal(b.open, false);
});

test("Breaker: one probe after the pause", () => {
  for (const [name, outcome, next] of /** @type {Array<[string, (b: Breaker) => unknown, boolean]>} */ ([
    ["answered", (b) => b.answered(), true],
    ["late", (b) => b.late(), false],
    ["unanswered", (b) => b.unanswered(), true],
  ])) {
    const { b, clock } = breaker();
    for (let i = 0; i < 3; i++) b.late();
    clock.now = 999;
    assert.equal(b.allow(), false, name);
    clock.now = 1000;
    assert.equal(b.allow(), true, name);
    assert.equal(b.allow(), false, `${name}: a second one waits for the probe`);
    outcome(b);
    assert.equal(b.allow(), next, name);
    clock.now = 2000;
    if (!next) assert.equal(b.allow(), true, name);
  }
});
