// What an agent uses of its own model (contract §8): events that hold far more, of which only counts
// leave the gateway.

import { record } from "./values.js";

/** The hooks, and the fields of their events that are told. */
const TOLD = new Map([
  ["llm_output", ["runId", "sessionId", "provider", "model", "resolvedRef", "reasoningEffort"]],
  ["model_call_ended", ["runId", "sessionId", "callId", "provider", "model", "outcome", "durationMs"]],
]);

const TOKENS = ["input", "output", "cacheRead", "cacheWrite"];

/** The hooks of `usage: true`. */
export const USAGE_HOOKS = [...TOLD.keys()];

/**
 * The part of an event that is told: no text of people or models.
 *
 * @param {string} hook
 * @param {unknown} event
 * @returns {unknown} the event itself for another hook
 */
export function counted(hook, event) {
  const fields = TOLD.get(hook);
  if (!fields) return event;
  const all = record(event);
  const out = picked(all, fields);
  if (hook === "llm_output" && all.usage !== undefined) out.usage = picked(record(all.usage), TOKENS);
  return out;
}

/**
 * @param {Record<string, unknown>} from
 * @param {string[]} names
 */
function picked(from, names) {
  return Object.fromEntries(names.filter((name) => ["string", "number"].includes(typeof from[name])).map((name) => [name, from[name]]));
}
