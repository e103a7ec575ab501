// How long the triage gate delays a message that is answered: `./run timing-triage [MESSAGES]`.
//
// The stopwatch is first and last among the gateway's handlers of before_dispatch.
// The time between is what the gate costs: the plugin's work, the round trip to the
// consumer, and there the shared state and the model, which answers at once. It
// includes the gateway's own work between two handlers: the last row is the time
// with the plugin disabled.

import { gated } from "./gated.mjs";
import { pluginId } from "./gateway.mjs";
import { row } from "./quantiles.mjs";
import { anotherGroup } from "./telegram.mjs";

const count = Number(process.argv[2] ?? 100);
const warmUp = 10;
const perGroup = 15; // the gateway holds back more than 20 messages a minute to a group
let groups = 0;

const rig = await gated(() => {}, { bypassKeywords: ["urgent"], logDecisions: false });
try {
  const measure = async (name, text) => {
    const seen = (await rig.timings()).length;
    for (let i = 0; i < warmUp + count; i++) {
      if (i % perGroup === 0) groups++;
      await rig.telegramTurn(anotherGroup(groups), text);
      if (process.stderr.isTTY) process.stderr.write(`\r${i + 1} of ${warmUp + count}: ${name} `);
    }
    if (process.stderr.isTTY) process.stderr.write("\r");
    const held = (await rig.timings()).slice(seen).filter(({ messageId }) => messageId !== undefined);
    if (held.length !== warmUp + count) throw new Error(`${held.length} of ${warmUp + count} messages were timed`);
    return held.slice(warmUp).map(({ ms }) => ms);
  };
  const asked = await measure("the model answers at once", "Does anybody know the tide tables?");
  if (rig.judge.requests.length !== warmUp + count) throw new Error(`the triage model was asked ${rig.judge.requests.length} times`);
  const keyword = await measure("a keyword, which asks no model", "This is urgent, what are the tide tables?");
  await rig.gateway.reconfigure((config) => {
    config.plugins.entries[pluginId].enabled = false;
  });
  await rig.gateway.logged("[reload] config hot reload applied");
  const without = await measure("without the plugin", "Does anybody know the tide tables?");
  console.log(`${count} answered messages after ${warmUp} that warm up\n`);
  console.log("| time between first and last handler of before_dispatch | p50 | p90 | p99 |\n|---|---|---|---|");
  row("the model answers at once", asked);
  row("a keyword, which asks no model", keyword);
  row("without the plugin", without);
} finally {
  await rig.stop();
}
