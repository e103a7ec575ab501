// The plugin's options as an operator sees them: what the gateway shows of
// them, and what it refuses.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
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

  for (const [name, config, says] of [
    ["an unknown option", { natsURL: "x" }, /natsURL/],
    ["an unknown option of a part", { buffer: { evnets: 1 } }, /evnets/],
    ["a number out of its range", { timeoutMs: 100 }, /timeoutMs[^]*500/],
    ["a word that is not one of those", { queryMode: "all" }, /queryMode[^]*recent/],
    ["a word in place of a number", { timeoutMs: "banana" }, /timeoutMs: [^]*must match pattern/],
    ["a word of a list that is not one of those", { allowedChatTypes: "directt" }, /allowedChatTypes: [^]*direct\|group\|channel\|explicit\|unknown/],
    ["another level of the log", { logLevel: "loud" }, /logLevel: [^]*"debug", "info", "warn", "error"/],
  ]) {
    test(`${name} is refused with a line that names it`, async () => {
      await configured(config);
      const { code, output } = await gateway.run("config", "validate");
      assert.notEqual(code, 0, output);
      assert.match(output, says);
    });
  }

  test("numbers and lists may be text", async () => {
    await configured({ timeoutMs: "1500", natsPort: "4222", allowedChatTypes: "direct, group", holdout: "0.5", streamMaxAge: "14d", streamMaxBytes: "1GiB", allowOpen: "false" });
    const { code, output } = await gateway.run("config", "validate");
    assert.equal(code, 0, output);
  });

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
