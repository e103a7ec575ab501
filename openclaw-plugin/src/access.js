// What the operator has to allow before the gateway calls this plugin.

import { record } from "./values.js";

/**
 * The rights that the plugin lacks, each as a line that says how to grant it.
 *
 * @param {import("./api.js").PluginApi} api
 * @returns {string[]} empty also when the gateway does not show its configuration
 */
export function missingAccess({ config, id }) {
  if (config === undefined) return [];
  const entry = `plugins.entries.${id}.hooks`;
  const hooks = record(record(record(record(record(config).plugins).entries)[id]).hooks);
  const missing = [];
  if (hooks.allowConversationAccess !== true) {
    missing.push(`never asked for a hint: the gateway hides conversations from this plugin until ${entry}.allowConversationAccess is true`);
  }
  if (hooks.allowPromptInjection === false) missing.push(`never asked for a hint: ${entry}.allowPromptInjection is false`);
  return missing;
}
