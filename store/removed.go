package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// A gateway may report late that a request got no answer. Such an event must not
// begin a run again that was removed, so a store keeps the names of the runs that
// [Remover] removed, as hashes.

// ErrNotRecorded reports a session that [Remover] removed without keeping the names of
// all of its runs.
var ErrNotRecorded = errors.New("session removed, but late events may begin its runs again")

// RemovedRun is the name under which a store keeps a run of a removed session. It
// reveals neither; with the run "" it names the session.
func RemovedRun(token, run string) string {
	sum := sha256.Sum256([]byte(token + "\x00" + strings.ToValidUTF8(run, "\uFFFD")))
	return hex.EncodeToString(sum[:8])
}

// RemovedRuns returns the names of the runs in a session's document, which may be
// empty, and in its retired turns. Those in unreadable data are left out.
func RemovedRuns(token string, document []byte, retired []json.RawMessage) (names []string) {
	if doc, err := Decode(document); err == nil {
		for _, h := range doc.turns {
			names = append(names, RemovedRun(token, h.run))
		}
	}
	for _, raw := range retired {
		if turn, err := DecodeTurn(raw); err == nil {
			names = append(names, RemovedRun(token, turn.RunID))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WithoutRemoved leaves out requests without an answer whose run is among the
// removed ones. removed is called only if there is such a request, which is rare.
func WithoutRemoved(token string, facts []Fact, removed func() (names []string, err error)) ([]Fact, error) {
	unanswered := func(f Fact) bool { return f.Begin != nil && f.Begin.Unanswered }
	if !slices.ContainsFunc(facts, unanswered) {
		return facts, nil
	}
	names, err := removed()
	if err != nil || len(names) == 0 {
		return facts, err
	}
	return slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool {
		return unanswered(f) && slices.Contains(names, RemovedRun(token, f.run()))
	}), nil
}
