package experience

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text"
)

// Status is the review status of an experience.
type Status string

// Statuses.
const (
	Pending  Status = "pending"  // waits for a person
	Approved Status = "approved" // is found by search
	Rejected Status = "rejected"
)

// Valid reports whether s is one of the statuses.
func (s Status) Valid() bool { return s == Pending || s == Approved || s == Rejected }

// Experience is one experience. Its JSON is that of contract §12; the fields
// with omitempty are additions to it.
type Experience struct {
	// ID is made by [ID]: 32 hex digits.
	ID string `json:"id"`
	// Task is what was to be done, Resource what was used for it (a tool, a file, a
	// page), Result how it went and what is worth knowing.
	Task     string `json:"task"`
	Resource string `json:"resource"`
	Result   string `json:"result"`
	// Confidence is the confidence of the model that extracted the experience,
	// 0–1; 1 for a submitted one.
	Confidence  float64 `json:"confidence"`
	Status      Status  `json:"status"`
	AgentID     string  `json:"agent_id"`
	SubmittedBy string  `json:"submitted_by"`
	SessionKey  string  `json:"session_key"`
	// CreatedAt is in UTC, in whole milliseconds.
	CreatedAt time.Time `json:"created_at"`

	// Seen counts how often the experience came, also in other words; 0 means
	// once.
	Seen int `json:"seen,omitempty"`
	// Flags are reasons why it waits for a person whatever the settings, such as
	// [FlagInjection].
	Flags []string `json:"flags,omitempty"`
	// DecidedAt and DecidedBy describe a person's last decision.
	DecidedAt time.Time `json:"decided_at,omitzero"`
	DecidedBy string    `json:"decided_by,omitempty"`
}

// Change is a change of the bucket of experiences.
type Change struct {
	// ID is the key.
	ID string
	// Revision is the bucket's revision, greater than those of all earlier changes.
	Revision uint64
	// Experience is the current experience, unless it was Removed.
	Experience Experience
	Removed    bool
}

// FlagInjection marks an experience that looks like a prompt injection.
const FlagInjection = "injection"

// Bounds of the texts, in characters. A whole experience stays well below the
// megabyte of a NATS message; anything longer is a document.
const (
	MaxTask       = 2_000
	MaxResource   = 2_000
	MaxResult     = 10_000
	maxAgentID    = 200
	maxSubmitter  = 200
	maxSessionKey = 1_000
	maxFlags      = 20
	maxFlag       = 100
)

// ErrInvalid reports an experience that violates the rules. Its text names the
// field and is meant for the sender.
var ErrInvalid = errors.New("invalid experience")

// ErrTooLong reports a text beyond its bound. It wraps [ErrInvalid].
var ErrTooLong = fmt.Errorf("%w: too long", ErrInvalid)

// Normal returns e in the form in which it is kept: valid UTF-8 without control
// characters other than tabs and line feeds, trimmed; names on one line; times in
// UTC and whole milliseconds. It is idempotent.
func (e Experience) Normal() Experience {
	e.Task, e.Resource, e.Result = clean(e.Task), clean(e.Resource), clean(e.Result)
	e.AgentID, e.SubmittedBy, e.SessionKey, e.DecidedBy = line(e.AgentID), line(e.SubmittedBy), line(e.SessionKey), line(e.DecidedBy)
	e.CreatedAt, e.DecidedAt = moment(e.CreatedAt), moment(e.DecidedAt)
	e.Flags = slices.Clone(e.Flags)
	for i, flag := range e.Flags {
		e.Flags[i] = line(flag)
	}
	e.Flags = slices.DeleteFunc(e.Flags, func(flag string) bool { return flag == "" })
	slices.Sort(e.Flags)
	if e.Flags = slices.Compact(e.Flags); len(e.Flags) == 0 {
		e.Flags = nil
	}
	return e
}

// Validate checks an experience in its normal form: task, resource and result are
// present, and nothing is longer than its bound. The error wraps [ErrInvalid].
// The id is not checked.
func (e Experience) Validate() error {
	if err := e.Measure(); err != nil {
		return err
	}
	for _, f := range [][2]string{{"task", e.Task}, {"resource", e.Resource}, {"result", e.Result}} {
		if text.Blank(f[1]) {
			return fmt.Errorf("%w: %s must not be blank", ErrInvalid, f[0])
		}
	}
	switch {
	case math.IsNaN(e.Confidence) || e.Confidence < 0 || e.Confidence > 1:
		return fmt.Errorf("%w: confidence must be 0–1", ErrInvalid)
	case !e.Status.Valid():
		return fmt.Errorf("%w: status must be pending, approved or rejected", ErrInvalid)
	case e.Seen < 0:
		return fmt.Errorf("%w: seen must not be negative", ErrInvalid)
	case len(e.Flags) > maxFlags || slices.ContainsFunc(e.Flags, func(flag string) bool { return tooLong(flag, maxFlag) }):
		return fmt.Errorf("%w: at most %d flags of at most %d characters are allowed", ErrInvalid, maxFlags, maxFlag)
	}
	return nil
}

// Measure checks the lengths alone, which is cheap for a text of any length. The
// error wraps [ErrTooLong].
func (e Experience) Measure() error {
	for _, f := range []struct {
		name, text string
		most       int
	}{
		{"task", e.Task, MaxTask},
		{"resource", e.Resource, MaxResource},
		{"result", e.Result, MaxResult},
		{"agent_id", e.AgentID, maxAgentID},
		{"submitted_by", e.SubmittedBy, maxSubmitter},
		{"session_key", e.SessionKey, maxSessionKey},
		{"decided_by", e.DecidedBy, maxSubmitter},
	} {
		if tooLong(f.text, f.most) {
			return fmt.Errorf("%w: %s must have at most %d characters", ErrTooLong, f.name, f.most)
		}
	}
	return nil
}

func tooLong(s string, most int) bool { return len(s) > most && utf8.RuneCountInString(s) > most }

// clean returns a text without control characters, trimmed.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// line returns a text on one line, without control characters and with white
// space folded.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}
