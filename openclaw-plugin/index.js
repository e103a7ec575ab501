// The gateway's side of intenthint: an OpenClaw plugin.

import { join } from "node:path";

import { VERSION, ignoredOptions, missingAccess, readOptions } from "./src/config.js";
import { triageCommand, withAgentNames } from "./src/triage.js";
import { Blocks } from "./src/blocks.js";
import { Bridge } from "./src/bridge.js";
import { Chats } from "./src/chats.js";
import { hintCommand } from "./src/command.js";
import { decisionProvider } from "./src/decider.js";
import { planHooks, withoutDecision } from "./src/hooks.js";
import { TOOL_NAMES, knowhubTools, searchesTools } from "./src/knowhub.js";
import { sessionSkills } from "./src/skills.js";
import { record, text } from "./src/values.js";

/**
 * State shared by all registrations in a process. A gateway calls register several times, and again
 * at each reload with a freshly loaded module, so the one connection lives outside the module.
 *
 * @typedef {object} Shared
 * @property {string} version of the plugin, which a reload may change
 * @property {number} registrations
 * @property {Bridge} bridge
 * @property {Chats} chats in which hints are off
 * @property {Chats} ungated chats in which the triage gate is off
 * @property {Blocks} blocks
 * @property {boolean} marking whether the gateway takes the marks of our blocks off again
 * @property {string[]} missing rights without which nothing is asked
 * @property {string[]} ignored options that do not count as they are written
 * @property {Promise<void>} closed when the version before has closed, and with it the files
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
  name: "intenthint",
  description: "Asks intenthint for a hint before a prompt is built, and reports how the turn went.",

  /** @param {import("./src/api.js").PluginApi} api */
  register(api) {
    const mainKey = text(record(record(api.config).session), "mainKey");
    const options = readOptions(api.pluginConfig, (path) => api.resolvePath?.(path) ?? path, mainKey);
    if (!options.enabled) return;
    const live = api.registrationMode === undefined || api.registrationMode === "full";
    const mine = share(options, api, live);
    const registration = live ? ++mine.registrations : mine.registrations;
    // Handlers of a replaced registration use the newest state.
    const shared = () => globals[SHARED] ?? mine;

    const plan = planHooks(options);
    if (live) {
      mine.bridge.skillsOf = (ctx) => sessionSkills(api, ctx);
      mine.bridge.searchesTools = () => searchesTools(api);
      mine.missing = missingAccess(api);
      for (const problem of [...mine.missing, ...plan.problems]) mine.bridge.warnOnce(problem);
      mine.ignored = ignoredOptions(api.pluginConfig);
      if (mine.ignored.length > 0) mine.bridge.warnOnce(`options that do not count as written: ${mine.ignored.join("; ")}`);
    }

    for (const hook of plan.decide) {
      const budget = budgetOf(hook, options, operatorTimeout(api, hook));
      const closed = withoutDecision(hook, options.hooks.failClosed);
      api.on(
        hook,
        async (event, ctx) => {
          const given = hook === "before_dispatch" ? withAgentNames(api, shared().bridge.userNames, event, ctx) : ctx;
          const { decided, result } = await shared().bridge.ask(hook, event, given, budget);
          if (!decided) return closed;
          return result && hook === "before_prompt_build" && shared().marking ? shared().blocks.mark(result) : result;
        },
        { timeoutMs: budget + MARGIN_MS },
      );
    }

    if (api.registerTextTransforms) {
      api.registerTextTransforms(mine.blocks.transforms);
      mine.marking = true;
      mine.bridge.keepsHints = true;
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
      const outbox = stateFile(api, "outbox.jsonl");
      if (outbox !== "") void shared().closed.then(() => shared().bridge.restore(outbox));
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

    api.registerDecisionProvider?.(decisionProvider(() => shared().bridge));
    api.registerCommand?.({
      name: "hint",
      description: "Intent hints: status, right or wrong for the last one, on or off for this chat",
      acceptsArgs: true,
      handler: (ctx) => hintCommand(shared().bridge, shared().chats, ctx, shared()),
    });
    if (options.triage.enabled) {
      // Fires before the turn, and returns nothing: the reply is the gateway's own.
      api.on("reply_dispatch", (event, ctx) => {
        shared().bridge.gate.dispatched(event, ctx);
        shared().bridge.userNames.dispatched(event, ctx);
      });
      api.registerCommand?.({
        name: "triage",
        // A command of Telegram's menu names no message that it replies to; /triage is a text there.
        nativeNames: { telegram: "triage_status" },
        description: "Triage of group messages: status, respond or skip for a message, on or off for this chat",
        acceptsArgs: true,
        handler: (ctx) => triageCommand(shared().bridge, shared().ungated, ctx),
      });
    }
    if (options.knowhub.recall) {
      // The gateway calls it once it has settled which tools the turn has. One that knows no such phase
      // calls it after the handler above.
      const budget = budgetOf("before_prompt_build", options, operatorTimeout(api, "before_prompt_build"));
      api.on(
        "before_prompt_build",
        async (event, ctx) => {
          const { result } = await shared().bridge.recall(event, ctx, budget);
          return result && shared().marking ? shared().blocks.mark(result) : result;
        },
        { timeoutMs: budget + MARGIN_MS, requiresToolAuthority: true },
      );
    }
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
  let closed = Promise.resolve();
  if (shared && live && shared.version !== VERSION) {
    closed = shared.bridge.close(FLUSH_MS);
    shared = undefined;
  }
  if (!shared) {
    const chats = new Chats();
    const ungated = new Chats();
    const bridge = new Bridge(options, api.logger, chats, ungated);
    shared = { version: VERSION, registrations: 0, bridge, chats, ungated, blocks: new Blocks(), marking: false, missing: [], ignored: [], closed };
    globals[SHARED] = shared;
    chats.open(stateFile(api, "chats-off.json"), api.logger.warn);
    ungated.open(stateFile(api, "triage-off.json"), api.logger.warn);
  } else if (live) {
    shared.bridge.configure(options, api.logger);
  }
  return shared;
}

/**
 * A file of the plugin's own; "" when the gateway names no state directory.
 *
 * @param {import("./src/api.js").PluginApi} api
 * @param {string} name
 */
function stateFile(api, name) {
  try {
    const directory = api.runtime?.state?.resolveStateDir?.();
    return directory ? join(directory, "plugins", api.id, name) : "";
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
