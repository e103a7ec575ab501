package hint

import (
	"crypto/sha256"
	"encoding/binary"

	"intenthint/subjects"
)

// Holdout is the share of sessions, 0–1, that get no hint, so that what hints do
// can be measured (HINT_HOLDOUT).
type Holdout float64

// Holds reports whether a session, its id or key, is held out. It is the same in
// every process and at any time; with a greater share those of a lesser one are
// held out too. What has no session is not held out.
func (h Holdout) Holds(session string) bool {
	if h <= 0 || session == "" {
		return false
	}
	sum := sha256.Sum256([]byte("holdout " + subjects.Name(session)))
	const bits = 53 // of a float64
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-bits)) < float64(h)*(1<<bits)
}

// of is what is recorded of a session: nil while none is held out.
func (h Holdout) of(session string) *bool {
	if h <= 0 {
		return nil
	}
	return new(h.Holds(session))
}
