// The part of OpenClaw's API that the plugin declares for itself, against OpenClaw's own types.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { pluginDir } from "./gateway.mjs";

const sdk = join(dirname(process.env.E2E_OPENCLAW), "dist", "plugin-sdk", "plugin-entry.js");
const own = join(pluginDir, "src", "api.js");

/** Checks a program, and returns what the compiler says. */
async function compile(program) {
  const dir = await mkdtemp(join(tmpdir(), "intenthint-types-"));
  try {
    const file = join(dir, "check.ts");
    await writeFile(file, `import type { OpenClawPluginApi } from ${JSON.stringify(sdk)};\nimport type { PluginApi } from ${JSON.stringify(own)};\ndeclare const api: OpenClawPluginApi;\n${program}\n`);
    const modules = join(pluginDir, "node_modules");
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023", "--types", "node", "--typeRoots", join(modules, "@types")];
    return spawnSync(join(modules, ".bin", "tsc"), [...options, file], { encoding: "utf8" }).stdout;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

test("OpenClaw gives the plugin what src/api.d.ts declares", async () => {
  assert.equal(await compile("export const given: PluginApi = api;"), "");
});

for (const [name, wrong] of [["the API", "api"], ["hooks", "api.on"], ["sessions", "api.runtime.agent.session.getSessionEntry"], ["text transforms", "api.registerTextTransforms"], ["decision providers", "api.registerDecisionProvider"]]) {
  test(`the types of ${name} are OpenClaw's, and not any`, async () => {
    assert.match(await compile(`export const nothing: never = ${wrong};`), /TS2322/);
  });
}
