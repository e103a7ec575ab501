// A gateway and a consumer as over a network: TLS, users with least rights, and
// sessions in the bucket.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { openssl } from "../../../openclaw-plugin/test/site.js";
import { pluginId } from "./gateway.mjs";
import { until } from "./process.mjs";
import { hints, intentOf, Rig } from "./rig.mjs";

const review = "Can you review my pull request before I merge it?";

// Far less than the plugin's timeout, and enough for a busy machine.
const atOnceMs = 1000;

describe("secured", { skip: !openssl && "no openssl on this machine" }, () => {
  let rig;
  before(async () => {
    rig = await Rig.start({ site: true });
  });
  after(() => rig?.stop());
  afterEach((t) => {
    if (t.passed === false) t.diagnostic(rig.logs());
  });

  test("a turn has a hint and is in the bucket", async () => {
    const key = "agent:main:web-secured";
    const turn = await rig.turn(key, review, [{ calls: [["exec", { command: "echo secured" }]] }, "Done securely."]);
    for (const request of turn.requests) assert.equal(intentOf(hints(request)[0]), "CODE_REVIEW");
    const [shown] = await rig.shows(key, 1);
    assert.deepEqual([shown.runId, shown.input, shown.intent.result.intent, shown.result], [turn.runId, turn.text, "CODE_REVIEW", "Done securely."]);
    assert.deepEqual(shown.toolCalls.map(({ name, result }) => [name, result]), [["exec", "secured"]]);
    assert.ok(!rig.gateway.process.output.includes("events are not stored"));
  });

  test("/new ends the session in the bucket, too", async () => {
    const key = "agent:main:web-secured";
    await rig.gateway.call("sessions.reset", { key });
    await until("the end of the session", async () => (await rig.consumer.sessions()).some((session) => session.sessionKey === key && session.ended?.reason === "reset"));
  });

  test("a gateway that is refused logs it, and its turns go on", async () => {
    const key = "agent:main:web-refused";
    const { natsCa, natsCert } = rig.nats.options;
    await edited({ natsCa: natsCert });
    await rig.gateway.logged("no connection to NATS (the server's certificate is not trusted");
    const turn = await rig.turn(key, review);
    assert.equal(turn.requests.length, 1);
    assert.deepEqual(hints(turn.requests[0]), []);
    const { ms } = (await rig.timings()).find(({ runId }) => runId === turn.runId);
    assert.ok(ms < atOnceMs, `the prompt was held for ${ms} ms`);
    await edited({ natsCa });
    await until("a turn with a hint", async () => hints((await rig.turn(key, review)).requests[0]).length === 1);
  });

  async function edited(change) {
    const { length } = rig.gateway.process.output;
    await rig.gateway.reconfigure((config) => {
      Object.assign(config.plugins.entries[pluginId].config, change);
    });
    await until("the gateway has the change", () => rig.gateway.process.output.slice(length).includes("[reload] config hot reload applied"));
  }
});
