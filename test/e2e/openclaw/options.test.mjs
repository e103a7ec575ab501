// The plugin's options as an operator sees them: the gateway starts whatever
// they hold, says what does not count, and shows no password.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Gateway, pluginId } from "./gateway.mjs";
import { Model } from "./model.mjs";
import { freePort } from "./process.mjs";

const password = "correct-horse-battery";

describe("options", () => {
  let dir, model, gateway, nowhere;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "intenthint-openclaw-"));
    model = await new Model().start();
    nowhere = `127.0.0.1:${await freePort()}`;
    gateway = await new Gateway({ dir, model, plugin: {} }).prepare();
  });
  after(async () => {
    await gateway?.stop();
    await model?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const configured = (config) =>
    gateway.reconfigure((all) => {
      all.plugins.entries[pluginId].config = config;
    });

  // The gateway would not start on what a plugin's schema refuses, and its
  // repair (openclaw doctor --fix) would delete the plugin's settings.
  for (const [name, config, ...says] of [
    ["an unknown option", { natsURL: "x", buffer: { evnets: 1 } }, "natsURL is not known", "buffer.evnets is not known"],
    ["values out of their range", { timeoutMs: 100, natsPort: 99_999, minConfidence: 7, knowhub: { recall: -1 } }, "timeoutMs is out of its range: 500 counts", "natsPort is out of its range: 65535 counts", "knowhub.recall is out of its range: 0 counts"],
    [
      "the previous plugin's configuration",
      {
        agents: ["main"], intentDeny: { main: ["CODE_*"] }, allowedChatTypes: ["direct"], allowedChatIds: [], deniedChatIds: [], queryMode: "recent",
        contextWindow: { user: { turns: 50, chars: 5000 }, assistant: { turns: 3, chars: 300 } }, model: "openai/gpt-5-mini", modelFallback: "", timeoutMs: 120_000,
        complexityPrompts: { low: "Be brief." }, userTimezone: "Asia/Taipei", intentsDir: "intents", debug: true,
      },
      "debug is not known", "timeoutMs is out of its range: 60000 counts",
    ],
    [
      "a newer plugin's configuration",
      { schemaVersion: 2, timeoutMs: { hint: 3000 }, queryMode: "summary", hooks: ["agent_end"], history: { turns: "all", form: "digest" }, triage: { enabled: false, rules: [{ when: "night" }] }, classifier: "psychic", decide: { enabled: true }, natsUrl: { servers: ["a"] } },
      "schemaVersion is not known", "history.form is not known", "timeoutMs is not a number: its default counts", "hooks is not an object: its defaults count", "queryMode is none of", "natsUrl is not a list of texts",
    ],
  ]) {
    test(`the gateway starts with ${name}, and says what does not count`, async () => {
      await configured(config);
      const { code, output } = await gateway.run("config", "validate");
      assert.equal(code, 0, output);
      await gateway.start();
      try {
        await gateway.logged("options that do not count as written", 120_000).catch((error) => assert.fail(`${error.message}: ${gateway.process.output}`));
        for (const text of says) assert.ok(gateway.process.output.includes(text), `${text}: ${gateway.process.output}`);
        const { plugins } = JSON.parse(await readFile(gateway.configFile, "utf8"));
        assert.deepEqual(plugins.entries[pluginId].config, config, "nothing of it is lost");
      } finally {
        await gateway.stop();
      }
    });
  }

  test("what holds a password is not shown", async () => {
    await configured({ natsUrl: [`nats://gw:${password}@${nowhere}`], knowhub: { token: password } });
    await gateway.start();
    const shown = async () => {
      const snapshot = await gateway.call("config.get");
      assert.ok(!JSON.stringify(snapshot).includes(password));
      return snapshot.config.plugins.entries[pluginId].config;
    };
    const hidden = "__OPENCLAW_REDACTED__";
    const list = await shown();
    assert.deepEqual([list.natsUrl, list.knowhub.token], [[hidden], hidden]);
    await configured({ natsUrl: `nats://${password}@${nowhere}`, natsNkey: "/keys/gateway.nk" });
    await gateway.logged("[reload] config hot reload applied");
    const text = await shown();
    assert.deepEqual([text.natsUrl, text.natsNkey], [hidden, hidden]);
    assert.ok(!gateway.process.output.includes(password), "nor is it logged");
  });
});
