// The plugin as users install it: linked from a checkout, or from the package.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Gateway, pluginDir, pluginId } from "./gateway.mjs";
import { Model } from "./model.mjs";
import { Process } from "./process.mjs";

/** Packs the plugin as it would be published and returns the file. */
async function pack(dir) {
  const npm = new Process("npm", ["pack", "--json", "--pack-destination", dir], {
    cwd: pluginDir,
    env: { PATH: process.env.PATH, HOME: dir },
  });
  assert.equal(await npm.ended, 0, npm.output);
  return join(dir, JSON.parse(npm.stdout)[0].filename);
}

describe("installation", () => {
  let dir, model;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "intenthint-openclaw-"));
    model = await new Model().start();
  });
  after(async () => {
    await model?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const ways = [
    ["plugins install --link", () => ["--link", pluginDir]],
    ["plugins install of the packed file, which needs no registry", async (at) => [await pack(at)]],
  ];
  for (const [i, [name, args]] of ways.entries()) {
    test(name, async () => {
      const at = join(dir, String(i));
      await mkdir(at);
      const gateway = await new Gateway({ dir: at, model }).prepare();
      const installed = await gateway.run("plugins", "install", "--force", "--accept-capabilities", ...(await args(at)));
      assert.equal(installed.code, 0, installed.output);
      // A plugin that reads conversations needs the operator's consent.
      await gateway.reconfigure((config) => {
        config.plugins.entries[pluginId].hooks = { allowConversationAccess: true };
      });

      const inspected = await gateway.run("plugins", "inspect", pluginId, "--runtime", "--json");
      assert.equal(inspected.code, 0, inspected.output);
      const { plugin, diagnostics, typedHooks, commands } = JSON.parse(inspected.stdout);
      assert.equal(plugin.status, "loaded", plugin.error);
      assert.deepEqual(diagnostics, []);
      const hooks = typedHooks.map(({ name }) => name);
      for (const hook of ["before_prompt_build", "after_tool_call", "agent_end", "session_end"]) assert.ok(hooks.includes(hook), hook);
      assert.ok(commands.includes("hint"));
    });
  }
});
