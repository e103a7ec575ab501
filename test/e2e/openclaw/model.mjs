// A model server that says what a test has scripted, and keeps what it was
// asked. It speaks the OpenAI chat completions API, streamed or in one piece.

import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { body, json, listen } from "./http.mjs";

/**
 * What the model does at one call: a string is said, the rest is done.
 * @typedef {string | {calls?: [name: string, args: object][], status?: number, delayMs?: number, say?: string}} Step
 */

/** The text of a message's content, which is a string or a list of parts. */
export const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

export class Model {
  /** Every request: {at, body, word, step, texts, callIds}, oldest first. texts are those of the user's messages. */
  requests = [];
  #scripts = new Map(); // word → steps that are left; the last one stays

  async start() {
    this.server = createServer((req, res) => this.#answer(req, res));
    this.port = await listen(this.server);
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Whoever says the word gets the steps, one a model call; the last one is repeated. */
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

  // The word that was said last. A request holds older turns too, and messages
  // of the gateway's own in the user's name, which quote older turns.
  #lastWord(messages) {
    for (const message of messages.toReversed()) {
      const text = textOf(message.content);
      if (message.role !== "user" || text.startsWith("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>")) continue;
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
    if (!req.url.endsWith("/chat/completions")) return json(res, 404, { error: { message: "not found" } });

    const messages = asked.messages ?? [];
    const word = this.#lastWord(messages);
    let step = this.#next(word);
    if (typeof step === "string") step = { say: step };
    const texts = messages.filter((m) => m.role === "user").map((m) => textOf(m.content));
    const request = { at: Date.now(), word, step, texts, body: asked, callIds: [] };
    const n = this.requests.push(request);

    if (step.delayMs) await delay(step.delayMs);
    if (step.status) return json(res, step.status, { error: { message: `scripted failure ${step.status}`, type: "server_error" } });

    // A tool that only the gateway's catalogue holds is called through another.
    const offered = new Set((asked.tools ?? []).map((tool) => tool.function.name));
    const catalogued = ([name, args]) => (offered.has(name) || !offered.has("tool_call") ? [name, args] : ["tool_call", { id: name, args }]);
    const calls = (step.calls ?? []).map(catalogued).map(([name, args], i) => ({
      index: i,
      id: `call_${n}_${i}`,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }));
    request.callIds = calls.map(({ id }) => id);
    const finish = calls.length > 0 ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const head = { id: `completion-${n}`, created: Math.floor(Date.now() / 1000), model: asked.model };
    const message = { role: "assistant", content: step.say ?? "", ...(calls.length > 0 && { tool_calls: calls }) };
    if (!asked.stream) {
      return json(res, 200, { ...head, object: "chat.completion", usage, choices: [{ index: 0, finish_reason: finish, message }] });
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    const send = (chunk) => res.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...chunk })}\n\n`);
    send({ choices: [{ index: 0, delta: message, finish_reason: null }] });
    send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    send({ choices: [], usage });
    res.end("data: [DONE]\n\n");
  }
}
