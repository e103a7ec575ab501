// Everything that a test needs, started and stopped together.

import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Consumer, Nats } from "./consumer.mjs";
import { Gateway } from "./gateway.mjs";
import { Model } from "./model.mjs";
import { freePort, until } from "./process.mjs";
import { Telegram } from "./telegram.mjs";
import { startSite } from "../../../openclaw-plugin/test/site.js";

let words = 0;

export class Rig {
  /**
   * @param {object} given
   * @param {object} [given.plugin] the plugin's entry in openclaw.json, which is the consumer's configuration too.
   * @param {(workspace: string) => object[]} [given.agents] a list of agents for openclaw.json.
   * @param {object} [given.settings] of the consumer, as environment variables.
   * @param {boolean} [given.telegram] whether there are chats of Telegram.
   * @param {boolean} [given.nats] whether NATS is a process of its own.
   * @param {boolean} [given.site] whether NATS is as deploy/ has it, and sessions are in its bucket.
   * @param {boolean} [given.run] whether the gateway is started too.
   */
  static async start({ plugin = {}, agents, settings, telegram = true, nats = false, site = false, run = true } = {}) {
    const rig = new Rig();
    rig.dir = await mkdtemp(join(tmpdir(), "intenthint-openclaw-"));
    try {
      rig.model = await new Model().start();
      if (telegram) rig.telegram = await new Telegram().start();
      if (nats) rig.nats = await new Nats(join(rig.dir, "nats")).start();
      if (site) rig.nats = await startSite(process.env.E2E_BIN, join(rig.dir, "site"));
      const link = site ? rig.nats.options : nats ? { natsUrl: rig.nats.url } : { natsPort: await freePort() };
      const dir = join(rig.dir, "gateway");
      await mkdir(dir);
      rig.gateway = new Gateway({ dir, model: rig.model, telegram: rig.telegram, plugin: { ...link, ...plugin }, agents });
      await rig.gateway.prepare();
      rig.consumer = await new Consumer(join(rig.dir, "consumer"), rig.gateway.configFile, { site: site ? rig.nats : undefined, settings }).start();
      if (run) await rig.gateway.start();
    } catch (error) {
      await rig.stop();
      throw error;
    }
    return rig;
  }

  async stop() {
    await this.gateway?.stop();
    await this.consumer?.stop();
    await this.nats?.stop();
    await this.telegram?.stop();
    await this.model?.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** The end of the logs, for the report of a failure. */
  logs() {
    const tail = (process) => process?.output.split("\n").slice(-40).join("\n");
    return `gateway:\n${tail(this.gateway?.process)}\nconsumer:\n${tail(this.consumer?.process)}`;
  }

  /** A text with a last word that the model answers with the steps. */
  scripted(text, steps) {
    const word = `ref-${String(++words).padStart(5, "0")}`;
    this.model.script(word, steps);
    return { word, text: `${text} ${word}` };
  }

  /** Begins a turn in the web chat. */
  async begin(sessionKey, text, steps = ["Done."]) {
    const said = this.scripted(text, steps);
    return { ...said, runId: await this.gateway.chat(sessionKey, said.text) };
  }

  /** Runs a turn in the web chat to its end. */
  async turn(sessionKey, text, steps) {
    const begun = await this.begin(sessionKey, text, steps);
    await this.gateway.ended(begun.runId);
    return { ...begun, requests: this.model.of(begun.word) };
  }

  /** Sends a message over Telegram and waits for the answer of the last step. */
  async telegramTurn(chat, text, steps = []) {
    const answer = `Answer ${words + 1}.`;
    const said = this.scripted(text, [...steps, answer]);
    this.telegram.say(chat, said.text);
    await until(`an answer to ${said.text}`, () => this.telegram.heard(chat).some((heard) => heard.includes(answer)));
    return { ...said, requests: this.model.of(said.word), answer };
  }

  /** Waits until the session file shows the end of the last of n turns, and returns them. */
  async shows(sessionKey, n, ms) {
    let turns = [];
    await until(`${n} ended turns of ${sessionKey} in its session file`, async () => {
      turns = await this.consumer.turns(sessionKey);
      return turns.length >= n && turns.at(-1).timestamps.end;
    }, ms).catch((error) => {
      throw new Error(`${error.message}; it shows ${JSON.stringify(turns, null, 1)}`);
    });
    return turns;
  }

  /** The ids of the tools that the model called in turns with these words, sorted. */
  toolCallIds(words) {
    return words
      .flatMap((word) => this.model.of(word))
      .flatMap(({ callIds }) => callIds)
      .sort();
  }

  /** The time that the plugin delayed each prompt, {runId, ms}, and each group message that was answered, {messageId, ms}, so far. */
  async timings() {
    const text = await readFile(this.gateway.timings, "utf8").catch(() => "");
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }
}

const open = "<intention_hint_plugin>";
const close = "</intention_hint_plugin>";

/** The hints in front of the newest message of a request to the model. */
export function hints(request) {
  return hintsIn([newest(request)]);
}

/** The hints in front of all messages of a request to the model. */
export function allHints(request) {
  return hintsIn(request.texts);
}

const hintsIn = (texts) => texts.flatMap((text) => text.split(open).slice(1).map((rest) => rest.split(close)[0].trim()));

/** The last message of a request that the gateway did not write itself. */
const newest = ({ texts }) => texts.findLast((text) => !text.startsWith("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>")) ?? "";

/** The intent that a hint names. */
export const intentOf = (hint) => /^intent: (\w+)/.exec(hint ?? "")?.[1];
