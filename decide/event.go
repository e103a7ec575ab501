package decide

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/payload"
	"intenthint/subjects"
)

// Decided is the event of an answer (contract §15).
type Decided struct {
	// ID is the rubric, a hyphen, and what makes it unique.
	ID     string `json:"id"`
	Agent  string `json:"agent"`
	Rubric string `json:"rubric"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	// Answer is the likeliest label: of a score the number of the level, of a boolean
	// "true" or "false".
	Answer        string             `json:"answer"`
	Probabilities map[string]float64 `json:"probabilities"`
	Source        Source             `json:"source"`
	Model         string             `json:"model"`
	// Took is the time until the answer was there, in milliseconds.
	Took   float64         `json:"took"`
	Tokens *payload.Tokens `json:"tokens,omitempty"`
	// Text is that of the state, as Record has it: redacted and cut, a hash, or "".
	Text   string `json:"text,omitempty"`
	Record string `json:"record,omitempty"`
	// Silent is what the student would have answered; nil without one, and for its own
	// answers.
	Silent *Silent `json:"silent,omitempty"`
	// Late is set for an answer that came after the caller's time. It was not given.
	Late bool `json:"late,omitempty"`
	// Check is the id of the student's decision that this answer of the teacher checks,
	// "" for none. It was not given either.
	Check string `json:"check,omitempty"`

	// TS is the time of the event, in Unix milliseconds.
	TS int64 `json:"-"`
}

// Silent is an answer of the student that was not given.
type Silent struct {
	Answer      string  `json:"answer"`
	Probability float64 `json:"probability"`
}

// Given reports whether somebody got the answer.
func (d *Decided) Given() bool { return !d.Late && d.Check == "" }

// newID returns an id for a decision about a rubric.
func newID(rubric string) string { return rubric + "-" + nuid.Next() }

// RubricOf returns the rubric of a decision's id; ok is false for another text.
func RubricOf(id string) (rubric string, ok bool) {
	rubric, rest, ok := strings.Cut(id, "-")
	other := strings.ContainsFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	return rubric, ok && rest != "" && len(rest) <= maxUnique && !other && ValidRubric(rubric)
}

// maxUnique bounds what makes an id unique, in bytes; it has 22.
const maxUnique = 64

// encode makes the message of an event.
func (d *Decided) encode(prefix subjects.Prefix, at time.Time) (*nats.Msg, error) {
	event, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(payload.Envelope{
		Hook: subjects.HookDecided, Event: event, Ctx: payload.JSON(payload.Context{AgentID: d.Agent}), TS: at.UnixMilli(), ID: d.ID,
	})
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{Subject: prefix.Event(subjects.HookDecided, d.Agent, d.Rubric), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderMsgID, d.ID)
	return m, nil
}

// DecodeDecided decodes a message of the event stream. Errors wrap
// [payload.ErrInvalid].
func DecodeDecided(msgID string, data []byte) (d Decided, err error) {
	env, err := payload.DecodeEvent(subjects.HookDecided, msgID, data)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(env.Event, &d); err != nil {
		return Decided{}, fmt.Errorf("%w: %w", payload.ErrInvalid, err)
	}
	d.TS = env.TS
	if rubric, ok := RubricOf(d.ID); !ok || rubric != d.Rubric {
		return Decided{}, fmt.Errorf("%w: id is not that of a decision about the rubric", payload.ErrInvalid)
	}
	return d, nil
}
