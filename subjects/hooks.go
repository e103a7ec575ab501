package subjects

import "slices"

// Kind is the kind of a hook: whether a gateway waits for its result.
type Kind int

// The kinds of hooks (contract §1).
const (
	// Unknown is a hook that is not in this catalogue.
	Unknown Kind = iota
	// Decision hooks are asked by request-reply.
	Decision
	// Observation hooks are events in JetStream.
	Observation
)

// Hooks that this program handles.
const (
	HookBeforePromptBuild = "before_prompt_build"
	HookBeforeDispatch    = "before_dispatch"
	HookAfterToolCall     = "after_tool_call"
	HookAgentEnd          = "agent_end"
	HookSessionEnd        = "session_end"
	HookMessageSent       = "message_sent"
	HookSessionStart      = "session_start"
	HookBeforeCompaction  = "before_compaction"
	HookAfterCompaction   = "after_compaction"
	HookLLMOutput         = "llm_output"
	HookModelCallEnded    = "model_call_ended"

	// HookTurnBegun is published by the consumer itself before it replies to
	// before_prompt_build; gateways do not fire it.
	HookTurnBegun = "turn_begun"
	// HookKnowHubRecall is the plugin's request for the experiences for a prompt,
	// sent once the gateway has settled which tools the turn has (contract §12).
	HookKnowHubRecall = "knowhub_recall"
	// HookSessionRemoved tells the consumer processes that a session was removed
	// (sessions rm). It is no event: no stream stores it.
	HookSessionRemoved = "session_removed"
	// HookFeedback is a person's verdict on a decision; the plugin, the pages and
	// the command line publish it (contract §11).
	HookFeedback = "feedback"
	// HookDecide asks typed questions, HookDecided is the event of each answer, which
	// the consumer itself publishes (contract §15).
	HookDecide  = "decide"
	HookDecided = "decided"
)

// hooks lists the hooks of OpenClaw 2026.9.6, with the names that older
// gateways use for the same points.
var hooks = map[string]Kind{
	"agent_turn_prepare":            Decision,
	"before_agent_finalize":         Decision,
	"before_agent_reply":            Decision,
	"before_agent_run":              Decision,
	HookBeforeDispatch:              Decision,
	"before_install":                Decision,
	"before_message_write":          Decision,
	"before_model_resolve":          Decision,
	HookBeforePromptBuild:           Decision,
	"before_tool_call":              Decision,
	"heartbeat_prompt_contribution": Decision,
	"inbound_claim":                 Decision,
	"message_sending":               Decision,
	"reply_dispatch":                Decision,
	"reply_payload_sending":         Decision,
	"resolve_exec_env":              Decision,
	"skill_proposal_evaluate":       Decision,
	"subagent_delivery_target":      Decision,
	"tool_result_persist":           Decision,

	HookAfterCompaction:         Observation,
	HookAfterToolCall:           Observation,
	HookAgentEnd:                Observation,
	HookBeforeCompaction:        Observation,
	"before_reset":              Observation,
	"channel_pairing_requested": Observation,
	"cron_changed":              Observation,
	"cron_reconciled":           Observation,
	"gateway_start":             Observation,
	"gateway_stop":              Observation,
	"llm_input":                 Observation,
	"llm_output":                Observation,
	"message_received":          Observation,
	HookMessageSent:             Observation,
	"model_call_ended":          Observation,
	"model_call_started":        Observation,
	HookSessionEnd:              Observation,
	HookSessionStart:            Observation,
	"skill_changed":             Observation,
	"skill_proposal_changed":    Observation,
	"subagent_ended":            Observation,
	"subagent_progress":         Observation,
	"subagent_spawned":          Observation,

	// Compatibility names.
	"before_agent_start": Decision,
	"subagent_spawning":  Decision,
	"deactivate":         Observation,

	// Our own.
	HookTurnBegun: Observation,
	HookDecided:   Observation,
	HookFeedback:  Observation,
}

// Observations returns the names of all observation hooks, sorted.
func Observations() []string {
	var out []string
	for hook, kind := range hooks {
		if kind == Observation {
			out = append(out, hook)
		}
	}
	slices.Sort(out)
	return out
}

// KindOf returns the kind of a hook, [Unknown] for names it does not know.
func KindOf(hook string) Kind { return hooks[hook] }
