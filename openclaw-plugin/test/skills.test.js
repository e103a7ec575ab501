import assert from "node:assert/strict";
import { test } from "node:test";

import { headers } from "@nats-io/transport-node";

import { Skills, sessionSkills, skillsOf } from "../src/skills.js";

const prompt = `The following skills provide specialized instructions.

<available_skills>
  <skill>
    <name>git</name>
    <description>Commits &amp; &lt;branches&gt;: &quot;all&quot; &amp;lt;</description>
    <location>~/skills/git/SKILL.md</location>
  </skill>
  <skill>
    <name>bare</name>
    <location>/skills/bare/SKILL.md</location>
    <location_note>On the gateway.</location_note>
  </skill>
  <skill>
    <name>without a file</name>
  </skill>
</available_skills>`;

const listed = [
  { name: "git", path: "~/skills/git/SKILL.md", description: 'Commits & <branches>: "all" &lt;' },
  { name: "bare", path: "/skills/bare/SKILL.md" },
];
const resolved = [{ name: "git", filePath: "/abs/git/SKILL.md", description: "Commits.", baseDir: "/abs" }, { name: "x" }, null, 7];

for (const [name, snapshot, want] of /** @type {Array<[string, unknown, unknown]>} */ ([
  ["as the model is told", { prompt, resolvedSkills: resolved }, listed],
  ["resolved ones without a list", { prompt: "", resolvedSkills: resolved }, [{ name: "git", path: "/abs/git/SKILL.md", description: "Commits." }]],
  ["no snapshot", undefined, []],
  ["null", null, []],
  ["another shape", { prompt: 7, resolvedSkills: { git: {} } }, []],
  ["a list that is not closed", { prompt: "<available_skills><skill><name>a</name>" }, []],
  ["an empty list", { prompt: "<available_skills></available_skills>" }, []],
])) {
  test(`skills of a snapshot: ${name}`, () => assert.deepEqual(skillsOf(snapshot), want));
}

test("skills of a snapshot are bounded", () => {
  const many = Array.from({ length: 1000 }, (_, i) => ({ name: `s${i}`, filePath: `/s/${i}`, description: "d".repeat(5000) }));
  const skills = skillsOf({ resolvedSkills: [{ name: "long", filePath: "p".repeat(5000) }, ...many] });
  assert.equal(skills.length, 199);
  assert.equal(skills[0]?.description?.length, 300);
});

/** @param {(where: object) => unknown} getSessionEntry */
const api = (getSessionEntry) => /** @type {any} */ ({ runtime: { agent: { session: { getSessionEntry } } } });
const ctx = { sessionKey: "agent:main:main", agentId: "main", runId: "r" };

test("the skills of a session are those that its gateway keeps", () => {
  /** @type {object[]} */
  const asked = [];
  assert.deepEqual(sessionSkills(api((where) => asked.push(where) && { skillsSnapshot: { prompt } }), ctx), listed);
  assert.deepEqual(asked, [{ sessionKey: "agent:main:main", agentId: "main" }]);
});

for (const [name, given, context] of /** @type {Array<[string, any, any]>} */ ([
  ["a gateway without sessions", {}, ctx],
  ["a gateway that throws", api(() => { throw new Error("no store"); }), ctx],
  ["an unknown session", api(() => undefined), ctx],
  ["a session without skills", api(() => ({})), ctx],
  ["a context without a session", api(() => ({ skillsSnapshot: { prompt } })), { runId: "r" }],
])) {
  test(`a session has no skills: ${name}`, () => assert.deepEqual(sessionSkills(given, context), []));
}

/**
 * A consumer whose intents name skills, as far as a request's skills go (contract §7).
 *
 * @param {{names: string | undefined, skip?: string}} consumer names is undefined for one that does not tell
 */
function asks(consumer) {
  const read = { times: 0 };
  const skills = new Skills(() => {
    read.times++;
    return listed;
  });
  /** @type {any[]} */
  const requests = [];
  const ask = (more = {}) =>
    skills.ask({ ...ctx, ...more }, async (given) => {
      requests.push(given);
      const header = headers();
      if (consumer.names !== undefined) header.set("Hint-Skills", consumer.names);
      if (consumer.skip !== undefined) header.set("Hint-Skip", consumer.skip);
      return { decided: true, result: { prependContext: `hint ${requests.length}` }, headers: header };
    });
  return { ask, requests, read };
}

