// Package faults holds what the fault tests need besides processes: a random
// workload of gateways, made from a seed, a record of what they published and
// what was acknowledged, a checker that compares the session documents with
// it, and a TCP proxy that breaks connections.
//
// The check has two steps, so that a loss can be attributed. What was
// acknowledged must be in the event stream. What is in the stream must be in
// the documents, exactly once and in its turn, and nothing else may be there.
// What was published but not acknowledged may be in the stream or not.
package faults

import (
	"cmp"
	"strings"
)

// Hooks of the workload, as in subjects and payloads.
const (
	TurnBegun  = "turn_begun"
	ToolCall   = "after_tool_call"
	AgentEnd   = "agent_end"
	SessionEnd = "session_end"
)

// Event is what a gateway publishes or, as turn_begun, a consumer.
type Event struct {
	ID, Hook string
	// Session is the session's id, Run the id of the run, "" for none.
	Session, Run string
	// TS is Unix milliseconds at the gateway.
	TS int64
	// Call is the toolCallId of an after_tool_call.
	Call string
	// Text is the result of a call, the answer of an agent_end, the reason of
	// a session_end, the prompt of a turn_begun.
	Text string
	// Failed makes Text an error. For a turn_begun it means that there is no
	// classification.
	Failed bool
}

// compare orders events by ts, ties by id (contract §8).
func (e Event) compare(other Event) int {
	return cmp.Or(cmp.Compare(e.TS, other.TS), strings.Compare(e.ID, other.ID))
}

// Ask is one request of a gateway for a hint.
type Ask struct {
	Session, Run, Prompt string
	// TS is Unix milliseconds at the gateway.
	TS int64
}
