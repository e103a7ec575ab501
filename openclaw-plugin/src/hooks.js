// The hooks of OpenClaw 2026.9.6, and what the plugin does at each.

/** Hooks whose result the gateway waits for. */
export const DECISIONS = [
  "agent_turn_prepare",
  "before_agent_finalize",
  "before_agent_reply",
  "before_agent_run",
  "before_dispatch",
  "before_install",
  "before_message_write",
  "before_model_resolve",
  "before_prompt_build",
  "before_tool_call",
  "heartbeat_prompt_contribution",
  "inbound_claim",
  "message_sending",
  "reply_dispatch",
  "reply_payload_sending",
  "resolve_exec_env",
  "skill_proposal_evaluate",
  "subagent_delivery_target",
  "tool_result_persist",
];

/** The hooks of `usage: true`: what an agent uses of its own model (contract §8). */
export const USAGE_HOOKS = ["llm_output", "model_call_ended"];

/** Hooks that have no result. */
export const OBSERVATIONS = [
  "after_compaction",
  "after_tool_call",
  "agent_end",
  "before_compaction",
  "before_reset",
  "channel_pairing_requested",
  "cron_changed",
  "cron_reconciled",
  "gateway_start",
  "gateway_stop",
  "llm_input",
  "llm_output",
  "message_received",
  "message_sent",
  "model_call_ended",
  "model_call_started",
  "session_end",
  "session_start",
  "skill_changed",
  "skill_proposal_changed",
  "subagent_ended",
  "subagent_progress",
  "subagent_spawned",
];

/** The gateway does not await these handlers: they can be observed, not decided. */
const SYNCHRONOUS = new Set(["before_message_write", "tool_result_persist"]);

/** For hooks that can fail closed: the result that stops what the hook guards. */
const CLOSED = new Map([
  ["before_tool_call", { block: true, blockReason: "nobody decided about this tool call (intenthint)" }],
]);

/**
 * @typedef {object} Plan
 * @property {string[]} decide hooks whose result is requested
 * @property {string[]} observe hooks that are published as events
 * @property {string[]} problems parts of the configuration that cannot be applied, and hooks that this version does not know
 */

/**
 * Sorts the hooks by the options. A hook is either decided or observed, not both.
 *
 * @param {import("./config.js").Options} options
 * @returns {Plan}
 */
export function planHooks({ hooks, triage, knowhub, usage }) {
  const known = [...DECISIONS, ...OBSERVATIONS];
  const problems = [];
  const decide = new Set(["before_prompt_build"]);
  if (triage.enabled) decide.add("before_dispatch");
  for (const hook of hooks.decide) {
    if (OBSERVATIONS.includes(hook)) problems.push(`hooks.decide: ${hook} is not a decision hook`);
    else if (SYNCHRONOUS.has(hook)) problems.push(`hooks.decide: the gateway does not wait for a result of ${hook}`);
    else {
      if (!DECISIONS.includes(hook)) problems.push(`hooks.decide: this version does not know ${hook}`);
      decide.add(hook);
    }
  }
  for (const hook of hooks.failClosed) {
    if (!CLOSED.has(hook)) problems.push(`hooks.failClosed: ${hook} cannot fail closed`);
    else if (!decide.has(hook)) problems.push(`hooks.failClosed: ${hook} is not in hooks.decide`);
  }
  for (const pattern of [...hooks.include, ...hooks.exclude]) {
    if (known.some((hook) => matches(pattern, hook))) continue;
    problems.push(pattern.includes("*") ? `hooks: ${pattern} matches no hook` : `hooks: this version does not know ${pattern}`);
  }
  const include = [...hooks.include, knowhub.extraction, ...(triage.enabled && triage.history ? ["message_sent"] : []), ...(usage ? USAGE_HOOKS : [])];
  const unknown = hooks.include.filter((name) => !name.includes("*") && !known.includes(name));
  const observe = [...known, ...unknown].filter(
    (hook) =>
      !decide.has(hook) &&
      include.some((pattern) => matches(pattern, hook)) &&
      !hooks.exclude.some((pattern) => matches(pattern, hook)),
  );
  return { decide: [...decide], observe, problems };
}

/**
 * Reports whether the operator has listed a hook to be published.
 *
 * @param {import("./config.js").Options} options
 * @param {string} hook
 */
export function isListed({ hooks }, hook) {
  return hooks.include.some((pattern) => matches(pattern, hook));
}

/**
 * The result for a hook that nobody decided about.
 *
 * @param {string} hook
 * @param {string[]} failClosed
 * @returns {object | undefined}
 */
export function withoutDecision(hook, failClosed) {
  return failClosed.includes(hook) ? CLOSED.get(hook) : undefined;
}

/**
 * @param {string} pattern with * for anything
 * @param {string} hook
 */
function matches(pattern, hook) {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[^\w]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`).test(hook);
}
