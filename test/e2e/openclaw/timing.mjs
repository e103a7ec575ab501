// How long a hint holds a turn: `node timing.mjs [TURNS]`, by way of ./run.
//
// A second plugin, the stopwatch, has the first and the last place among the
// gateway's handlers of before_prompt_build, which are awaited one after the
// other. What lies between is all that a hint costs the turn: the plugin's
// work, the way to the consumer over loopback, the classification, and back.
// The gateway's own work between two handlers is in it as well: the second row
// is the same with the plugin switched off.

import { pluginId } from "./gateway.mjs";
import { until } from "./process.mjs";
import { Rig } from "./rig.mjs";

const count = Number(process.argv[2] ?? 200);
const warmUp = 20;
const perSession = 10; // so that requests carry a history as real ones do

const texts = [
  "Can you review my pull request before I merge it?",
  "What is on my calendar tomorrow?",
  "Remind me at nine to water the plants.",
  "Which dentist did I tell you I go to?",
  "Please find out why the build is so slow since Monday, and tell me what you would change.",
];

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
const row = (name, values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const ms = [0.5, 0.9, 0.99].map((q) => `${quantile(sorted, q).toFixed(2)} ms`);
  console.log(`| ${[name, ...ms].join(" | ")} |`);
};

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
  await until("all turns in session files", async () => {
    for (const { current, history } of await rig.consumer.sessions()) {
      for (const turn of [...(history ?? []), current]) results.set(turn.runId, turn.intent.result.elapsedMs);
    }
    return measured.every(({ runId }) => results.has(runId));
  });
  console.log(`${count} turns after ${warmUp} that warm up, local classifier, sessions of ${perSession} turns\n`);
  console.log("| time | p50 | p90 | p99 |\n|---|---|---|---|");
  row("between first and last handler, with the hint", measured.map(({ runId }) => held.get(runId)));
  row("the same without the plugin", without.map(({ runId }) => held.get(runId)));
  row("in the classifier", measured.map(({ runId }) => results.get(runId)));
  row("whole turn with the hint, the model answers at once", measured.map(({ ms }) => ms));
  row("the same without the plugin", without.map(({ ms }) => ms));
} finally {
  await rig.stop();
}
