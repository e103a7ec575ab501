package store

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	"intenthint/payload"
)

// Turn is one agent run for one user message, as it stands in a session file
// and in a line of .history.jsonl (contract §8). The fields from Begin on are
// what the fold must remember to be independent of order.
type Turn struct {
	// RunID is the run's id; a turn whose beginning had none bears the id of
	// that event.
	RunID      string     `json:"runId"`
	Input      string     `json:"input"`
	Intent     Intent     `json:"intent"`
	SkillsUsed []Skill    `json:"skillsUsed"`
	ToolCalls  []ToolCall `json:"toolCalls"`
	Result     string     `json:"result,omitempty"`
	Error      string     `json:"error,omitempty"`
	Timestamps Timestamps `json:"timestamps"`

	// Begin is the least of the facts that began the turn.
	Begin Key `json:"begin"`
	// Classified is the fact that gave Intent: the least with a result.
	Classified *Key `json:"classified,omitempty"`
	// End is the fact that gave Result and Error: the greatest.
	End *Mark `json:"end,omitempty"`
	// Superseded are earlier ends that count again when End moves to a turn
	// that turns out to have begun in between.
	Superseded []Attempt `json:"superseded,omitempty"`
}

// Intent is what was asked of the classifier, and its answer.
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
	// Loose marks a call that came without a run id: it belongs to the latest
	// turn that began at or before TS, whichever that is.
	Loose bool `json:"loose,omitempty"`
}

// Timestamps are RFC 3339 in UTC with milliseconds, by the gateway's clock.
type Timestamps struct {
	Start string `json:"start"`
	End   string `json:"end,omitempty"`
}

// Mark names the fact that ended an attempt.
type Mark struct {
	TS    int64  `json:"ts"`
	ID    string `json:"id"`
	Loose bool   `json:"loose,omitempty"`
}

