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
 * What all registrations in a process have in common. A gateway calls register several times, and
 * again at each reload, with the module loaded anew: the one connection lives outside of it.
 *
 * @typedef {object} Shared
 * @property {string} version a reload may bring another version of this plugin
 * @property {number} registrations
 * @property {Bridge} bridge
 * @property {Chats} chats
 */
const SHARED = Symbol.for("openclaw-plugin-intenthint");

/** What the gateway waits longer than this plugin does, so that the plugin's answer comes first. */
const MARGIN_MS = 1000;

/** How long the end of a run waits for its events where the process ends with it. */
const FLUSH_MS = 2000;

/** @type {Record<symbol, Shared | undefined>} */
const world = /** @type {any} */ (globalThis);

export default {
  id: "intention-hint",
  name: "Intention Hint",
  description: "Asks intenthint what the user wants before a prompt is built, and tells it how the turn went.",

  /** @param {import("./src/api.js").PluginApi} api */
  register(api) {
    const options = readOptions(api.pluginConfig, api.resolvePath && ((path) => api.resolvePath?.(path) ?? path));
    if (!options.enabled) return;
    const live = api.registrationMode === undefined || api.registrationMode === "full";
    const mine = share(options, api, live);
    const registration = live ? ++mine.registrations : mine.registrations;
    // Handlers of a registration that was replaced use what the newest one uses.
    const shared = () => world[SHARED] ?? mine;

    const plan = planHooks(options);
    if (live) {
      for (const problem of plan.problems) mine.bridge.warnOnce(problem);
      for (const name of unknownOptions(api.pluginConfig)) mine.bridge.warnOnce(`there is no option ${name}; it is ignored`);
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

    const tell = new Set(plan.tell);
    for (const hook of tell) {
      if (hook === "gateway_start" || hook === "gateway_stop") continue;
      api.on(hook, (event, ctx) => {
        shared().bridge.tell(hook, event, ctx);
        // A command waits for agent_end and ends after it; a gateway waits for nobody.
        if (hook === "agent_end" && !shared().bridge.gateway) return shared().bridge.flush(FLUSH_MS);
        return undefined;
      });
    }
    api.on("gateway_start", (event, ctx) => {
      shared().bridge.gateway = true;
      shared().bridge.open();
      if (tell.has("gateway_start")) shared().bridge.tell("gateway_start", event, ctx);
    });
    api.on("gateway_stop", async (event, ctx) => {
      if (tell.has("gateway_stop")) shared().bridge.tell("gateway_stop", event, ctx);
      if (text(event, "reason") !== "plugin replacement") return shared().bridge.close(FLUSH_MS);
      // The process goes on; the connection is that of a newer registration when there is one.
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
 * What all registrations share, with the options of the newest one that is live.
 *
 * @param {import("./src/config.js").Options} options
 * @param {import("./src/api.js").PluginApi} api
 * @param {boolean} live
 * @returns {Shared}
 */
function share(options, api, live) {
  let shared = world[SHARED];
  if (shared && live && shared.version !== VERSION) {
    void shared.bridge.close(FLUSH_MS);
    shared = undefined;
  }
  if (!shared) {
    shared = { version: VERSION, registrations: 0, bridge: new Bridge(options, api.logger), chats: new Chats() };
    world[SHARED] = shared;
    shared.chats.open(stateFile(api));
  } else if (live) {
    shared.bridge.configure(options, api.logger);
  }
  return shared;
}

/**
 * Where chats without hints are kept; "" when the gateway does not say where its state is.
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
 * How long an answer is waited for.
 *
 * @param {string} hook
 * @param {import("./src/config.js").Options} options
 * @param {number | undefined} operator what plugins.entries.<id>.hooks says
 */
function budgetOf(hook, options, operator) {
  const own = hook === "before_dispatch" && options.triage.enabled ? options.triage.timeoutMs : options.timeoutMs;
  if (operator === undefined) return own;
  // Without a margin the gateway would give up first, and log it as a fault.
  const most = Math.max(1, operator - Math.min(100, operator / 10));
  return hook === "before_prompt_build" ? Math.min(own, most) : most;
}

/**
 * The time that the operator gives to a handler of this plugin, if any.
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
