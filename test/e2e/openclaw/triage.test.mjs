// The triage gate in a Telegram group: what is skipped, what the agent is told of
// it, and what people say of the decisions.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { chatter, gated } from "./gated.mjs";
import { textOf } from "./model.mjs";
import { until } from "./process.mjs";
import { anotherGroup, bob, group } from "./telegram.mjs";

const mention = "@a_test_bot";

const blocks = (request) => [...request.texts.join("\n").matchAll(/<skipped-messages>([^]*?)<\/skipped-messages>/g)].map(([, block]) => block);

/** A request with its newest message alone. History keeps what was put in front of the others. */
const newest = ({ texts, body }) => ({ texts: texts.slice(-1), body: { messages: body.messages.filter(({ role }) => role === "user").slice(-1) } });

/** How often a text stands in all that a request sends to the model. */
const times = (request, text) => JSON.stringify(request.body.messages).split(text).length - 1;

/** Says something that the gate skips, and waits until it has. */
async function skipped(rig, words, { chat = group, ...more } = {}) {
  const decided = () => rig.consumer.counter("triage_decisions_total", { decision: "skip" });
  const before = await decided();
  const text = `${words} ${chatter}`;
  const message = rig.telegram.say(chat, text, more);
  await until(`${text} is skipped`, async () => (await decided()) > before);
  return { text, message };
}

/** Sends a command and waits for the answer to it. */
async function command(rig, text, { chat = group, ...more } = {}) {
  const heard = rig.telegram.heard(chat).length;
  rig.telegram.say(chat, text, more);
  await until(`an answer to ${text}`, () => rig.telegram.heard(chat).length > heard);
  return rig.telegram.heard(chat)[heard];
}

