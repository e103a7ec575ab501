// Package store holds sessions: what happened in each turn of a conversation,
// folded from events (contract §8).
//
// The fold is pure and independent of order: a [Document] is a function of the
// set of [Fact] values applied to it, however often and in whatever order they
// come. The backends (package store/file) keep documents; they never decide
// what stands in one.
package store

import (
	"encoding/json"

	"intenthint/payload"
)

// Fact is what one event says about a session. Exactly one of Begin, Call, End
// and Close is set.
type Fact struct {
	// ID is the id of the event; facts with equal ids are one fact.
	ID string
	// TS is Unix milliseconds at the gateway.
	TS int64
	// RunID names the turn; "" means the latest turn that began at or before TS.
	RunID string
	// SessionID, SessionKey and AgentID are the context's.
	SessionID, SessionKey, AgentID string

	Begin *Begin
	Call  *Call
	End   *End
	Close *Close
}

// Begin is the beginning of a turn (turn_begun).
type Begin struct {
	Input        string
	Conversation []payload.Turn
	Result       *payload.Classification // nil when nothing could be classified
}

// Call is a finished tool call (after_tool_call).
type Call struct {
	ToolCallID string
	Name       string
	Params     json.RawMessage
	Result     string // "" when the call failed
	Error      string // "" when it did not
	DurationMs float64
	Skill      *Skill // set when the call read a skill
}

// Skill is a SKILL.md that the agent has read.
type Skill struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// End is the end of one attempt of a run (agent_end).
type End struct {
	Result string
	Error  string
}

// Close is the end of a session (session_end).
type Close struct {
	Reason string
}
