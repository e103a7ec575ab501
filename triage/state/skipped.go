package state

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"intenthint/subjects"
)

// skipped is the document of a group's skipped messages. Their texts are in the
// decisions.
type skipped struct {
	// Pending are the messages that no turn was told, oldest first.
	Pending []pending `json:"pending"`
	// Left counts the older messages that were left out of Pending.
	Left int `json:"left,omitempty"`
	// Delivered is what the last run was told.
	Delivered delivery `json:"told,omitzero"`
}

type pending struct {
	ID string `json:"id"`
	// At is when it was added, in Unix milliseconds.
	At int64 `json:"at"`
}

type delivery struct {
	Run string   `json:"run"`
	IDs []string `json:"ids"`
	// Request is the id of the request that got them, "" for one without an id.
	Request string    `json:"request,omitempty"`
	Was     []pending `json:"was,omitempty"` // as they were, for [Store.PutBack]
	// Left is how many older messages were left out, WasLeft those among them that
	// were not pending any more.
	Left    int `json:"left,omitempty"`
	WasLeft int `json:"wasLeft,omitempty"`
	// Again reports whether the run was retried and got the messages again.
	Again bool `json:"again,omitempty"`
}

// Turn is a request for the prompt of a run in a group.
type Turn struct {
	Group, Run string
	// Request is its id, which is also that of the event that it got no answer; ""
	// for none.
	Request string
}

const (
	skippedKey = "s."
	// MaxSkipped is how many skipped messages of a group are kept for the next
	// turn.
	MaxSkipped = 50
	// undecidedTime is how long a message may wait for its decision. An older one
	// belongs to a process that died, and the gateway has let it through.
	undecidedTime = time.Minute
	// parallelReads bounds the decisions that are read concurrently.
	parallelReads = 16
)

// Pend adds a message to the skipped ones of its group, before the decision to
// skip it is stored. Beyond [MaxSkipped] only the newest are kept.
func (s *Store) Pend(ctx context.Context, group, messageID string, now time.Time) error {
	return change(ctx, s.decisions, skippedKey+subjects.Name(group), func(doc *skipped) (bool, error) {
		if slices.ContainsFunc(doc.Pending, func(p pending) bool { return p.ID == messageID }) || slices.Contains(doc.Delivered.IDs, messageID) {
			return false, nil
		}
		doc.Pending = append(doc.Pending, pending{messageID, now.UnixMilli()})
		doc.leaveOut()
		return true, nil
	})
}

// leaveOut keeps the newest [MaxSkipped] messages.
func (doc *skipped) leaveOut() {
	if over := len(doc.Pending) - MaxSkipped; over > 0 {
		doc.Pending = doc.Pending[over:]
		doc.Left += over
	}
}

// Take returns the newest skipped messages of a turn's group that no run was told,
// at most most, oldest first, and records that the run was told them. The same run
// gets the same messages again, another run does not. Messages beyond most are
// never told; left is how many there are, among those beyond [MaxSkipped] also ones that
// were answered in the end. again reports whether the run was known; a run without an id
// is never known.
func (s *Store) Take(ctx context.Context, turn Turn, most int, now time.Time) (out []Decision, left int, again bool, err error) {
	err = change(ctx, s.decisions, skippedKey+subjects.Name(turn.Group), func(doc *skipped) (bool, error) {
		if again = turn.Run != "" && doc.Delivered.Run == turn.Run; again {
			out, _, err = s.resolve(ctx, turn.Group, ids(doc.Delivered.IDs), now)
			known := doc.Delivered.Again
			left = doc.Delivered.Left
			doc.Delivered.Again = true
			return !known, err
		}
		var undecided []pending
		out, undecided, err = s.resolve(ctx, turn.Group, doc.Pending, now)
		if err != nil {
			return false, err
		}
		if len(out) == 0 {
			changed := len(undecided) < len(doc.Pending)
			doc.Pending = undecided
			return changed, nil
		}
		over := max(0, len(out)-most)
		out, left = out[over:], doc.Left+over
		doc.Delivered = delivery{Run: turn.Run, Request: turn.Request, Left: left, WasLeft: doc.Left, Was: slices.DeleteFunc(doc.Pending, func(p pending) bool { return slices.Contains(undecided, p) })}
		for _, d := range out {
			doc.Delivered.IDs = append(doc.Delivered.IDs, d.MessageID)
		}
		doc.Pending, doc.Left = undecided, 0
		return true, nil
	})
	if err != nil {
		return nil, 0, again, err
	}
	return out, left, again, nil
}

func ids(list []string) []pending {
	out := make([]pending, len(list))
	for i, id := range list {
		out[i].ID = id
	}
	return out
}

// resolve returns the decisions of the messages that were skipped, oldest
// message first regardless of when they were decided, and the messages that may
// still be decided.
func (s *Store) resolve(ctx context.Context, group string, list []pending, now time.Time) (out []Decision, undecided []pending, err error) {
	found := make([]*Decision, len(list))
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(parallelReads)
	for i, p := range list {
		reading.Go(func() error {
			d, ok, err := s.Decision(ctx, group, p.ID)
			if ok {
				found[i] = &d
			}
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, nil, err
	}
	for i, d := range found {
		switch {
		case d == nil && now.Sub(time.UnixMilli(list[i].At)).Abs() < undecidedTime:
			undecided = append(undecided, list[i])
		case d != nil && d.Verdict == Skip:
			out = append(out, *d)
		}
	}
	slices.SortStableFunc(out, func(a, b Decision) int { return cmp.Compare(a.At, b.At) })
	return out, undecided, nil
}

// PutBack marks the messages told to a turn as untold, because it did not get them.
// It does nothing if another request of the same run was told them: a retry may have
// arrived.
func (s *Store) PutBack(ctx context.Context, turn Turn) error {
	return change(ctx, s.decisions, skippedKey+subjects.Name(turn.Group), func(doc *skipped) (bool, error) {
		if doc.Delivered.Run != turn.Run || doc.Delivered.Again || len(doc.Delivered.IDs) == 0 || doc.Delivered.Request != "" && doc.Delivered.Request != turn.Request {
			return false, nil
		}
		doc.Pending = append(slices.Clone(doc.Delivered.Was), doc.Pending...)
		doc.Left += doc.Delivered.WasLeft
		doc.leaveOut()
		doc.Delivered = delivery{}
		return true, nil
	})
}
