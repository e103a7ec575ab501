// How an answer of the model is written in each API.

import { json } from "./http.mjs";

/**
 * @typedef {object} Answer
 * @property {string} id
 * @property {string} model
 * @property {boolean} stream
 * @property {string} text
 * @property {{id: string, name: string, args: object}[]} calls of tools
 */

/** OpenAI's chat completions. */
export const completions = {
  toolName: (tool) => tool.function.name,

  /** @param {Answer} answer */
  reply(res, { id, model, stream, text, calls }) {
    const tool_calls = calls.map(({ id, name, args }, index) => ({ index, id, type: "function", function: { name, arguments: JSON.stringify(args) } }));
    const finish = calls.length > 0 ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const head = { id: `completion-${id}`, created: Math.floor(Date.now() / 1000), model };
    const message = { role: "assistant", content: text, ...(calls.length > 0 && { tool_calls }) };
    if (!stream) {
      return json(res, 200, { ...head, object: "chat.completion", usage, choices: [{ index: 0, finish_reason: finish, message }] });
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    const send = (chunk) => res.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...chunk })}\n\n`);
    send({ choices: [{ index: 0, delta: message, finish_reason: null }] });
    send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    send({ choices: [], usage });
    res.end("data: [DONE]\n\n");
  },
};

/** Anthropic's messages. */
export const anthropic = {
  toolName: (tool) => tool.name,

  /** @param {Answer} answer */
  reply(res, { id, model, stream, text, calls }) {
    const content = [
      ...(text !== "" || calls.length === 0 ? [{ type: "text", text }] : []),
      ...calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
    ];
    const end = { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
    const head = { id: `msg_${id}`, type: "message", role: "assistant", model };
    const usage = { input_tokens: 100, output_tokens: 10 };
    if (!stream) return json(res, 200, { ...head, ...end, content, usage });

    res.writeHead(200, { "content-type": "text/event-stream" });
    const send = (type, data) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    send("message_start", { message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage } });
    for (const [index, block] of content.entries()) {
      const said = block.type === "text";
      send("content_block_start", { index, content_block: said ? { type: "text", text: "" } : { ...block, input: {} } });
      send("content_block_delta", { index, delta: said ? { type: "text_delta", text: block.text } : { type: "input_json_delta", partial_json: JSON.stringify(block.input) } });
      send("content_block_stop", { index });
    }
    send("message_delta", { delta: end, usage: { output_tokens: 10 } });
    send("message_stop", {});
    res.end();
  },
};
