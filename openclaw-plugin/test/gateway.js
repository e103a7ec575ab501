// A gateway, as far as a plugin sees it.

import plugin from "../index.js";

const SHARED = Symbol.for("openclaw-plugin-intenthint");

/**
 * Registers the plugin with a configuration.
 *
 * @param {object} pluginConfig
 * @param {object} [more] of the plugin API
 */
export function gateway(pluginConfig, more = {}) {
  /** @type {Map<string, {handler: import("../src/api.js").Handler, options: any}>} */
  const hooks = new Map();
  /** @type {string[]} */
  const log = [];
  /** @type {any[]} */
  const tools = [];
  /** @type {any} */
  let command;
  const say = (/** @type {string} */ message) => log.push(message);
  /** @type {import("../src/api.js").PluginApi} */
  const api = {
    id: "intention-hint",
    pluginConfig,
    logger: { debug: say, info: say, warn: say, error: say },
    on: (hook, handler, options) => hooks.set(hook, { handler, options }),
    registerCommand: (definition) => (command = definition),
    registerTool: (factory) => tools.push(...factory({ agentId: "main", sessionKey: KEY })),
    ...more,
  };
  plugin.register(api);
  return {
    hooks,
    log,
    tools,
    /** @param {string} hook @param {any} event @param {any} [ctx] */
    fire: async (hook, event, ctx = CTX) => hooks.get(hook)?.handler(event, ctx),
    hint: (/** @type {string} */ args = "", ctx = { sessionKey: KEY }) => command.handler({ ...ctx, args }).text,
    shared: () => /** @type {any} */ (globalThis)[SHARED],
  };
}

/** Discards all shared state, as a new process would. */
export async function forget() {
  const shared = /** @type {any} */ (globalThis)[SHARED];
  delete (/** @type {any} */ (globalThis)[SHARED]);
  await shared?.bridge.close(0);
}

export const KEY = "agent:main:telegram:direct:42";

/** A person's turn in a direct chat. */
export const CTX = {
  runId: "r1",
  agentId: "main",
  sessionKey: KEY,
  sessionId: "s1",
  trigger: "user",
  messageProvider: "telegram",
  channelId: "42",
};
