package store

import (
	"cmp"
	"encoding/json"
	"time"

	"intenthint/payload"
)

// Turn is one agent run for one user message, as stored in a session file and
// in a line of .history.jsonl (contract §8). The fields from Begin on are what
// the fold needs to be independent of order.
type Turn struct {
	// RunID is the run's id; if the Begin has none, the id of its event.
	RunID string `json:"runId"`
	// Input is the first prompt of the run.
	Input string `json:"input"`
	// Message is what the user wrote if it differs from the prompt; else "".
	Message    string  `json:"message,omitempty"`
	Intent     Intent  `json:"intent"`
	SkillsUsed []Skill `json:"skillsUsed"`
	// SkillsHinted are the skills that the turn's hint named with their paths.
	SkillsHinted []HintedSkill `json:"skillsHinted,omitempty"`
	ToolCalls    []ToolCall    `json:"toolCalls"`
	Result       string        `json:"result,omitempty"`
	Error        string        `json:"error,omitempty"`
	Timestamps   Timestamps    `json:"timestamps"`
	// Feedback is the latest verdict of a person on the hint.
	Feedback *Judgement `json:"feedback,omitempty"`

	// ModelUse is what each Begin asked of models, in order: a retry after a
	// failure asks again. Begins that asked no model are left out. Turns recorded
	// before the field existed have none.
	ModelUse []AskedModels `json:"modelUse,omitempty"`

	// AgentUse is what the agent asked of its own model, an entry for each event, in
	// order; none if the gateway does not tell.
	AgentUse []AgentUsed `json:"agentUse,omitempty"`

	// Unanswered are when the requests of the run were sent that the gateway got no
	// answer to, in Unix milliseconds, each once, the earliest first. A hint of such a
	// request was late: it was not given.
	Unanswered []int64 `json:"unanswered,omitempty"`

	// Begin is the least of the Begin facts.
	Begin Key `json:"begin"`
	// Classified is the fact that gave Intent: the least with a result.
	Classified *Key `json:"classified,omitempty"`
	// End is the fact that gave Result and Error: the greatest.
	End *Mark `json:"end,omitempty"`
	// Superseded are earlier ends. One counts again if End moves to a turn that
	// is later found to have begun in between.
	Superseded []Attempt `json:"superseded,omitempty"`
}

// AskedModels is what one Begin asked of models, and the key of that Begin.
type AskedModels struct {
	payload.ModelUse
	Key
}

// AgentUsed is what one event tells of the agent's model, and the key of that event.
type AgentUsed struct {
	payload.AgentUse
	Key
}

// Asked sums up what the turn asked of models. For a turn recorded before
// ModelUse existed, it is taken from the classification.
func (t *Turn) Asked() (out payload.ModelUse) {
	for _, u := range t.ModelUse {
		out.Calls += u.Calls
		out.Failed += u.Failed
		out.In += u.In
		out.Out += u.Out
	}
	if r := t.Intent.Result; r != nil && len(t.ModelUse) == 0 {
		out.Calls = r.ModelCalls
		if r.Tokens != nil {
			out.Tokens = *r.Tokens
		}
	}
	return out
}

// HintedSkill is a skill that a hint named.
type HintedSkill struct {
	Skill
	// Used reports whether the turn has read the skill's file.
	Used bool `json:"used"`
}

// Intent is the input of the classifier, and its answer.
type Intent struct {
	// Input is the conversation before the turn's message, oldest first.
	Input []payload.Turn `json:"input"`
	// Earlier is the number of the session's last messages before the turn that
	// the classifier was given in addition to Input, which then has no user
	// messages.
	Earlier int `json:"earlier,omitempty"`
	// Result is nil when nothing could be classified.
	Result *payload.Classification `json:"result,omitempty"`
	// Skip is why there was no hint (Hint-Skip, or [SkipLate]); "" when there was one,
	// when no hint was requested, or when the turn predates the field.
	Skip string `json:"skip,omitempty"`
	// HeldOut reports whether the session was held out (HINT_HOLDOUT); nil when
	// there was no holdout.
	HeldOut *bool `json:"heldOut,omitempty"`
}

// SkipLate is the Skip of a turn whose hint came too late for the gateway (contract §8).
const SkipLate = "late"

// ToolCall is one finished call of a tool. Calls stand in the order of their
// (TS, EventID).
type ToolCall struct {
	Call
	EventID string `json:"eventId"`
	TS      int64  `json:"ts"`
	// Loose marks a call without a run id: it belongs to the latest turn that
	// began at or before TS.
	Loose bool `json:"loose,omitempty"`
}

func (c *ToolCall) key() Key { return Key{TS: c.TS, ID: c.EventID} }

// Timestamps are RFC 3339 in UTC with milliseconds, by the gateway's clock.
type Timestamps struct {
	Start string `json:"start"`
	End   string `json:"end,omitempty"`
}

// Mark identifies the fact that ended an attempt.
type Mark struct {
	TS    int64  `json:"ts"`
	ID    string `json:"id"`
	Loose bool   `json:"loose,omitempty"`
}

func (m Mark) key() Key { return Key{TS: m.TS, ID: m.ID} }

// Attempt is the end of one attempt of a run.
type Attempt struct {
	Mark
	End
}

// UserMessage returns what the user asks: the message, else the input.
func (t *Turn) UserMessage() string { return cmp.Or(t.Message, t.Input) }

// Judgement is feedback on a turn and the fact that it came from.
type Judgement struct {
	Feedback
	// At is RFC 3339 in UTC with milliseconds, by the publisher's clock.
	At string `json:"at"`
	Key
}

// DecodeTurn decodes a turn from a session file or a line of .history.jsonl.
func DecodeTurn(raw []byte) (*Turn, error) {
	t := &Turn{}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, shapeError(err)
	}
	if t.Begin == (Key{}) {
		// A file written by another program has only the displayed time.
		start, err := time.Parse(time.RFC3339, t.Timestamps.Start)
		if err != nil {
			return nil, shapeError(err)
		}
		t.Begin.TS = start.UnixMilli()
	}
	if f := t.Feedback; f != nil && f.Key == (Key{}) {
		at, err := time.Parse(time.RFC3339, f.At)
		if err != nil {
			return nil, shapeError(err)
		}
		f.TS = at.UnixMilli()
	}
	if t.SkillsUsed == nil {
		t.SkillsUsed = []Skill{}
	}
	if t.ToolCalls == nil {
		t.ToolCalls = []ToolCall{}
	}
	if t.Intent.Input == nil {
		t.Intent.Input = []payload.Turn{}
	}
	return t, nil
}
