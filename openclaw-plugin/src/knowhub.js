// Tools that give agents access to experiences (contract §12).

import { attempt, field, message, text } from "./values.js";
import { knowhubSubject } from "./wire.js";

export const TOOL_NAMES = ["kb_search", "kb_submit", "kb_content"];

/** How long a tool waits for a reply. */
const CALL_MS = 10_000;

const words = (/** @type {string} */ description) => ({ type: "string", minLength: 1, description });

/**
 * Reports whether the gateway may hide tools behind tool_search, tool_describe and tool_call:
 * tools.toolSearch of its configuration is not set, or an object with such a mode.
 *
 * @param {import("./api.js").PluginApi} api
 */
export function searchesTools(api) {
  const config = attempt(() => api.runtime?.config?.current?.()) ?? api.config;
  const search = field(field(config, "tools"), "toolSearch");
  return search === undefined || (field(search, "enabled") !== false && ["tools", "directory"].includes(text(search, "mode") ?? ""));
}

/**
 * @param {() => import("./bridge.js").Bridge} bridge
 * @param {import("./api.js").ToolContext} ctx
 * @returns {import("./api.js").Tool[]}
 */
export function knowhubTools(bridge, ctx) {
  const agent = ctx.agentId === undefined ? {} : { agent_id: ctx.agentId };
  // In a search, agent_id would filter by that agent.
  const asker = ctx.agentId === undefined ? {} : { for_agent: ctx.agentId };

  /**
   * @param {"search" | "submit" | "content"} verb
   * @param {object} body
   * @param {AbortSignal | undefined} signal
   */
  async function call(verb, body, signal) {
    const b = bridge();
    if (b.isOff(ctx.sessionKey)) throw new Error(`KnowHub ${verb} failed: /hint off is set for this chat`);
    try {
      const reply = await b.call(knowhubSubject(b.options.subjectPrefix, verb), body, CALL_MS, signal);
      return { content: [{ type: /** @type {const} */ ("text"), text: JSON.stringify(reply, null, 2) }], details: reply };
    } catch (error) {
      throw new Error(`KnowHub ${verb} failed: ${message(error)}`, { cause: error });
    }
  }

  return [
    {
      name: "kb_search",
      label: "Search experiences",
      description: "Search approved experiences from earlier tasks: what was tried, with which tool, and how it turned out. Best matches first.",
      parameters: {
        type: "object",
        additionalProperties: false,
        required: ["query"],
        properties: {
          query: words("What to look for, in any language."),
          limit: { type: "integer", minimum: 1, maximum: 50, description: "Maximum number of results (default 5)." },
        },
      },
      execute: (_id, { query, limit }, signal) => call("search", { q: query, limit: limit ?? 5, ...asker }, signal),
    },
    {
      name: "kb_submit",
      label: "Submit an experience",
      description: "Submit an experience that others can learn from: the task, the tool or source used, and the result.",
      parameters: {
        type: "object",
        additionalProperties: false,
        required: ["task", "resource", "result"],
        properties: {
          task: words("The task."),
          resource: words("What was used: a tool, a page, a command."),
          result: words("The outcome, and what to watch out for next time."),
        },
      },
      execute: (_id, { task, resource, result }, signal) => {
        const { submittedBy } = bridge().options.knowhub;
        const by = submittedBy === "" ? {} : { submitted_by: submittedBy };
        return call("submit", { task, resource, result, ...agent, ...by }, signal);
      },
    },
    {
      name: "kb_content",
      label: "Read an experience",
      description: "Read one experience in full, by its id from kb_search.",
      parameters: {
        type: "object",
        additionalProperties: false,
        required: ["id"],
        properties: { id: words("The experience's id.") },
      },
      execute: (_id, { id }, signal) => call("content", { id, ...agent }, signal),
    },
  ];
}
