// The user's words, whatever the gateway puts around them: what stands in the prompt
// on each path, and that its hint is that of the bare message (docs/paths.md).

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { until } from "./process.mjs";
import { hints, intentOf, Rig } from "./rig.mjs";
import { anotherGroup, bob, direct, group } from "./telegram.mjs";

const calendar = "What is on my calendar tomorrow?";
const title = "[Queued messages while agent was busy]";

describe("the user's words", () => {
  let rig;
  let transcript;
  before(async () => {
    rig = await Rig.start({ plugin: { allowedChatTypes: ["direct", "group"] }, run: false });
    transcript = join(rig.dir, "transcript.txt");
    await rig.gateway.reconfigure((config) => {
      config.messages = { queue: { mode: "collect" }, groupChat: { unmentionedInbound: "room_event" } };
      config.tools = { media: { audio: { enabled: true, models: [{ type: "cli", command: "/bin/cat", args: [transcript] }] } } };
    });
    await rig.gateway.start();
    rig.telegram.files.set("photo", Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64"));
    rig.telegram.files.set("voice", Buffer.alloc(4_000, 7));
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  /** What the gateway gave to before_prompt_build for the prompt with this word. */
  async function given(word) {
    const lines = (await readFile(rig.gateway.prompts, "utf8")).split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).find(({ prompt }) => prompt.includes(word));
  }

  /** Sends a text with a word on a path, and fails unless its hint is that of the bare text. */
  async function sameHint(text, send, chat = direct) {
    const bare = await rig.turn(`agent:main:web-${Math.random().toString(36).slice(2)}`, text);
    const answer = `Answer to ${bare.word}.`;
    const said = rig.scripted(text, [answer]);
    await send(said.text, chat);
    await until(`an answer to ${said.text}`, () => rig.telegram.heard(chat).some((heard) => heard.includes(answer)));
    const [want, got] = [bare, { requests: rig.model.of(said.word) }].map(({ requests }) => hints(requests[0]).map(intentOf));
    assert.equal(want.length, 1);
    assert.deepEqual(got, want);
    return { ...said, ...(await given(said.word)) };
  }

  /** The turn of a session whose prompt holds the word. */
  async function turnOf(sessionKey, word) {
    const turns = () => rig.consumer.turns(sessionKey);
    await until(`the turn of ${word}`, async () => (await turns()).some(({ input }) => input.includes(word)));
    return (await turns()).find(({ input }) => input.includes(word));
  }

  test("a plain message is the prompt", async () => {
    const { text, prompt, currentUserMessage } = await sameHint(calendar, (said, chat) => rig.telegram.say(chat, said));
    assert.deepEqual([prompt, currentUserMessage], [text, undefined]);
  });

  test("a reply and what it replies to", async () => {
    const replyTo = { message_id: 900, date: 1, chat: direct, from: bob, text: "Translate the menu into French" };
    const { text, prompt } = await sameHint(calendar, (said, chat) => rig.telegram.say(chat, said, { replyTo }));
    assert.equal(prompt, text);
  });

  test("a forwarded message", async () => {
    const more = { forward_origin: { type: "user", date: 1_763_600_000, sender_user: bob }, forward_from: bob, forward_date: 1_763_600_000 };
    const { text, prompt } = await sameHint(calendar, (said, chat) => rig.telegram.say(chat, said, { more }));
    assert.equal(prompt, text);
  });

  test("a photo with a caption", async () => {
    const photo = [{ file_id: "photo", file_unique_id: "photo", width: 1, height: 1, file_size: 70 }];
    const { prompt, word, text } = await sameHint("what kind of bird is in this picture?", (caption, chat) => rig.telegram.say(chat, undefined, { more: { caption, photo } }));
    assert.match(prompt, /^\[media attached: [^\]]+\]\n\[Image\]\nUser text:\n/);
    assert.equal((await turnOf("agent:main:main", word)).message, text);
  });

  test("a voice note", async () => {
    const voice = { file_id: "voice", file_unique_id: "voice", duration: 2, mime_type: "audio/ogg", file_size: 4_000 };
    const { prompt, word, text } = await sameHint(calendar, async (said, chat) => {
      await writeFile(transcript, said);
      rig.telegram.say(chat, undefined, { more: { voice } });
    });
    assert.equal(prompt, `[Audio transcript (machine-generated, untrusted)]: ${JSON.stringify(text)}`);
    assert.equal((await turnOf("agent:main:main", word)).message, text);
  });

  test("messages that were queued", async () => {
    const key = "agent:main:web-queue";
    const bare = await rig.turn("agent:main:web-bare", calendar);
    const busy = await rig.begin(key, "Read my notes please.", [{ delayMs: 6_000, say: "They are read." }]);
    await until("the run that keeps it busy", () => rig.model.of(busy.word).length > 0);
    const said = rig.scripted(calendar, ["Nothing is."]);
    for (const text of ["Translate the menu into French.", said.text, "Vielen lieben Dank!"]) await rig.gateway.chat(key, text);
    await until("the run of what was queued", () => rig.model.of(said.word).length > 0);

    const { prompt, history } = await given(said.word);
    assert.equal(prompt, `${title}\n\n---\nQueued #1 (from gateway-client)\nTranslate the menu into French.\n\n---\nQueued #2 (from gateway-client)\n${said.text}\n\n---\nQueued #3 (from gateway-client)\nVielen lieben Dank!`);
    assert.deepEqual(history, [busy.text]);
    assert.deepEqual(hints(rig.model.of(said.word)[0]).map(intentOf), hints(bare.requests[0]).map(intentOf));
    const turn = await turnOf(key, said.word);
    assert.equal(turn.message, said.text, "the last one that asks for something");
    assert.equal(turn.intent.input.at(-1).text, "Translate the menu into French.", "what was queued before it is a turn before it");

    // The history has the frame too, and a follow-up goes on from the message in it.
    const later = await rig.turn(key, "and on Friday?");
    assert.equal((await given(later.word)).history.at(-1), prompt);
    assert.deepEqual(hints(later.requests[0]).map(intentOf), hints(bare.requests[0]).map(intentOf));
  });

  const mention = { type: "mention", offset: 0, length: "@a_test_bot".length };

  test("a topic of a group", async () => {
    const more = { message_thread_id: 42, is_topic_message: true, entities: [mention] };
    const { text, prompt, sessionKey } = await sameHint(calendar, (said) => rig.telegram.say({ ...group, is_forum: true }, `@a_test_bot ${said}`, { more }), group);
    assert.equal(prompt, `@a_test_bot ${text}`);
    assert.equal(sessionKey, `agent:main:telegram:group:${group.id}:topic:42`);
  });

  test("what a group says to nobody", async () => {
    const room = anotherGroup();
    const bare = await rig.turn("agent:main:web-room", calendar);
    const said = rig.scripted(calendar, [""]);
    const { message_id: id } = rig.telegram.say(room, said.text);
    await until("the room's event", () => rig.model.of(said.word).length > 0);
    const { prompt, trigger, sessionKey } = await given(said.word);
    assert.deepEqual([prompt, trigger], [`#${id} Ada: ${said.text}`, "user"]);
    assert.deepEqual(hints(rig.model.of(said.word)[0]).map(intentOf), hints(bare.requests[0]).map(intentOf));
    assert.equal((await turnOf(sessionKey, said.word)).message, said.text);
  });

  test("a scheduled job has a frame of its own, and no hint", async () => {
    const { word, text } = rig.scripted(calendar, ["Done on time."]);
    const job = { name: "morning", enabled: true, schedule: { kind: "every", everyMs: 86_400_000 }, payload: { kind: "agentTurn", message: text } };
    const { id } = await rig.gateway.call("cron.add", { ...job, sessionTarget: "isolated", delivery: { mode: "none" } });
    await rig.gateway.call("cron.run", { id, mode: "force" });
    await until("the job's request", () => rig.model.of(word).length > 0);
    assert.deepEqual(hints(rig.model.of(word)[0]), []);
    const { prompt, trigger } = await given(word);
    assert.equal(trigger, "cron");
    assert.ok(prompt.startsWith(`[cron:${id} morning] ${text}\nCurrent time: `), prompt);
  });
});
