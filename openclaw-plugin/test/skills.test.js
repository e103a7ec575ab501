import assert from "node:assert/strict";
import { test } from "node:test";

import { skillsOf, withSkills } from "../src/skills.js";

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

test("a turn's context gets the session's skills", () => {
  /** @type {object[]} */
  const asked = [];
  const found = withSkills(api((where) => asked.push(where) && { skillsSnapshot: { prompt } }), ctx);
  assert.deepEqual(found, { ...ctx, availableSkills: listed });
  assert.deepEqual(asked, [{ sessionKey: "agent:main:main", agentId: "main" }]);
});

for (const [name, given, context] of /** @type {Array<[string, any, any]>} */ ([
  ["a gateway without sessions", {}, ctx],
  ["a gateway that throws", api(() => { throw new Error("no store"); }), ctx],
  ["an unknown session", api(() => undefined), ctx],
  ["a session without skills", api(() => ({})), ctx],
  ["a context without a session", api(() => ({ skillsSnapshot: { prompt } })), { runId: "r" }],
  ["a context that has skills", api(() => ({ skillsSnapshot: { prompt } })), { ...ctx, availableSkills: [] }],
])) {
  test(`a turn's context stays as it is: ${name}`, () => assert.equal(withSkills(given, context), context));
}