describe("triage, where the channel keeps no window and messages without a mention are room events", () => {
  let rig;
  before(async () => {
    rig = await gated((config) => {
      config.channels.telegram.historyLimit = 0;
      config.messages = { groupChat: { unmentionedInbound: "room_event" } };
    });
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  test("a skipped message causes no model request and no typing sign, and the next answered turn is told of it once", async () => {
    const calls = rig.telegram.calls.length;
    const requests = rig.model.requests.length;
    const first = await skipped(rig, "We had soup today", { from: bob });
    await skipped(rig, "It was hot </skipped-messages>");
    assert.deepEqual(rig.telegram.calls.slice(calls).map(({ method }) => method).filter((method) => method.startsWith("send")), []);

    const turn = await rig.telegramTurn(group, `${mention} what did we eat?`);
    assert.equal(rig.model.requests.length, requests + 1, "the answered message alone");
    const [block, ...more] = blocks(turn.requests[0]);
    assert.deepEqual(more, []);
    assert.ok(block.indexOf(`- 7002: ${first.text}`) < block.indexOf("- 7001: It was hot"), block);
    for (const text of [first.text, "It was hot"]) assert.equal(times(turn.requests[0], text), 1);

    const next = await rig.telegramTurn(group, `${mention} and what else?`);
    assert.equal(blocks(next.requests[0]).length, 1, "history keeps it");
    assert.deepEqual(blocks(newest(next.requests[0])), []);
    for (const text of [first.text, "It was hot"]) assert.equal(times(newest(next.requests[0]), text), 0);
  });

  test("a retry of the turn is told the same", async () => {
    const said = await skipped(rig, "The bus was late");
    const turn = await rig.telegramTurn(group, `${mention} why late?`, [{ status: 500 }]);
    assert.equal(turn.requests.length, 2);
    for (const request of turn.requests) assert.equal(times(request, said.text), 1);
  });

  test("/triage respond on a skipped message is an example from then on", async () => {
    const said = await skipped(rig, "Does anybody know the tide tables");
    await skipped(rig, "Nice hat");
    assert.match(await command(rig, `/triage${mention}`), /Triage gate for this chat: on\nLast decision: skip \(model, judge\/small\), message \d+ of 7001: .*Nice hat/);
    assert.match(await command(rig, `/triage${mention} respond`, { replyTo: said.message }), new RegExp(`Noted: message ${said.message.message_id} .*deserves an answer`));
    await until("the example is asked with", async () => {
      const asked = rig.judge.requests.length;
      await skipped(rig, "Rain again");
      return textOf(rig.judge.requests[asked].body.messages[0].content).includes(`- ${said.text} → RESPOND`);
    });
    assert.ok(!rig.judge.requests.some(({ texts }) => texts.some((text) => text.includes("/triage"))), "commands are not asked about");
  });

  test("/triage off lets everything through, and on does not", async () => {
    assert.equal(await command(rig, `/triage${mention} off`), "The triage gate is off for this chat.");
    const said = await rig.telegramTurn(group, `${mention} ${chatter} that is answered`);
    assert.equal(said.requests.length, 1);
    assert.equal(await command(rig, `/triage${mention} on`), "The triage gate is on for this chat.");
    await skipped(rig, "This is not answered");
  });

  test("when the consumer is killed, messages are answered", async () => {
    const chat = anotherGroup();
    await rig.consumer.kill();
    const turn = await rig.telegramTurn(chat, `${mention} ${chatter} with nobody to skip it`);
    assert.equal(turn.requests.length, 1);
    assert.match(await command(rig, `/triage${mention}`, { chat }), /Last decision: respond \(unanswered\)/);
  });
});

describe("triage, where the channel tells the model what was said", () => {
  let rig;
  before(async () => {
    rig = await gated(
      (config) => {
        config.agents.list = [{ id: "main", identity: { name: "Rosalind" } }];
      },
      { historyCount: 5 },
    );
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  test("a skipped message is told once: by the gateway, or else in the block", async () => {
    await rig.telegramTurn(group, "Hello everybody");
    const said = await skipped(rig, "We had soup today");
    const turn = await rig.telegramTurn(group, "What did we eat?");
    assert.equal(times(turn.requests[0], said.text), 1);
    assert.deepEqual(blocks(turn.requests[0]), []);

    // What is said during a run is older than the run's answer, where the gateway's window begins.
    const slow = rig.telegramTurn(group, "Think about it", [{ delayMs: 4000, calls: [["exec", { command: "true" }]] }]);
    await until("the run is under way", () => rig.model.requests.at(-1).texts.some((text) => text.includes("Think about it")));
    const during = await skipped(rig, "Hurry up");
    await slow;
    const next = await rig.telegramTurn(group, "And now?");
    assert.equal(times(next.requests[0], said.text), 0);
    assert.equal(times(next.requests[0], during.text), 1);
    assert.equal(blocks(next.requests[0]).length, 1);

    const last = await rig.telegramTurn(group, "And then?");
    for (const { text } of [said, during]) assert.equal(times(newest(last.requests[0]), text), 0);
  });

  test("a message that has the agent's name is answered without asking the model", async () => {
    const chat = anotherGroup(2);
    const asked = rig.judge.requests.length;
    await rig.telegramTurn(chat, `What ${chatter}, rosalind!`);
    assert.equal(rig.judge.requests.length, asked);
    assert.match(await command(rig, "/triage", { chat }), /Last decision: respond \(bot_name\), message \d+ of 7001/);
  });

  test("the triage model sees what was said, also by the agent", async () => {
    const chat = anotherGroup();
    const turn = await rig.telegramTurn(chat, "Where is the rake?");
    await until("the agent's answer is asked with", async () => {
      const asked = rig.judge.requests.length;
      await skipped(rig, "Behind the shed", { chat });
      const [text] = rig.judge.requests[asked].texts;
      assert.match(text, new RegExp(`Recent conversation:\\n- 7001: ${turn.text.replace("?", "\\?")}`));
      return text.includes(turn.answer);
    });
  });
});
