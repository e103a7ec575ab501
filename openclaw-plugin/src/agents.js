// What an agent is called: in the gateway's configuration, and on its channels.

import { Recent } from "./recent.js";
import { addressOf } from "./subjects.js";
import { field, text } from "./values.js";

/** Agents, by channel and account, whose user name on the channel is remembered. */
const MAX_ACCOUNTS = 200;

/** The most names that are sent; an agent has a few, and a gateway's patterns are few. */
const MAX_NAMES = 32;

/** What bots are called on their channels, which only a dispatched message tells. */
export class UserNames {
  /** @type {Recent<string>} by channel and account */
  #names = new Recent(MAX_ACCOUNTS);

  /**
   * Notes the bot's user name of a channel's account.
   *
   * @param {unknown} event of reply_dispatch
   * @param {unknown} ctx
   */
  dispatched(event, ctx) {
    const message = field(event, "ctx");
    const name = text(message, "BotUsername");
    if (name !== undefined) this.#names.set(accountOf(text(message, "Provider") ?? text(ctx, "channelId"), text(message, "AccountId") ?? text(ctx, "accountId")), name);
  }

  /**
   * @param {unknown} ctx of before_dispatch
   * @returns {string | undefined}
   */
  of(ctx) {
    return this.#names.get(accountOf(text(ctx, "channelId"), text(ctx, "accountId")));
  }
}

/**
 * @param {string | undefined} channel
 * @param {string | undefined} account
 */
function accountOf(channel, account) {
  return JSON.stringify([channel?.toLowerCase(), account ?? "default"]);
}

/**
 * The context of before_dispatch with what the agent is called: the triage gate lets a message through
 * that names it (contract §11).
 *
 * @param {import("./api.js").PluginApi} api
 * @param {UserNames} userNames
 * @param {unknown} event
 * @param {unknown} ctx
 * @returns {unknown} ctx itself when the agent has no name
 */
export function withAgentNames(api, userNames, event, ctx) {
  try {
    const agent = addressOf(event, ctx).agent ?? "main";
    // The configuration as it is now: names change without a reload of plugins.
    const config = api.runtime?.config?.current?.() ?? api.config;
    const identity = api.runtime?.agent?.resolveAgentIdentity?.(config, agent) ?? field(agentOf(config, agent), "identity");
    const userName = userNames.of(ctx);
    const named = [text(identity, "name"), userName === undefined ? undefined : `@${userName.replace(/^@/, "")}`, ...mentionPatterns(config, agent)];
    const agentNames = [...new Set(named.filter((name) => name !== undefined))].slice(0, MAX_NAMES);
    return agentNames.length === 0 ? ctx : { .../** @type {object} */ (ctx), agentName: agentNames[0], agentNames };
  } catch {
    return ctx;
  }
}

/**
 * The patterns by which people mention an agent: its own, else those for all (agents.*.groupChat and
 * messages.groupChat of the gateway's configuration).
 *
 * @param {unknown} config
 * @param {string} agent
 * @returns {string[]}
 */
function mentionPatterns(config, agent) {
  for (const place of [agentOf(config, agent), field(config, "messages")]) {
    const patterns = field(field(place, "groupChat"), "mentionPatterns");
    if (Array.isArray(patterns)) return patterns.filter((pattern) => typeof pattern === "string" && pattern.trim() !== "");
  }
  return [];
}

/**
 * @param {unknown} config
 * @param {string} agent
 */
function agentOf(config, agent) {
  const agents = field(config, "agents");
  const list = field(agents, "list");
  return Array.isArray(list) ? list.find((one) => text(one, "id") === agent) : field(field(agents, "entries"), agent);
}
