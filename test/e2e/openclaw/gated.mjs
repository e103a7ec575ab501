// A gateway whose group messages pass the triage gate.

import { Model } from "./model.mjs";
import { Rig } from "./rig.mjs";

/** The triage model skips messages that have this word, and responds to others. */
export const chatter = "chatter";

/**
 * A rig with a gate, whose model is one of its own.
 * @param {(config: object) => void} [change] of the gateway's configuration.
 * @param {object} [triage] more of the gate's settings.
 */
export async function gated(change = () => {}, triage = {}) {
  const judge = await new Model((text) => text.split("\n\nRecent conversation:")[0]).start();
  judge.script(chatter, ["SKIP"]);
  const rig = await Rig.start({
    run: false,
    plugin: {
      providers: { judge: { baseUrl: judge.url, api: "openai-completions" } },
      triage: { enabled: true, triageModel: "judge/small", ...triage },
    },
  });
  rig.judge = judge;
  const stop = rig.stop.bind(rig);
  rig.stop = () => Promise.all([stop(), judge.stop()]);
  await rig.gateway.reconfigure(change);
  await rig.gateway.start();
  return rig;
}
