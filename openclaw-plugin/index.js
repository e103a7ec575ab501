// The gateway's side of intenthint: an OpenClaw plugin.

import { join } from "node:path";

import { Bridge } from "./src/bridge.js";
import { Chats } from "./src/chats.js";
import { hintCommand } from "./src/command.js";
import { VERSION, readOptions, unknownOptions } from "./src/config.js";
import { planHooks, withoutDecision } from "./src/hooks.js";
import { TOOL_NAMES, knowhubTools } from "./src/knowhub.js";
import { text } from "./src/values.js";

/**
 * State shared by all registrations in a process. A gateway calls register several times, and again
 * at each reload with a freshly loaded module, so the one connection lives outside the module.
 *
 * @typedef {object} Shared
 * @property {string} version of the plugin, which a reload may change
 * @property {number} registrations
 * @property {Bridge} bridge
 * @property {Chats} chats
 */
const SHARED = Symbol.for("openclaw-plugin-intenthint");

/** How much longer the gateway waits than the plugin, so that the plugin's own time limit comes first. */
const MARGIN_MS = 1000;

/** How long to wait for events to be stored before the process ends. */
const FLUSH_MS = 2000;

/** @type {Record<symbol, Shared | undefined>} */
const globals = /** @type {any} */ (globalThis);

export default {
  id: "intention-hint",
  name: "Intention Hint",
  description: "Asks intenthint for a hint before a prompt is built, and reports how the turn went.",

  /** @param {import("./src/api.js").PluginApi} api */
  register(api) {
    const options = readOptions(api.pluginConfig, api.resolvePath && ((path) => api.resolvePath?.(path) ?? path));
    if (!options.enabled) return;
    const live = api.registrationMode === undefined || api.registrationMode === "full";
    const mine = share(options, api, live);
    const registration = live ? ++mine.registrations : mine.registrations;
    // Handlers of a replaced registration use the newest state.
    const shared = () => globals[SHARED] ?? mine;

    const plan = planHooks(options);
    if (live) {
      for (const problem of plan.problems) mine.bridge.warnOnce(problem);
      for (const name of unknownOptions(api.pluginConfig)) mine.bridge.warnOnce(`unknown option ${name} is ignored`);
    }

    for (const hook of plan.decide) {
      const budget = budgetOf(hook, options, operatorTimeout(api, hook));
      const closed = withoutDecision(hook, options.hooks.failClosed);
      api.on(
        hook,
        async (event, ctx) => {
          if (hook === "before_prompt_build" && shared().chats.isOff(text(ctx, "sessionKey"))) return undefined;
          const { decided, result } = await shared().bridge.ask(hook, event, ctx, budget);
          return decided ? result : closed;
        },
        { timeoutMs: budget + MARGIN_MS },
      );
    }

    const observed = new Set(plan.observe);
    for (const hook of observed) {
      if (hook === "gateway_start" || hook === "gateway_stop") continue;
      api.on(hook, (event, ctx) => {
        shared().bridge.tell(hook, event, ctx);
        // A command awaits agent_end and exits after it; a gateway does not await it.
        if (hook === "agent_end" && !shared().bridge.gateway) return shared().bridge.flush(FLUSH_MS);
        return undefined;
      });
    }
    api.on("gateway_start", (event, ctx) => {
      shared().bridge.gateway = true;
      shared().bridge.open();
      if (observed.has("gateway_start")) shared().bridge.tell("gateway_start", event, ctx);
    });
    api.on("gateway_stop", async (event, ctx) => {
      if (observed.has("gateway_stop")) shared().bridge.tell("gateway_stop", event, ctx);
      if (text(event, "reason") !== "plugin replacement") return shared().bridge.close(FLUSH_MS);
      // The process lives on: a newer registration keeps the connection.
      await shared().bridge.flush(FLUSH_MS);
      return registration === shared().registrations ? shared().bridge.release(0) : undefined;
    });

    api.registerCommand?.({
      name: "hint",
      description: "Intent hints: status, and on or off for this chat",
      acceptsArgs: true,
      handler: (ctx) => hintCommand(shared().bridge, shared().chats, ctx),
    });
    if (options.knowhub.enabled) {
      api.registerTool?.((ctx) => knowhubTools(() => shared().bridge, ctx), { names: TOOL_NAMES });
    }
  },
};

/**
 * Returns the shared state, with the options of the newest live registration.
 *
 * @param {import("./src/config.js").Options} options
 * @param {import("./src/api.js").PluginApi} api
 * @param {boolean} live
 * @returns {Shared}
 */
function share(options, api, live) {
  let shared = globals[SHARED];
  if (shared && live && shared.version !== VERSION) {
    void shared.bridge.close(FLUSH_MS);
    shared = undefined;
  }
  if (!shared) {
    shared = { version: VERSION, registrations: 0, bridge: new Bridge(options, api.logger), chats: new Chats() };
    globals[SHARED] = shared;
    shared.chats.open(stateFile(api));
  } else if (live) {
    shared.bridge.configure(options, api.logger);
  }
  return shared;
}

/**
 * The file of chats without hints; "" when the gateway names no state directory.
 *
 * @param {import("./src/api.js").PluginApi} api
 */
function stateFile(api) {
  try {
    const directory = api.runtime?.state?.resolveStateDir?.();
    return directory ? join(directory, "plugins", api.id, "chats-off.json") : "";
  } catch {
    return "";
  }
}

/**
 * How long to wait for a reply, in milliseconds.
 *
 * @param {string} hook
 * @param {import("./src/config.js").Options} options
 * @param {number | undefined} operator limit from plugins.entries.<id>.hooks
 */
function budgetOf(hook, options, operator) {
  const own = hook === "before_dispatch" && options.triage.enabled ? options.triage.timeoutMs : options.timeoutMs;
  if (operator === undefined) return own;
  // Without a margin the gateway would give up first and log an error.
  const most = Math.max(1, operator - Math.min(100, operator / 10));
  return hook === "before_prompt_build" ? Math.min(own, most) : most;
}

/**
 * The limit that the operator has set for a handler of this plugin, if any.
 *
 * @param {import("./src/api.js").PluginApi} api
 * @param {string} hook
 * @returns {number | undefined} milliseconds
 */
function operatorTimeout(api, hook) {
  const hooks = /** @type {any} */ (api.config)?.plugins?.entries?.[api.id]?.hooks;
  const ms = hooks?.timeouts?.[hook] ?? hooks?.timeoutMs;
  return typeof ms === "number" && ms > 0 ? ms : undefined;
}
