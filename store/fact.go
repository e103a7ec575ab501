package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"intenthint/payload"
)

// Fact is what one event adds to a session. Exactly one of Begin, Call, End,
// Feedback, Use and Close is set.
//
// Backends store waiting facts as the JSON of this type.
type Fact struct {
	// ID is the id of the event; facts with equal ids are one fact.
	ID string `json:"id"`
	// TS is Unix milliseconds at the gateway.
	TS int64 `json:"ts"`
	// RunID names the turn; "" means the latest turn that began at or before TS.
	// Feedback without a run id belongs to no turn.
	RunID string `json:"runId,omitempty"`
	// SessionID, SessionKey and AgentID come from the hook's context.
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	AgentID    string `json:"agentId,omitempty"`

	Begin    *Begin    `json:"begin,omitempty"`
	Call     *Call     `json:"call,omitempty"`
	End      *End      `json:"end,omitempty"`
	Feedback *Feedback `json:"feedback,omitempty"`
	// Use is what the agent asked of its own model. It has a run id.
	Use   *payload.AgentUse `json:"use,omitempty"`
	Close *Close            `json:"close,omitempty"`
}

// Key returns the position of the fact in the order of facts.
func (f Fact) Key() Key { return Key{TS: f.TS, ID: f.ID} }

// Session returns the session id, else the session key, else "".
func (f Fact) Session() string {
	if f.SessionID != "" {
		return f.SessionID
	}
	return f.SessionKey
}

// run returns the run of a Begin. A Begin without a run id is a run of its own.
func (f Fact) run() string {
	if f.RunID == "" && f.Begin != nil {
		return f.ID
	}
	return f.RunID
}

// clean replaces invalid UTF-8. JSON encoding would do the same, and a fact
// must not change when it is stored.
func (f Fact) clean() Fact {
	fields := []*string{&f.ID, &f.RunID, &f.SessionID, &f.SessionKey, &f.AgentID}
	if f.Begin != nil {
		b := *f.Begin
		f.Begin = &b
		fields = append(fields, &b.Input, &b.Message, &b.Skip)
		b.Conversation = slices.Clone(b.Conversation)
		for i := range b.Conversation {
			fields = append(fields, &b.Conversation[i].Role, &b.Conversation[i].Text)
		}
		b.Skills = slices.Clone(b.Skills)
		for i := range b.Skills {
			fields = append(fields, &b.Skills[i].Name, &b.Skills[i].Path)
		}
		if b.Result != nil {
			r := *b.Result
			b.Result = &r
			r.Confidence, r.ElapsedMs, r.RunnerUpConfidence = finite(r.Confidence), finite(r.ElapsedMs), finite(r.RunnerUpConfidence)
			fields = append(fields, &r.Intent, &r.RunnerUp, &r.Name, &r.Reason, &r.Goal, &r.Complexity, &r.Suggestion, &r.Source, &r.Model)
		}
	}
	if f.Call != nil {
		c := *f.Call
		f.Call = &c
		c.Params, c.DurationMs = safeJSON(c.Params), finite(c.DurationMs)
		fields = append(fields, &c.ToolCallID, &c.Name, &c.Result, &c.Error)
		if c.Skill != nil {
			s := *c.Skill
			c.Skill = &s
			fields = append(fields, &s.Name, &s.Path)
		}
	}
	if f.End != nil {
		e := *f.End
		f.End = &e
		fields = append(fields, &e.Result, &e.Error)
	}
	if f.Feedback != nil {
		b := *f.Feedback
		f.Feedback = &b
		fields = append(fields, &b.Verdict, &b.Intent, &b.By)
	}
	if f.Use != nil {
		u := *f.Use
		f.Use = &u
		fields = append(fields, &u.Model, &u.Effort)
	}
	if f.Close != nil {
		c := *f.Close
		f.Close = &c
		fields = append(fields, &c.Reason)
	}
	for _, s := range fields {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	return f
}

// Key orders facts and turns: the earlier ts first, ties by id (contract §8).
type Key struct {
	// TS is Unix milliseconds at the gateway.
	TS int64  `json:"ts"`
	ID string `json:"id"`
}

// Compare is negative when k comes before other, positive when it comes after.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.TS, other.TS), strings.Compare(k.ID, other.ID))
}

// Before reports whether k comes before other.
func (k Key) Before(other Key) bool { return k.Compare(other) < 0 }

// Begin is the beginning of a turn (turn_begun).
type Begin struct {
	Input string `json:"input"`
	// Message is the user's message if it differs from Input; else "".
	Message      string         `json:"message,omitempty"`
	Conversation []payload.Turn `json:"conversation,omitempty"`
	// Earlier is the number of earlier messages of the session that the classifier
	// was given in addition to the conversation.
	Earlier int                     `json:"earlier,omitempty"`
	Result  *payload.Classification `json:"result,omitempty"` // nil when nothing could be classified
	// Skills are the skills that the hint named with their paths.
	Skills []Skill `json:"skills,omitempty"`
	// Skip is why there is no hint (Hint-Skip); "" when there is one, or when no
	// hint was requested.
	Skip string `json:"skip,omitempty"`
	// HeldOut reports whether the session is held out (HINT_HOLDOUT); nil when
	// there is no holdout.
	HeldOut *bool `json:"heldOut,omitempty"`
	// ModelUse is what models were asked; nil for nothing.
	ModelUse *payload.ModelUse `json:"modelUse,omitempty"`
	// Unanswered reports whether the gateway told of a request that got no answer.
	// It does not begin a run that was removed.
	Unanswered bool `json:"unanswered,omitempty"`
}

// Call is a finished tool call (after_tool_call).
type Call struct {
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Params     json.RawMessage `json:"params,omitempty"`
	Result     string          `json:"result,omitempty"` // "" when the call failed
	Error      string          `json:"error,omitempty"`  // "" when it did not
	DurationMs float64         `json:"durationMs"`
	Skill      *Skill          `json:"skill,omitempty"` // set when the call read a skill
}

// Skill is a SKILL.md that the agent has read or that a hint named.
type Skill struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Same reports whether both are the same skill, as [payload.Skill.Same] does.
func (s Skill) Same(o Skill) bool {
	return payload.Skill{Name: s.Name, Path: s.Path}.Same(payload.Skill{Name: o.Name, Path: o.Path})
}

// End is the end of one attempt of a run (agent_end).
type End struct {
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Feedback is a person's verdict on the hint of a run (feedback).
type Feedback struct {
	// Verdict is "right" or "wrong".
	Verdict string `json:"verdict"`
	// Intent is the id that would have been right; "" when the person named none.
	Intent string `json:"intent,omitempty"`
	// By is the person; "" when unknown.
	By string `json:"by,omitempty"`
}

// Named returns the intent that would have been right; "" if the person named none. One
// that is named beside "right" says nothing.
func (f *Feedback) Named() string {
	if f.Verdict == payload.VerdictRight {
		return ""
	}
	return f.Intent
}

// Close is the end of a session (session_end).
type Close struct {
	Reason string `json:"reason"`
}
