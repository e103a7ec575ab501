// How long a hint delays a turn: `./run timing [TURNS [PER_SESSION]]`.
//
// A second plugin, the stopwatch, is first and last among the gateway's handlers
// of before_prompt_build, which are awaited one after the other. The time between
// is what a hint costs the turn: the plugin's work, the round trip to the consumer
// over loopback and the classification. It includes the gateway's own work between
// two handlers: the second row is the time with the plugin disabled.

import { pluginId } from "./gateway.mjs";
import { until } from "./process.mjs";
import { row } from "./quantiles.mjs";
import { Rig } from "./rig.mjs";

const count = Number(process.argv[2] ?? 200);
const warmUp = 20;
const perSession = Number(process.argv[3] ?? 10); // so that requests carry a history as real ones do
const ends = 20; // turns at either end of a long session that are compared

const texts = [
  "Can you review my pull request before I merge it?",
  "What is on my calendar tomorrow?",
  "Remind me at nine to water the plants.",
  "Which dentist did I tell you I go to?",
  "Please find out why the build is so slow since Monday, and tell me what you would change.",
];

const rig = await Rig.start();
try {
  const measure = async (name) => {
    const turns = [];
    for (let i = 0; i < warmUp + count; i++) {
      const began = performance.now();
      const turn = await rig.turn(`agent:main:${name}-${Math.floor(i / perSession)}`, texts[i % texts.length]);
      turns.push({ ...turn, ms: performance.now() - began });
      if (process.stderr.isTTY) process.stderr.write(`\r${i + 1} of ${warmUp + count} turns ${name} the plugin `);
    }
    if (process.stderr.isTTY) process.stderr.write("\r");
    return turns.slice(warmUp);
  };
  const measured = await measure("with");
  const missing = measured.filter(({ requests }) => !requests[0].texts.some((text) => text.includes("<intention_hint_plugin>")));
  if (missing.length > 0) throw new Error(`${missing.length} of ${count} turns had no hint`);

  await rig.gateway.reconfigure((config) => {
    config.plugins.entries[pluginId].enabled = false;
  });
  await rig.gateway.logged("[reload] config hot reload applied");
  const without = await measure("without");

  const held = new Map((await rig.timings()).map(({ runId, ms }) => [runId, ms]));
  const results = new Map();
  await until("the last turn in its session file", async () => {
    for (const { current, history } of await rig.consumer.sessions()) {
      for (const turn of [...(history ?? []), current]) results.set(turn.runId, turn.intent.result.elapsedMs);
    }
    return results.has(measured.at(-1).runId);
  });
  console.log(`${count} turns after ${warmUp} that warm up, local classifier, sessions of ${perSession} turns\n`);
  console.log("| time | p50 | p90 | p99 |\n|---|---|---|---|");
  row("between first and last handler, with the hint", measured.map(({ runId }) => held.get(runId)));
  row("the same without the plugin", without.map(({ runId }) => held.get(runId)));
  if (perSession >= 4 * ends) {
    const heldWhere = (turns, at) => turns.filter((_, i) => at((warmUp + i) % perSession)).map(({ runId }) => held.get(runId));
    for (const [name, turns] of [["with the hint", measured], ["without the plugin", without]]) {
      row(`turns ${warmUp} to ${warmUp + ends} of a session ${name}`, heldWhere(turns, (n) => n >= warmUp && n < warmUp + ends));
      row(`the last ${ends} turns of a session ${name}`, heldWhere(turns, (n) => n >= perSession - ends));
    }
  }
  // Of a long session, the session file holds only the last turns.
  row("in the classifier", measured.map(({ runId }) => results.get(runId)).filter((ms) => ms !== undefined));
  row("whole turn with the hint, the model answers at once", measured.map(({ ms }) => ms));
  row("the same without the plugin", without.map(({ ms }) => ms));
} finally {
  await rig.stop();
}
