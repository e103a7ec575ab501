package store

import (
	"encoding/json"
	"time"

	"intenthint/payload"
)

// Turn is one agent run for one user message, as stored in a session file and
// in a line of .history.jsonl (contract §8). The fields from Begin on are what
// the fold needs to be independent of order.
type Turn struct {
	// RunID is the run's id; if the Begin has none, the id of its event.
	RunID      string     `json:"runId"`
	Input      string     `json:"input"`
	Intent     Intent     `json:"intent"`
	SkillsUsed []Skill    `json:"skillsUsed"`
	ToolCalls  []ToolCall `json:"toolCalls"`
	Result     string     `json:"result,omitempty"`
	Error      string     `json:"error,omitempty"`
	Timestamps Timestamps `json:"timestamps"`

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

// Intent is the input of the classifier, and its answer.
type Intent struct {
	// Input is the conversation before the turn's message, oldest first.
	Input []payload.Turn `json:"input"`
	// Result is nil when nothing could be classified.
	Result *payload.Classification `json:"result,omitempty"`
}

// ToolCall is one finished call of a tool. Calls stand in the order of their
// (TS, EventID).
type ToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Params     json.RawMessage `json:"params,omitempty"`
	Result     string          `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	DurationMs float64         `json:"durationMs"`
	Skill      *Skill          `json:"skill,omitempty"`

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
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// DecodeTurn decodes a turn from a session file or a line of .history.jsonl.
func DecodeTurn(raw []byte) (*Turn, error) {
	t := &Turn{}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, shapeError(err)
	}
	if t.Begin == (Key{}) {
		// A file from elsewhere knows only the time that it shows.
		start, err := time.Parse(time.RFC3339, t.Timestamps.Start)
		if err != nil {
			return nil, shapeError(err)
		}
		t.Begin.TS = start.UnixMilli()
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
