import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import plugin from "../index.js";
import { decisionProvider } from "../src/decider.js";
import { VERSION, ignoredOptions, readOptions } from "../src/config.js";
import { checkTurn } from "../src/permits.js";
import { DECISIONS, OBSERVATIONS, planHooks } from "../src/hooks.js";
import { TOOL_NAMES } from "../src/knowhub.js";
import { samples } from "./samples.js";

const manifest = JSON.parse(readFileSync(new URL("../openclaw.plugin.json", import.meta.url), "utf8"));
const schema = manifest.configSchema;
const source = (/** @type {string} */ path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("manifest: matches the package", () => {
  const pkg = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.equal(manifest.id, "intention-hint");
  assert.equal(manifest.version, pkg.version);
  assert.equal(VERSION, pkg.version);
  assert.deepEqual(manifest.contracts.tools, TOOL_NAMES);
  const { id } = decisionProvider(() => assert.fail());
  assert.deepEqual([manifest.contracts.decisionProviders, manifest.decisionModels], [[id], [{ provider: id, id: "auto", name: "intenthint" }]]);
  assert.deepEqual(Object.keys(pkg.dependencies), pkg.bundleDependencies);
});

test("manifest: has every field that the consumer reads", () => {
  const fields = [...source("config/settings.go").matchAll(/\bfield: "(\w+)"/g)].map((match) => match[1] ?? "");
  assert.ok(fields.length > 30);
  for (const field of fields) assert.ok(field in schema.properties, field);
});

test("manifest: hints and groups name existing fields", () => {
  for (const path of Object.keys(manifest.uiHints)) {
    let node = schema;
    for (const step of path.replace("[]", "").split(".")) {
      assert.ok(node.properties?.[step], path);
      node = node.properties[step];
    }
  }
  const grouped = manifest.configGroups.flatMap((/** @type {any} */ group) => group.properties);
  assert.deepEqual(grouped.toSorted(), Object.keys(schema.properties).toSorted(), "every option is in one group");
  for (const name of grouped) assert.ok(manifest.uiHints[name].label, name);
});

test("manifest: what may hold a credential is sensitive", () => {
  for (const path of ["natsUrl", "natsUrl[]", "natsCreds", "natsNkey", "natsKey", "knowhub.token"]) assert.equal(manifest.uiHints[path].sensitive, true, path);
});

test("package: is what the gateway and a registry want", () => {
  const pkg = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const gateway = JSON.parse(source("test/e2e/openclaw/package.json")).dependencies.openclaw;
  // The lowest version with which the tests of a real gateway have passed.
  const lowest = "2026.9.5";
  assert.deepEqual(pkg.openclaw.compat, { pluginApi: `>=${lowest}`, minGatewayVersion: lowest });
  assert.ok(source("openclaw-plugin/README.md").includes(`OpenClaw](https://docs.openclaw.ai) ${lowest} or later`));
  assert.deepEqual(pkg.openclaw.build, { openclawVersion: gateway, pluginSdkVersion: gateway });
  assert.equal(pkg.peerDependencies.openclaw, pkg.openclaw.compat.pluginApi);
  assert.equal(pkg.openclaw.install.minHostVersion, pkg.openclaw.compat.pluginApi);
  for (const file of pkg.files) assert.ok(existsSync(new URL(`../${file}`, import.meta.url)), file);
  assert.equal(source("openclaw-plugin/LICENSE"), source("LICENSE"));
  assert.equal(pkg.openclaw.install.npmSpec, pkg.name);
  const [types, node] = [pkg.devDependencies["@types/node"], pkg.engines.node].map((version) => /\d+/.exec(version)?.[0]);
  assert.equal(types, node, "types of the Node.js that it runs on");
});

test("package: one name for people, and the id that stands in their configurations", () => {
  assert.equal(manifest.name, "intenthint");
  assert.equal(plugin.name, manifest.name);
  assert.equal(plugin.id, manifest.id);
});

test("skills: each is in the package, and names tools that there are", () => {
  for (const directory of manifest.skills) {
    const skill = source(`openclaw-plugin/${directory}/knowhub/SKILL.md`);
    const [, matter = ""] = /^---\n([^]*?)\n---\n/.exec(skill) ?? [];
    assert.match(matter, /^name: knowhub$/m);
    assert.match(matter, new RegExp(`"plugins.entries.${manifest.id}.config.knowhub.enabled"`), "only where experiences are on");
    const named = new Set([...skill.matchAll(/`(kb_\w+)`/g)].map(([, tool]) => tool));
    assert.deepEqual([...named].toSorted(), TOOL_NAMES.toSorted());
    assert.ok(Buffer.byteLength(skill) < 4096);
  }
});

test("package: has the consumer's version", () => {
  assert.equal(/const version = "([^"]+)"/.exec(source("cmd/consumer/version.go"))?.[1], VERSION);
});

