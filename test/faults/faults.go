// Package faults holds what the fault tests need besides processes: a workload
// of gateways that is drawn from a seed, a record of what they published and
// what was acknowledged, a checker that holds the session documents against
// it, and a TCP proxy that breaks connections.
//
// The check goes in two steps, so that it can say whose loss a loss is. What
// was acknowledged must stand in the event stream; what stands in the stream
// must stand in the documents, exactly once and in its turn, and nothing else
// may. What was published and not acknowledged may be in the stream or not.
package faults

import (
	"cmp"
	"strings"
)

// Hooks of the workload, as they stand in subjects and payloads.
const (
	TurnBegun  = "turn_begun"
	ToolCall   = "after_tool_call"
	AgentEnd   = "agent_end"
	SessionEnd = "session_end"
)

// Event is what a gateway publishes or, as turn_begun, a consumer.
type Event struct {
	ID   string
	Hook string
	// Session is the session's id.
	Session string
	// Run is the run that the event names, "" for none.
	Run string
	// TS is Unix milliseconds at the gateway.
	TS int64
	// Call is the toolCallId of an after_tool_call.
	Call string
	// Text is the result of a call, the answer of an agent_end, the reason of
	// a session_end, the prompt of a turn_begun.
	Text string
	// Failed makes Text an error; of a turn_begun it says that there was no
	// classification.
	Failed bool
}

// compare orders events: the earlier ts first, ties by id (contract §8).
func (e Event) compare(other Event) int {
	return cmp.Or(cmp.Compare(e.TS, other.TS), strings.Compare(e.ID, other.ID))
}

// Ask is one request of a gateway for a hint.
type Ask struct {
	Session, Run, Prompt string
	// TS is Unix milliseconds at the gateway.
	TS int64
}