// Attempt is the end of one attempt of a run.
type Attempt struct {
	Mark
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (m Mark) key() Key { return Key{TS: m.TS, ID: m.ID} }

func newTurn(run string, key Key, b Begin) *Turn {
	t := &Turn{RunID: run, SkillsUsed: []Skill{}, ToolCalls: []ToolCall{}, Begin: key}
	t.Input = b.Input
	t.Timestamps.Start = timestamp(key.TS)
	t.Intent.Input = conversation(b)
	t.classify(key, b)
	return t
}

// begin merges one more beginning of the run: a retry, or one that was late.
func (t *Turn) begin(key Key, b Begin) (changed bool) {
	if key.Before(t.Begin) {
		t.Begin, t.Input, t.Timestamps.Start = key, b.Input, timestamp(key.TS)
		if t.Classified == nil {
			t.Intent.Input = conversation(b)
		}
		changed = true
	}
	return t.classify(key, b) || changed
}

func (t *Turn) classify(key Key, b Begin) bool {
	if b.Result == nil || t.Classified != nil && !key.Before(*t.Classified) {
		return false
	}
	t.Intent = Intent{Input: conversation(b), Result: b.Result}
	t.Classified = &key
	return true
}

// add puts a Call or an End into the turn, once.
func (t *Turn) add(f Fact) (changed bool) {
	switch {
	case f.Call != nil:
		return t.call(f)
	case f.End != nil:
		return t.end(Attempt{
			Mark:   Mark{TS: f.TS, ID: f.ID, Loose: f.RunID == ""},
			Result: f.End.Result,
			Error:  f.End.Error,
		})
	}
	return false
}

func (t *Turn) call(f Fact) bool {
	if slices.ContainsFunc(t.ToolCalls, func(c ToolCall) bool { return c.EventID == f.ID }) {
		return false
	}
	c := ToolCall{
		ToolCallID: f.Call.ToolCallID,
		Name:       f.Call.Name,
		Params:     f.Call.Params,
		Result:     f.Call.Result,
		Error:      f.Call.Error,
		DurationMs: f.Call.DurationMs,
		EventID:    f.ID,
		TS:         f.TS,
		Loose:      f.RunID == "",
		Skill:      f.Call.Skill,
	}
	if c.Error != "" {
		c.Result = ""
	}
	i, _ := slices.BinarySearchFunc(t.ToolCalls, f.Key(), func(c ToolCall, k Key) int { return c.key().Compare(k) })
	t.ToolCalls = slices.Insert(t.ToolCalls, i, c)
	if c.Skill != nil {
		t.listSkills()
	}
	return true
}

func (c *ToolCall) key() Key { return Key{TS: c.TS, ID: c.EventID} }

func (t *Turn) listSkills() {
	t.SkillsUsed = []Skill{}
	for i := range t.ToolCalls {
		s := t.ToolCalls[i].Skill
		if s != nil && !slices.ContainsFunc(t.SkillsUsed, func(o Skill) bool { return o.Name == s.Name }) {
			t.SkillsUsed = append(t.SkillsUsed, *s)
		}
	}
}

func (t *Turn) end(a Attempt) bool {
	all := t.attempts()
	for _, have := range all {
		// Of the ends that name the run only the greatest is kept.
		if have.ID == a.ID || !a.Loose && !have.Loose && a.key().Before(have.key()) {
			return false
		}
	}
	t.setAttempts(append(all, a))
	return true
}

// attempts returns the ends that the turn holds.
func (t *Turn) attempts() []Attempt {
	all := slices.Clone(t.Superseded)
	if t.End != nil {
		all = append(all, Attempt{Mark: *t.End, Result: t.Result, Error: t.Error})
	}
	return all
}

// setAttempts keeps what may count one day: every end without a run id, which
// may move to another turn, and the greatest of those that name the run.
func (t *Turn) setAttempts(all []Attempt) {
	slices.SortFunc(all, func(a, b Attempt) int { return a.key().Compare(b.key()) })
	kept := make([]Attempt, 0, len(all))
	for i, a := range all {
		if a.Loose || !slices.ContainsFunc(all[i+1:], func(b Attempt) bool { return !b.Loose }) {
			kept = append(kept, a)
		}
	}
	t.End, t.Superseded, t.Result, t.Error, t.Timestamps.End = nil, nil, "", "", ""
	if len(kept) == 0 {
		return
	}
	last := kept[len(kept)-1]
	t.End, t.Result, t.Error, t.Timestamps.End = &last.Mark, last.Result, last.Error, timestamp(last.TS)
	if len(kept) > 1 {
		t.Superseded = kept[:len(kept)-1]
	}
}

// takeLoose removes the facts without a run id from ts on and returns them.
func (t *Turn) takeLoose(ts int64) []Fact {
	var out []Fact
	skills := false
	t.ToolCalls = slices.DeleteFunc(t.ToolCalls, func(c ToolCall) bool {
		if !c.Loose || c.TS < ts {
			return false
		}
		skills = skills || c.Skill != nil
		out = append(out, Fact{ID: c.EventID, TS: c.TS, Call: &Call{
			ToolCallID: c.ToolCallID,
			Name:       c.Name,
			Params:     c.Params,
			Result:     c.Result,
			Error:      c.Error,
			DurationMs: c.DurationMs,
			Skill:      c.Skill,
		}})
		return true
	})
	if skills {
		t.listSkills()
	}
	all := t.attempts()
	stay := slices.DeleteFunc(slices.Clone(all), func(a Attempt) bool { return a.Loose && a.TS >= ts })
	if len(stay) == len(all) {
		return out
	}
	for _, a := range all {
		if a.Loose && a.TS >= ts {
			out = append(out, Fact{ID: a.ID, TS: a.TS, End: &End{Result: a.Result, Error: a.Error}})
		}
	}
	t.setAttempts(stay)
	return out
}

// loose says whether the turn holds facts without a run id.
func (t *Turn) loose() bool {
	return t.End != nil && t.End.Loose ||
		slices.ContainsFunc(t.Superseded, func(a Attempt) bool { return a.Loose }) ||
		slices.ContainsFunc(t.ToolCalls, func(c ToolCall) bool { return c.Loose })
}

func conversation(b Begin) []payload.Turn { return append([]payload.Turn{}, b.Conversation...) }

// timestamp renders Unix milliseconds. RFC 3339 knows the years 0 to 9999
// only; clocks beyond them are shown at the edge.
func timestamp(ms int64) string {
	const first, last = -62167219200000, 253402300799999
	return time.UnixMilli(min(max(ms, first), last)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// finite replaces what JSON cannot express.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// maxDepth bounds the nesting of tool parameters: a document nests them deeper
// than the event did, and decoders have limits.
const maxDepth = 1000

// safeJSON returns raw compact and valid, nil when it is null or no JSON, and
// as a string when it is nested too deep to stand in a document.
func safeJSON(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) || string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if depth(raw) > maxDepth {
		text, err := encode(string(raw))
		if err != nil {
			return nil
		}
		return text
	}
	var b bytes.Buffer
	b.Grow(len(raw))
	if json.Compact(&b, raw) != nil {
		return nil
	}
	if b.Len() < b.Cap()/2 {
		return bytes.Clone(b.Bytes()) // without the room of the white space
	}
	return b.Bytes()
}

func depth(raw []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// scratch are buffers to encode in. What is encoded is kept for long: it is
// copied to where it takes no more room than it needs.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encode is JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	b, _ := scratch.Get().(*bytes.Buffer)
	defer scratch.Put(b)
	b.Reset()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// DecodeTurn decodes a turn as it stands in a session file or in a line of
// .history.jsonl.
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
