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
  /** Handlers of the phase in which the turn's tools are settled. @type {typeof hooks} */
  const authorized = new Map();
  /** @type {string[]} */
  const log = [];
  /** @type {any[]} */
  const tools = [];
  /** @type {Map<string, any>} */
  const commands = new Map();
  const say = (/** @type {string} */ message) => log.push(message);
  /** @type {import("../src/api.js").PluginApi} */
  const api = {
    id: "intention-hint",
    pluginConfig,
    logger: { debug: say, info: say, warn: say, error: say },
    on: (hook, handler, options) => (options?.requiresToolAuthority ? authorized : hooks).set(hook, { handler, options }),
    registerCommand: (definition) => void commands.set(definition.name, definition),
    registerTool: (factory) => tools.push(...factory({ agentId: "main", sessionKey: KEY })),
    ...more,
  };
  plugin.register(api);
  return {
    hooks,
    authorized,
    log,
    tools,
    /** @param {string} hook @param {any} event @param {any} [ctx] */
    fire: async (hook, event, ctx = CTX) => hooks.get(hook)?.handler(event, ctx),
    /** Fires before_prompt_build in that phase. @param {any} event @param {any} ctx */
    authorize: async (event, ctx) => authorized.get("before_prompt_build")?.handler(event, ctx),
    commands,
    hint: (/** @type {string} */ args = "", ctx = { sessionKey: KEY }) => commands.get("hint").handler({ ...ctx, args }).text,
    triage: (/** @type {string} */ args = "", ctx = {}) => commands.get("triage").handler({ sessionKey: GROUP, ...ctx, args }).text,
    shared: () => /** @type {any} */ (globalThis)[SHARED],
  };
}

/** Discards all shared state, as a new process would. */
export async function forget() {
  const shared = /** @type {any} */ (globalThis)[SHARED];
  delete (/** @type {any} */ (globalThis)[SHARED]);
  await shared?.bridge.close(0);
}

export const GROUP = "agent:main:telegram:group:-100";
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