test("package: links of the README lead into the package or out of the repository", () => {
  const pkg = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const headings = [...source("openclaw-plugin/README.md").matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => text.toLowerCase().replaceAll(/[^\w -]/g, "").replaceAll(" ", "-"));
  for (const [, target = ""] of source("openclaw-plugin/README.md").matchAll(/\]\(([^)]+)\)/g)) {
    if (target.startsWith("https://")) continue;
    if (target.startsWith("#")) assert.ok(headings.includes(target.slice(1)), target);
    else assert.ok(pkg.files.some((/** @type {string} */ file) => target === file || target.startsWith(`${file}/`)), target);
  }
});

/** What a gateway may publish in a text: the first permission with a list of what is denied. @param {string} text */
function gatewayMay(text) {
  const [, allow = "", deny = ""] = /allow: \[([^\]]*)\]\s*deny: \[([^\]]*)\]/.exec(text) ?? [];
  return { allow: JSON.parse(`[${allow}]`), deny: JSON.parse(`[${deny}]`) };
}

test("documents: the README's permissions are those of deploy/accounts.conf", () => {
  const may = gatewayMay(source("deploy/accounts.conf"));
  assert.ok(may.allow.length > 3);
  assert.deepEqual(gatewayMay(source("openclaw-plugin/README.md")), may);
});

