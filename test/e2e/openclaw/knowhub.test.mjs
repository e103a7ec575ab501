// Experiences: an agent submits one, a person approves it, and another session's
// prompt holds it.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { textOf } from "./model.mjs";
import { freePort, until } from "./process.mjs";
import { allHints, hints, Rig } from "./rig.mjs";
import { direct } from "./telegram.mjs";

const task = "Deploy the orchid shop to staging";
const tail = "and then look at the health page.";
const experience = {
  task,
  resource: "wrangler deploy",
  // Longer than what stands in front of a prompt.
  result: `It needs --env staging. ${"The first attempt without it went to production and was rolled back. ".repeat(15)}${tail}`,
};

/** The experiences in front of a request to the model. */
const recalled = (request) =>
  [...request.texts.join("\n").matchAll(/<relevant-experiences>([^]*?)<\/relevant-experiences>/g)].map(([, block]) => block);

/** Fails where a mark of the plugin's own reached the model. */
function assertUnmarked(requests) {
  for (const { body } of requests) assert.doesNotMatch(JSON.stringify(body), /<[0-9a-f]{24}:|:[0-9a-f]{24}>|id=\\"[0-9a-f]{24}\\"/);
}

/** What the last tool call of a turn gave: the tool's JSON, also when it was called through the gateway's catalogue. */
function given(requests) {
  const results = requests.at(-1).body.messages.filter(({ role }) => role === "tool");
  assert.ok(results.length > 0, "no tool was called");
  const answer = JSON.parse(textOf(results.at(-1).content));
  return answer.result?.content ? JSON.parse(textOf(answer.result.content)) : answer;
}

/** Approves an experience with the button of the review page. */
async function approve(rig, id) {
  const page = `http://${rig.consumer.http}/experiences`;
  const shown = await (await fetch(page)).text();
  assert.ok(shown.includes(task), "the task is not on the page");
  assert.ok(shown.includes(`value="${id}"`), `${id} is not on the page`);
  const answer = await fetch(page, { method: "POST", redirect: "manual", headers: { origin: `http://${rig.consumer.http}` }, body: new URLSearchParams({ approve: id }) });
  assert.equal(answer.status, 303, await answer.text());
}

describe("experiences", () => {
  let rig;
  before(async () => {
    rig = await Rig.start({ run: false, plugin: { timeoutMs: 30_000, knowhub: { enabled: true, recall: 3, listen: `127.0.0.1:${await freePort()}` } } });
    await rig.gateway.reconfigure((config) => {
      config.agents.list = [{ id: "main" }, { id: "mute", tools: { deny: ["kb_search"] } }];
    });
    await rig.gateway.start();
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  const ask = "How do I deploy the orchid shop?";

  test("what an agent submitted is in front of another session's prompt once a person has approved it", async () => {
    const first = await rig.turn("agent:main:web-learns", "Please deploy the shop", [{ calls: [["kb_submit", experience]] }, "Noted."]);
    assert.match(first.requests[0].texts.join("\n"), /<knowhub-reminder>[^]*kb_submit[^]*<\/knowhub-reminder>/);
    const { id, status } = given(first.requests);
    assert.equal(status, "pending");
    const before = await rig.turn("agent:main:web-before", ask);
    assert.deepEqual(recalled(before.requests[0]), [], "nobody has approved it");

    await approve(rig, id);
    const turn = await rig.turn("agent:main:web-after", ask, [{ calls: [["kb_search", { query: "orchid shop staging" }]] }, { calls: [["kb_content", { id }]] }, "Done."]);
    const [block, ...more] = recalled(turn.requests[0]);
    assert.deepEqual(more, []);
    assert.match(block, new RegExp(`1\\. Task: ${task}\\n`));
    assert.match(block, /Used: wrangler deploy\n/);
    assert.match(block, /not instructions/);
    assert.ok(!block.includes(tail), "the block has the beginning");
    assert.equal(hints(turn.requests[0]).length, 1, "and there is a hint");
    assert.deepEqual(given(turn.requests.slice(0, 2)).experiences.map((found) => found.id), [id]);
    const whole = given(turn.requests);
    for (const [name, text] of Object.entries({ ...experience, status: "approved" })) assert.equal(whole[name], text);
    assertUnmarked(turn.requests);

    const next = await rig.turn("agent:main:web-after", "Thank you, that was it.");
    assertUnmarked(next.requests);
    assert.equal(next.requests[0].texts[0], turn.requests[0].texts[0], "both are still there on the next turn, byte for byte");
    assert.equal(allHints(next.requests[0])[0], hints(turn.requests[0])[0]);

    const said = await rig.telegramTurn(direct, ask);
    assert.equal(recalled(said.requests[0]).length, 1, "in a chat too");
  });

  test("after a reset the reminder comes back", async () => {
    const key = "agent:main:web-reset";
    const reminders = ({ requests: [{ texts }] }) => texts.join("\n").split("<knowhub-reminder>").length - 1;
    assert.equal(reminders(await rig.turn(key, ask)), 1);
    await rig.shows(key, 1);
    await rig.gateway.call("sessions.reset", { key });
    await until("the end of the session", async () => (await rig.consumer.sessions()).find(({ sessionKey }) => sessionKey === key)?.ended?.reason === "reset");
    assert.equal(reminders(await rig.turn(key, ask)), 1);
    assert.equal(reminders(await rig.turn(key, ask)), 1, "that of the turn before");
  });

  test("a turn whose model call is repeated has the experience again", async () => {
    const turn = await rig.turn("agent:main:web-repeated", ask, [{ status: 500 }, "Done."]);
    assert.equal(turn.requests.length, 2);
    for (const request of turn.requests) assert.equal(recalled(request).length, 1);
  });

  test("an agent that may not search has none in front of its prompt", async () => {
    const turn = await rig.turn("agent:mute:web-asks", ask);
    assert.equal(hints(turn.requests[0]).length, 1);
    assert.deepEqual(recalled(turn.requests[0]), []);
  });
});
