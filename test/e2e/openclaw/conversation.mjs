// A conversation of twenty turns about six subjects, with tool calls whose results
// have several kB, as an agent that works for somebody has them. It is had in a gateway
// beside another one, of short messages.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pluginId } from "./gateway.mjs";
import { Rig } from "./rig.mjs";
import { smalltalk } from "./smalltalk.mjs";

/** So many numbered lines. */
const lines = (count, line) => Array.from({ length: count }, (_, i) => line(i + 1)).join("\n") + "\n";

const files = {
  "cart.diff": lines(90, (n) => `${"+- "[n % 3]}  ${n % 4 === 0 ? "cart.mu.Lock()" : `total${n} := cart.sum(items[${n}], rates[${n * 7 % 13}])`} // hunk ${Math.ceil(n / 15)}`),
  "cart.go": lines(110, (n) => `func (c *Cart) step${n}(ctx context.Context) error { return c.store.apply(ctx, ${n * 31}) }`),
  "cart_test.go": lines(80, (n) => `func TestStep${n}(t *testing.T) { require.NoError(t, newCart(t).step${n}(t.Context())) }`),
  "build.log": lines(95, (n) => `12:${String(n % 60).padStart(2, "0")}:07 worker-${n % 4} checkout_test.go:${n * 3} attempt ${n % 5}: waiting for payments:8443`),
  "retry.go": lines(70, (n) => `	case ${n}: delay = min(delay*2, ${n * 100}*time.Millisecond) // attempt ${n} of the queue`),
  "calendar.ics": lines(60, (n) => `2026-12-${String((n % 28) + 1).padStart(2, "0")}T${String(8 + (n % 9)).padStart(2, "0")}:00 45min  meeting ${n} with the ${["design", "platform", "sales"][n % 3]} team`),
  "minutes.md": lines(75, (n) => `- Point ${n}: the ${["budget", "release", "office", "hiring"][n % 4]} was discussed, and ${["Ada", "Ben", "Cleo"][n % 3]} takes it on until week ${n % 52}.`),
  "trains.txt": lines(65, (n) => `ICE ${500 + n}  dep ${String(5 + (n % 17)).padStart(2, "0")}:${String(n * 7 % 60).padStart(2, "0")}  platform ${n % 14}  ${29 + (n * 13) % 90} EUR  changes ${n % 3}`),
  "hotels.txt": lines(60, (n) => `Hotel ${n}, ${n * 40} m from the station, ${60 + (n * 11) % 140} EUR a night, ${n % 2 ? "to the yard" : "to the street"}`),
};

const read = (...paths) => ({ calls: paths.map((path) => ["read", { path }]) });
const run = (command) => ({ calls: [["exec", { command }]] });

