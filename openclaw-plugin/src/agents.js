// What an agent is called, from the gateway's configuration.

import { addressOf } from "./subjects.js";
import { field, text } from "./values.js";

/**
 * The context of before_dispatch with the name of the agent: the triage gate lets a message through
 * that names it (contract §11).
 *
 * @param {import("./api.js").PluginApi} api
 * @param {unknown} event
 * @param {unknown} ctx
 * @returns {unknown} ctx itself when the agent has no name
 */
export function withAgentName(api, event, ctx) {
  try {
    const { agent } = addressOf(event, ctx);
    // The configuration as it is now: names change without a reload of plugins.
    const config = api.runtime?.config?.current?.() ?? api.config;
    const agentName = text(api.runtime?.agent?.resolveAgentIdentity?.(config, agent ?? "main") ?? identityOf(config, agent ?? "main"), "name");
    return agentName === undefined ? ctx : { .../** @type {object} */ (ctx), agentName };
  } catch {
    return ctx;
  }
}

/**
 * @param {unknown} config
 * @param {string} agent
 */
function identityOf(config, agent) {
  const agents = field(config, "agents");
  const list = field(agents, "list");
  const entry = Array.isArray(list) ? list.find((one) => text(one, "id") === agent) : field(field(agents, "entries"), agent);
  return field(entry, "identity");
}
