package hint

import (
	"crypto/sha256"
	"encoding/binary"

	"intenthint/subjects"
)

// Holdout is the share of sessions, 0–1, that get no hint, so that the effect
// of hints can be measured (HINT_HOLDOUT).
type Holdout float64

// Holds reports whether a session, given by id or key, is held out. The result
// is the same in every process and at any time. Raising the share keeps the
// sessions that were held out before. A turn without a session is not held out.
func (h Holdout) Holds(session string) bool {
	if h <= 0 || session == "" {
		return false
	}
	sum := sha256.Sum256([]byte("holdout " + subjects.Name(session)))
	const bits = 53 // of a float64
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-bits)) < float64(h)*(1<<bits)
}

// of returns what is recorded for a session; nil if there is no holdout.
func (h Holdout) of(session string) *bool {
	if h <= 0 {
		return nil
	}
	return new(h.Holds(session))
}