test("the first request of a process has all skills, later ones those that intents name", async () => {
  const { ask, requests } = asks({ names: "git, hg" });
  await ask();
  await ask();
  assert.deepEqual(requests, [
    { ...ctx, availableSkills: listed },
    { ...ctx, availableSkills: listed.slice(0, 1), skillNames: ["git", "hg"] },
  ]);
});

test("where no intent names a skill none is sent, and the gateway's database is not read", async () => {
  const { ask, requests, read } = asks({ names: "" });
  for (let i = 0; i < 5; i++) await ask();
  assert.deepEqual(requests.slice(1), Array.from({ length: 4 }, () => ({ ...ctx, skillNames: [] })));
  assert.equal(read.times, 1);
});

test("a consumer whose intents name another skill is asked again with all", async () => {
  const consumer = { names: "git" };
  const { ask, requests } = asks(consumer);
  await ask();
  consumer.names = "bare, git";
  assert.deepEqual((await ask()).result, { prependContext: "hint 3" });
  assert.deepEqual(requests.slice(1), [
    { ...ctx, availableSkills: listed.slice(0, 1), skillNames: ["git"] },
    { ...ctx, availableSkills: listed },
  ]);
  consumer.names = "bare";
  await ask();
  assert.equal(requests.length, 4, "a name that is gone costs nothing");
  assert.deepEqual(requests[3].skillNames, ["bare", "git"]);
});

test("a consumer that does not tell names gets all skills", async () => {
  const consumer = { names: /** @type {string | undefined} */ (undefined) };
  const { ask, requests } = asks(consumer);
  for (let i = 0; i < 3; i++) await ask();
  assert.deepEqual(requests, Array.from({ length: 3 }, () => ({ ...ctx, availableSkills: listed })));
  consumer.names = "git";
  await ask();
  consumer.names = undefined; // the version before is back
  await ask();
  await ask();
  assert.deepEqual(requests.slice(4), [{ ...ctx, availableSkills: listed.slice(0, 1), skillNames: ["git"] }, { ...ctx, availableSkills: listed }, { ...ctx, availableSkills: listed }]);
});

test("a turn without a hint is not asked about again", async () => {
  const consumer = { names: /** @type {string | undefined} */ ("git"), skip: "unchanged" };
  const { ask, requests } = asks(consumer);
  await ask();
  consumer.names = "bare, git";
  await ask();
  Object.assign(consumer, { names: undefined, skip: "overloaded" });
  await ask();
  await ask();
  assert.deepEqual(requests.map(({ skillNames }) => skillNames), [undefined, ["git"], ["bare", "git"], ["bare", "git"]]);
});

test("no answer is not asked for again, and names stay", async () => {
  /** @type {any[]} */
  const requests = [];
  const skills = new Skills(() => listed);
  const answer = (/** @type {boolean} */ decided) => async (/** @type {object} */ given) => {
    requests.push(given);
    const header = headers();
    header.set("Hint-Skills", "git");
    return decided ? { decided, result: undefined, headers: header } : { decided, result: undefined };
  };
  await skills.ask(ctx, answer(true));
  await skills.ask(ctx, answer(false));
  await skills.ask(ctx, answer(true));
  assert.deepEqual(requests.map(({ skillNames }) => skillNames), [undefined, ["git"], ["git"]]);
});

for (const [name, more] of /** @type {Array<[string, object]>} */ ([
  ["a gateway that lists skills itself", { availableSkills: [] }],
  ["a turn without a run", { runId: undefined }],
])) {
  test(`a request stays as it is: ${name}`, async () => {
    const { ask, requests, read } = asks({ names: "bare" });
    await ask(more);
    await ask(more);
    assert.deepEqual(requests, [{ ...ctx, ...more }, { ...ctx, ...more }]);
    assert.equal(read.times, 0);
  });
}