test("documents: none names a right that deploy/accounts.conf does not give", () => {
  const files = execFileSync("git", ["ls-files", "*.md"], { cwd: new URL("../..", import.meta.url), encoding: "utf8" });
  const documents = files.trim().split("\n").filter((path) => !/testdata|decisions|CHANGELOG|contract/.test(path));
  assert.ok(documents.length > 10);
  const given = source("deploy/accounts.conf");
  for (const path of documents) {
    for (const line of source(path).split("\n")) {
      if (!/\b(publish(es)?|allow|subscribes?)\b/.test(line)) continue;
      for (const [, subject = ""] of line.matchAll(/["'`](openclaw\.(?:request|event|knowhub)\.[\w.*>]+)["'`]/g)) {
        if (subject.startsWith("openclaw.request.before_tool_call")) continue; // a service of the operator's own
        assert.ok(given.includes(`"${subject}"`), `${path} names ${subject}: ${line}`);
        assert.notEqual(subject, "openclaw.knowhub.>", path);
      }
    }
  }
});

test("manifest: the defaults are those of the plugin", () => {
  /** @param {any} node @returns {any} */
  const defaults = (node) => {
    if ("default" in node) return node.default;
    if (!node.properties) return undefined;
    const entries = Object.entries(node.properties).map(([name, child]) => [name, defaults(child)]);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  };
  assert.deepEqual(readOptions(defaults(schema)), readOptions({}));
  assert.deepEqual(readOptions(undefined), readOptions({}));
});

for (const [name, raw, pick, want] of /** @type {Array<[string, any, (o: import("../src/config.js").Options) => unknown, unknown]>} */ ([
  ["servers as text", { natsUrl: "nats://a:1, nats://b:2" }, (o) => o.natsUrl, ["nats://a:1", "nats://b:2"]],
  ["servers as a list", { natsUrl: ["nats://a:1"] }, (o) => o.natsUrl, ["nats://a:1"]],
  ["no server", {}, (o) => [o.natsUrl, o.natsPort], [[], 4222]],
  ["the port of the embedded server", { natsPort: 4300 }, (o) => o.natsPort, 4300],
  ["an unknown port", { natsPort: -1 }, (o) => o.natsPort, 4222],
  ["a short time-out", { timeoutMs: 1 }, (o) => o.timeoutMs, 500],
  ["a long time-out", { timeoutMs: 1e9 }, (o) => o.timeoutMs, 60_000],
  ["a time-out as text", { timeoutMs: "1500" }, (o) => o.timeoutMs, 1500],
  ["a time-out that is not a number", { timeoutMs: {} }, (o) => o.timeoutMs, 3000],
  ["a time-out with the local classifier", { classifier: "local", timeoutMs: 3000 }, (o) => o.timeoutMs, 500],
  ["a time-out with the local classifier and a writer", { classifier: "local", writer: "openai/gpt-5-mini" }, (o) => o.timeoutMs, 3000],
  ["a time-out with a model", { classifier: "hedged" }, (o) => o.timeoutMs, 3000],
  ["the message alone", { queryMode: "message" }, (o) => o.history.turns, 0],
  ["the full conversation", { queryMode: "full" }, (o) => o.history.turns, Number.MAX_SAFE_INTEGER],
  ["turns as given", { queryMode: "full", history: { turns: 7 } }, (o) => o.history.turns, 7],
  ["tools in the history", { history: { tools: true } }, (o) => o.history.textOnly, false],
  ["no events", { hooks: { include: [] } }, (o) => o.hooks.include, []],
  ["wrong types", { hooks: 7, buffer: null, breaker: [], triage: "x", natsUrl: {}, history: true }, (o) => o, readOptions({})],
])) {
  test(`readOptions: ${name}`, () => assert.deepEqual(pick(readOptions(raw)), want));
}

test("readOptions: files are resolved as the gateway does", () => {
  const o = readOptions({ natsCreds: "~/c", natsCa: "" }, (path) => `/home/${path.slice(2)}`);
  assert.equal(o.natsCreds, "/home/c");
  assert.equal(o.natsCa, "");
});

for (const [name, raw, want] of /** @type {Array<[string, any, string[]]>} */ ([
  ["nothing", { timeoutMs: "1500", natsPort: -1, dataDir: "d", agents: "", natsUrl: ["a"], allowedChatIds: [42], triage: { enabled: "true" }, stream: null }, []],
  ["no object", "off", []],
  ["names", { natsURL: "x", buffer: { evnets: 1 }, triage: { later: 1 }, hasOwnProperty: 1 }, ["natsURL is not known", "buffer.evnets is not known", "triage.later is not known", "hasOwnProperty is not known"]],
  ["a number out of its range", { timeoutMs: 100 }, ["timeoutMs is out of its range: 500 counts"]],
  ["a number that is none", { timeoutMs: "banana", buffer: { events: {} } }, ["timeoutMs is not a number: its default counts", "buffer.events is not a number: its default counts"]],
  ["a word", { queryMode: "all" }, ["queryMode is none of message, recent, full: recent counts"]],
  ["a word of a list", { allowedChatTypes: "direct, groups" }, ["allowedChatTypes holds what is none of direct, group, channel, explicit, unknown: it is left out"]],
  ["a boolean", { history: { tools: "yes" } }, ["history.tools is not true or false: false counts"]],
  ["an object", { hooks: 7 }, ["hooks is not an object: its defaults count"]],
  ["a text", { natsCa: {} }, ["natsCa is not a text: its default counts"]],
  ["a list", { natsUrl: {} }, ["natsUrl is not a list of texts: its default counts"]],
  ["options of the consumer, which checks them itself", { minConfidence: 7, classifier: "psychic" }, []],
])) {
  test(`ignoredOptions: ${name}`, () => assert.deepEqual(ignoredOptions(raw), want));
}

test("readOptions: of what cannot be read as a list of what to keep, all is kept", () => {
  const turn = { agentId: "main", sessionKey: "agent:main:telegram:direct:42", trigger: "user", messageProvider: "telegram", channelId: "42" };
  assert.equal(checkTurn(readOptions({}).rules, turn), "");
  for (const name of ["agents", "allowedChatTypes", "allowedChatIds", "deniedChatIds"]) {
    assert.notEqual(checkTurn(readOptions({ [name]: { telegram: true } }).rules, turn), "", name);
  }
  assert.deepEqual(planHooks(readOptions({ hooks: { exclude: {} } })).observe, []);
  assert.deepEqual(readOptions({ triage: { enabled: true, excludeGroups: 7.5, groups: {} } }).triage.excludeGroups, ["*"]);
});

test("hooks: the catalogue is the consumer's", () => {
  const go = source("subjects/hooks.go");
  const constants = new Map([...go.matchAll(/(Hook\w+)\s*= "(\w+)"/g)].map(([, name = "", hook = ""]) => [name, hook]));
  const rows = [...go.matchAll(/^\t(?:"(\w+)"|(Hook\w+)):\s+(Decision|Observation),/gm)];
  /** @param {string} kind */
  const named = (kind) => rows.filter((row) => row[3] === kind).map((row) => row[1] ?? constants.get(row[2] ?? ""));
  const older = ["before_agent_start", "subagent_spawning", "deactivate", "turn_begun", "decided", "feedback"];
  assert.deepEqual(named("Decision").filter((hook) => !older.includes(hook ?? "")).toSorted(), DECISIONS.toSorted());
  assert.deepEqual(named("Observation").filter((hook) => !older.includes(hook ?? "")).toSorted(), OBSERVATIONS.toSorted());
});

test("hooks: every captured one is known", () => {
  for (const { hook } of samples()) assert.ok(DECISIONS.includes(hook) || OBSERVATIONS.includes(hook), hook);
});

for (const [name, raw, check] of /** @type {Array<[string, any, (plan: import("../src/hooks.js").Plan) => void]>} */ ([
  [
    "by default",
    {},
    (plan) => {
      assert.deepEqual(plan.decide, ["before_prompt_build"]);
      assert.deepEqual(plan.problems, []);
      assert.deepEqual(plan.observe.toSorted(), ["after_compaction", "after_tool_call", "agent_end", "session_end", "session_start"], "what hints use");
    },
  ],
  ["with triage", { triage: { enabled: true } }, (plan) => assert.deepEqual(plan.decide, ["before_prompt_build", "before_dispatch"])],
  ["all events", { hooks: { include: ["*"] } }, (plan) => assert.equal(plan.observe.length, DECISIONS.length + OBSERVATIONS.length - 1)],
  ["some events", { hooks: { include: ["session_*", "llm_output"], exclude: ["*_end"] } }, (plan) => assert.deepEqual(plan.observe.toSorted(), ["llm_output", "session_start"])],
  [
    "a decision",
    { hooks: { decide: ["before_tool_call"], include: ["*"], failClosed: ["before_tool_call"] } },
    (plan) => {
      assert.deepEqual(plan.decide, ["before_prompt_build", "before_tool_call"]);
      assert.ok(!plan.observe.includes("before_tool_call"), "decided or observed, not both");
      assert.deepEqual(plan.problems, []);
    },
  ],
  ["a decision at an observation", { hooks: { decide: ["agent_end"] } }, (plan) => assert.match(plan.problems.join(), /agent_end is not a decision hook/)],
  ["a decision where nobody waits", { hooks: { decide: ["tool_result_persist"] } }, (plan) => assert.match(plan.problems.join(), /does not wait/)],
  ["closed without a decision", { hooks: { failClosed: ["before_tool_call"] } }, (plan) => assert.match(plan.problems.join(), /not in hooks.decide/)],
  ["closed where that is impossible", { hooks: { failClosed: ["before_prompt_build"] } }, (plan) => assert.match(plan.problems.join(), /cannot fail closed/)],
  ["a pattern without a hook", { hooks: { include: ["agent_ended*"] } }, (plan) => assert.match(plan.problems.join(), /agent_ended\* matches no hook/)],
  [
    "hooks of a later gateway",
    { hooks: { include: ["after_dream"], decide: ["before_dream"] } },
    (plan) => {
      assert.deepEqual(plan.observe, ["after_dream"]);
      assert.deepEqual(plan.decide, ["before_prompt_build", "before_dream"]);
      assert.deepEqual(plan.problems, ["hooks.decide: this version does not know before_dream", "hooks: this version does not know after_dream"]);
    },
  ],
  [
    "with extraction before compaction",
    { knowhub: { enabled: true, enableServerExtraction: true, extractionTrigger: "before_compaction" } },
    (plan) => assert.ok(plan.observe.includes("before_compaction")),
  ],
])) {
  test(`planHooks: ${name}`, () => check(planHooks(readOptions(raw))));
}
