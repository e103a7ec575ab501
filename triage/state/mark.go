package state

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Mark is a person's verdict on a decision.
type Mark struct {
	Group     string `json:"group"`
	MessageID string `json:"messageId"`
	// Text is the text of the message; "" until the message is decided.
	Text string `json:"text"`
	// Verdict is [Respond] or [Skip].
	Verdict string `json:"verdict"`
	By      string `json:"by,omitempty"`
	// At is the time of the feedback in Unix milliseconds. The latest mark wins;
	// of two with the same time, the one with the greater ID.
	At int64  `json:"at"`
	ID string `json:"id,omitempty"` // of the event
	// Removed makes the mark a tombstone, so that redelivery of an older event
	// does not bring it back. A tombstone is never returned.
	Removed bool `json:"removed,omitempty"`
}

// MaxMarks bounds the marks that a process knows: the newest ones.
const MaxMarks = 2000

// Mark stores a person's mark, unless a later one is known.
func (s *Store) Mark(ctx context.Context, m Mark) error {
	return change(ctx, s.marks, tokens(m.Group, m.MessageID), func(known *Mark) (bool, error) {
		if known.MessageID != "" && compare(*known, m) >= 0 {
			return false, nil
		}
		m.Text = cmp.Or(m.Text, known.Text) // the decision may have expired
		*known = m
		return true, nil
	})
}

// Complete gives a mark that was made before the decision the text of the decision.
func (s *Store) Complete(ctx context.Context, d Decision) error {
	return change(ctx, s.marks, tokens(d.Group, d.MessageID), func(known *Mark) (bool, error) {
		if known.MessageID == "" || known.Removed || known.Text != "" || d.Text == "" {
			return false, nil
		}
		known.Text = d.Text
		return true, nil
	})
}

// Unmark removes a mark, and reports whether there was one. Only later feedback
// marks the message again.
func (s *Store) Unmark(ctx context.Context, group, messageID string, now time.Time) (removed bool, err error) {
	err = change(ctx, s.marks, tokens(group, messageID), func(known *Mark) (bool, error) {
		removed = known.MessageID != "" && !known.Removed
		if !removed {
			return false, nil
		}
		*known = Mark{Group: group, MessageID: messageID, At: max(now.UnixMilli(), known.At+1), Removed: true}
		return true, nil
	})
	return removed && err == nil, err
}

// Marks returns all marks, newest first.
func (s *Store) Marks(ctx context.Context) ([]Mark, error) {
	var out []Mark
	err := each(ctx, s.marks, ">", func(m Mark, _ time.Time) error {
		if !m.Removed {
			out = append(out, m)
		}
		return nil
	})
	sortMarks(out)
	return out, err
}

// compare orders marks by time.
func compare(a, b Mark) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) }

func sortMarks(marks []Mark) {
	slices.SortFunc(marks, func(a, b Mark) int {
		return cmp.Or(compare(b, a), cmp.Compare(a.Group, b.Group), cmp.Compare(a.MessageID, b.MessageID))
	})
}

// Follow calls use with the newest marks, at most [MaxMarks], newest first, and
// again after each change, until ctx ends. While the bucket is unreachable, the
// last marks stay in use.
func (s *Store) Follow(ctx context.Context, use func([]Mark), log *slog.Logger) {
	s.marks.Follow(ctx, func() (func(jetstream.KeyValueEntry), func()) {
		known := map[string]Mark{}
		return func(entry jetstream.KeyValueEntry) { learn(known, entry) }, func() { use(newest(known)) }
	}, log)
}

// learn applies a change to the known marks.
func learn(known map[string]Mark, entry jetstream.KeyValueEntry) {
	var m Mark
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &m) != nil || m.Removed {
		delete(known, entry.Key())
		return
	}
	known[entry.Key()] = m
	if len(known) > 2*MaxMarks {
		keep := newest(known)
		clear(known)
		for _, m := range keep {
			known[tokens(m.Group, m.MessageID)] = m
		}
	}
}

func newest(known map[string]Mark) []Mark {
	out := make([]Mark, 0, len(known))
	for _, m := range known {
		out = append(out, m)
	}
	sortMarks(out)
	return out[:min(len(out), MaxMarks)]
}