/** What is said, and what the model does. */
const work = [
  ["Can you review my pull request before I merge it? The diff is in cart.diff.", read("cart.diff"), read("cart.go"), "The sums look right. The lock in hunk 2 is taken twice when a step fails: release it before you return."],
  ["Review the error handling in the same diff too.", read("cart_test.go"), "Errors of the store are returned as they are. No test covers a step that fails."],
  ["Would you approve this change as it is?", "Not yet: fix the lock first, and add a test for it."],
  ["Please review it once more, I have pushed a fix to the branch.", run("cat cart.diff | tail -40"), "The lock is released now. I would approve it."],
  ["What is the root cause of the failing checkout test?", read("build.log"), "It waits for payments:8443, which nothing listens on."],
  ["Debug the retry loop and tell me where it hangs.", read("retry.go"), run("grep -n attempt build.log | tail -50"), "The delay doubles up to 7 s, and the test gives up after 5."],
  ["Fix the bug in the retry loop.", run("sed -n 1,30p retry.go"), "I have bounded the delay to one second."],
  ["Why does the test still fail?", run("tail -30 build.log"), "The port is still closed: the payments service is not started in that job."],
  ["What is on my calendar tomorrow?", read("calendar.ics"), "Two meetings: the design team at nine, the platform team at one."],
  ["When is my next meeting with the design team?", "Tomorrow at nine, for 45 minutes."],
  ["Move the meeting with Ada to three o'clock.", run("grep -n platform calendar.ics | head -20"), "It is at three now."],
  ["Do I have any free time on my calendar on Friday?", run("grep -n T1 calendar.ics | head -40"), "From eleven to one, and after four."],
  ["Summarize the minutes of the last planning meeting in minutes.md.", read("minutes.md"), "Budget and hiring are settled; the release moves by a week; Ben looks for an office."],
  ["Summarize the second half in three bullet points.", run("tail -35 minutes.md"), "- The release is in week 49.\n- Cleo hires two people.\n- The office stays."],
  ["Translate the summary into German.", "Budget und Einstellungen stehen, die Freigabe verschiebt sich um eine Woche."],
  ["Translate it into Japanese too.", "予算と採用は決まり、リリースは一週間延びます。"],
  ["Plan a trip to Hamburg for the weekend: which train is best?", read("trains.txt"), "The ICE 513 at nine, without a change."],
  ["Which hotel near the station in Hamburg is quiet?", read("hotels.txt"), "Hotel 3: to the yard, 120 m from the station."],
  ["And which museums in Hamburg should we visit on the trip?", "The Kunsthalle, and the maritime museum if it rains."],
  ["Thank you, that was a great help!", "You are welcome."],
];

/** The conversations. */
export const conversations = { "twenty turns of work": work, "sixty turns with small talk": smalltalk };

/** How long a turn may take: the first loads much of the gateway, in all chats at once. */
const patience = 180_000;

/** The APIs of providers, and an agent that uses each. */
export const apis = ["openai-completions", "anthropic-messages"];
const agents = (workspace) => [
  { id: "openai", default: true, workspace },
  { id: "anthropic", workspace, model: { primary: "anthropic/scripted" } },
];

/**
 * @typedef {object} Turn
 * @property {string} text what was said
 * @property {object[]} requests to the model
 * @property {string} [intent] undefined without the plugin
 */

/**
 * Has the conversations in a gateway, all and in each API at the same time: with the
 * plugin, and then without.
 * @param {object} settings of the consumer, as environment variables
 * @param {(rig: Rig) => void} [started]
 * @returns {Promise<Record<"given" | "without", Record<string, Record<string, Turn[]>>>>} turns by conversation and API
 */
export async function converse(settings, started) {
  const rig = await Rig.start({ agents, telegram: false, settings });
  started?.(rig);
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(rig.gateway.workspace, name), text);
    const given = await inEach((name, api) => said(rig, name, api, "with"));
    await rig.gateway.reconfigure((config) => {
      config.plugins.entries[pluginId].enabled = false;
    });
    await rig.gateway.logged("[reload] config hot reload applied");
    return { given, without: await inEach((name, api) => said(rig, name, api, "without")) };
  } finally {
    await rig.stop();
  }
}

async function inEach(run) {
  const of = async (keys, value) => Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await value(key)])));
  return of(Object.keys(conversations), (name) => of(apis, (api) => run(name, api)));
}

/** Says everything in a chat. @returns {Promise<Turn[]>} */
async function said(rig, name, api, chat) {
  const turns = conversations[name];
  const key = `agent:${api.split("-")[0]}:${chat}-${name.split(" ")[0]}`;
  const out = [];
  for (const [text, ...steps] of turns) {
    const { word, runId } = await rig.begin(key, text, steps);
    await rig.gateway.ended(runId, patience);
    const requests = rig.model.of(word);
    if (requests.length !== steps.length) throw new Error(`${requests.length} requests for ${steps.length} steps of ${word}: ${text}`);
    out.push({ text, requests: requests.map(({ body }) => body) });
  }
  if (chat === "without") return out;
  const shown = await rig.shows(key, turns.length);
  return out.map((turn, i) => ({ ...turn, intent: shown[i].intent.result.intent }));
}
