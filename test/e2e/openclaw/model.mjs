// A model server with scripted answers that records its requests. It serves two
// APIs, with and without streaming: OpenAI's chat completions and Anthropic's messages.

import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { body, json, listen } from "./http.mjs";
import { anthropic, completions } from "./wire.mjs";

/**
 * What the model does at one call: a string is said, the rest is done.
 * @typedef {string | {calls?: [name: string, args: object][], status?: number, delayMs?: number, say?: string}} Step
 */

const apis = new Map([["/chat/completions", completions], ["/messages", anthropic]]);

/** How a request begins that sums a chat up for the gateway's own pages: no part of the chat. */
const recap = '{"previousRecap":';

/** The text of a message's content, which is a string or a list of parts. */
export const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

export class Model {
  /** Every request: {at, body, word, step, texts, callIds}, oldest first. texts are those of the user's messages. */
  requests = [];
  #scripts = new Map(); // word → remaining steps; the last one is repeated

  /** @param {(text: string) => string} [about] the part of a message that is looked at for words. */
  constructor(about = (text) => text) {
    this.about = about;
  }

  async start() {
    this.server = createServer((req, res) => this.#answer(req, res));
    this.port = await listen(this.server);
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Messages with the word are answered with the steps, one a model call; the last one is repeated. */
  script(word, steps) {
    this.#scripts.set(word, [...steps]);
  }

  /** The requests whose latest known word is this one. */
  of(word) {
    return this.requests.filter((request) => request.word === word);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  // The last word that a test has used. A request has older turns too, and messages
  // that the gateway writes in the user's name and that quote older turns.
  #lastWord(messages) {
    for (const message of messages.toReversed()) {
      const text = this.about(textOf(message.content));
      if (message.role !== "user" || text.startsWith("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>")) continue;
      if (text.startsWith(recap)) return undefined;
      const said = [...this.#scripts.keys()]
        .map((word) => [text.lastIndexOf(word), word])
        .filter(([at]) => at >= 0)
        .sort(([a], [b]) => b - a);
      if (said.length > 0) return said[0][1];
    }
    return undefined;
  }

  #next(word) {
    const steps = this.#scripts.get(word) ?? ["Done."];
    return steps.length > 1 ? steps.shift() : steps[0];
  }

  async #answer(req, res) {
    const asked = await body(req);
    if (req.url.endsWith("/models")) return json(res, 200, { object: "list", data: [{ id: "scripted", object: "model" }] });
    const api = [...apis].find(([path]) => req.url.split("?")[0].endsWith(path))?.[1];
    if (!api) return json(res, 404, { error: { message: "not found" } });

    const messages = asked.messages ?? [];
    const word = this.#lastWord(messages);
    let step = this.#next(word);
    if (typeof step === "string") step = { say: step };
    const texts = messages.filter((m) => m.role === "user").map((m) => textOf(m.content));
    const request = { at: Date.now(), word, step, texts, body: asked, callIds: [] };
    const n = this.requests.push(request);

    if (step.delayMs) await delay(step.delayMs);
    if (step.status) return json(res, step.status, { error: { message: `scripted failure ${step.status}`, type: "server_error" } });

    // A tool that is only in the gateway's catalogue is called through another.
    const offered = new Set((asked.tools ?? []).map(api.toolName));
    const catalogued = ([name, args]) => (offered.has(name) || !offered.has("tool_call") ? [name, args] : ["tool_call", { id: name, args }]);
    const calls = (step.calls ?? []).map(catalogued).map(([name, args], i) => ({ id: `call_${n}_${i}`, name, args }));
    request.callIds = calls.map(({ id }) => id);
    api.reply(res, { id: String(n), model: asked.model, stream: asked.stream, text: step.say ?? "", calls });
  }
}
