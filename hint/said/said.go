// Package said knows which hint each session was given last, so that it is not
// said again on every turn (contract §6): a hint changes the history that the
// gateway sends to the model, and so costs the provider's prompt cache.
package said

import (
	"hash/fnv"
	"strconv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/intents"
	"intenthint/payload"
	"intenthint/subjects"
)

// Repeat is when a hint that the session knows is said again (HINT_REPEAT).
type Repeat string

// Values of [Repeat].
const (
	Changed Repeat = "changed" // when it has changed, or after a number of turns
	Always  Repeat = "always"  // on every turn
)

// Rule is when a hint is said again.
type Rule struct {
	Repeat Repeat
	// After is the number of turns after which a hint is said again, 0 for never
	// (HINT_REPEAT_AFTER).
	After int
}

// Known reports whether a session knows a hint, so that it need not be said. last
// is what it was given last, as of the turn before; nil for nothing. A full hint is
// not known from a keyword's own hint, which holds less.
func (r Rule) Known(last *payload.LastHint, now payload.LastHint) bool {
	if r.Repeat == Always || last == nil || now.Full && !last.Full {
		return false
	}
	same := last.Intent == now.Intent && last.Complexity == now.Complexity && last.Text == now.Text
	return same && (r.After == 0 || last.Turns < r.After)
}

// Told reports whether a session knows the prompt of a hint's intent, so that a
// brief hint says what is new: another complexity (contract §6).
func (r Rule) Told(last *payload.LastHint, now payload.LastHint) bool {
	return last != nil && last.Full && r.Known(last, payload.LastHint{Intent: now.Intent, Complexity: last.Complexity, Text: now.Text})
}

// Of returns a hint as it is remembered, given on the present turn.
func Of(c payload.Classification, in intents.Intent) payload.LastHint {
	sum := fnv.New64a()
	for _, s := range []string{in.Name, in.Prompt, in.Fastpath.Hint} {
		_, _ = sum.Write([]byte(s))
		_, _ = sum.Write([]byte{0})
	}
	return payload.LastHint{Intent: in.ID, Complexity: c.Complexity, Text: strconv.FormatUint(sum.Sum64(), 36)}
}

// next returns what a session was given last, after a turn. given is that turn's
// hint, nil for none.
func next(last, given *payload.LastHint) *payload.LastHint {
	switch {
	case given != nil:
		return given
	case last == nil:
		return nil
	}
	next := *last
	next.Turns++
	return &next
}

// Resets are the hooks after which a session is told again: what was said may be
// gone from the conversation.
var Resets = []string{subjects.HookBeforeCompaction, subjects.HookAfterCompaction, subjects.HookSessionStart, subjects.HookSessionEnd}

// Signals are the hooks whose events change what a session knows: [Resets], and a
// request whose answer did not arrive.
var Signals = append([]string{subjects.HookBeforePromptBuild}, Resets...)

// maxSessions bounds the sessions that are remembered, at some 200 bytes each. A
// session that was forgotten is told again.
const maxSessions = 16384

// Sessions remembers the last hints of sessions. It is safe for concurrent use.
type Sessions struct {
	mu    sync.Mutex
	cache *lru.Cache[string, known]
}

// known is what is known of a session. Times are in Unix milliseconds.
type known struct {
	last *payload.LastHint
	ts   int64 // of the turn that last is of
	// reset is when the session forgot all hints before.
	reset int64
	// lost is the turn whose answer did not arrive, 0 for none.
	lost int64
}

// New returns an empty memory.
func New() *Sessions {
	cache, _ := lru.New[string, known](maxSessions) // fails only for a size that is not positive
	return &Sessions{cache: cache}
}

// Last returns the hint that a session was given last, nil for none or for a
// session that is not known.
func (s *Sessions) Last(session string) *payload.LastHint {
	k, _ := s.cache.Get(session)
	return k.current()
}

// current returns the hint that the session still knows. One that was given before
// a reset does not count, even if the reset is heard of after later turns; nor does
// one that did not arrive.
func (k known) current() *payload.LastHint {
	if k.last == nil || k.last.At <= k.reset || k.last.At == k.lost {
		return nil
	}
	return k.last
}

// Begin takes in a turn of this process that begins at ts, with the hint that it
// is given, nil for none. It returns what the session was given last. A hint is
// given after what is known by then, whatever the clocks say.
func (s *Sessions) Begin(session string, ts int64, given *payload.LastHint) *payload.LastHint {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.cache.Get(session)
	if given != nil {
		now := *given
		now.At = max(ts, k.reset+1)
		given = &now
	}
	k.last, k.ts = next(k.current(), given), max(k.ts, ts)
	s.cache.Add(session, k)
	return k.last
}

// Learn takes in what a session was given last, after the turn that began at ts.
// What is older than what is known is left out.
func (s *Sessions) Learn(session string, ts int64, last *payload.LastHint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.cache.Get(session); session != "" && (!ok || ts >= k.ts) {
		k.last, k.ts = last, ts
		s.cache.Add(session, k)
	}
}

// Reset forgets the hint that a session was given at ts or before.
func (s *Sessions) Reset(session string, ts int64) {
	s.change(session, func(k *known) { k.reset = max(k.reset, ts) })
}

// LastReset returns when a session forgot its hints last, in Unix milliseconds; 0
// when that is not known.
func (s *Sessions) LastReset(session string) int64 {
	k, _ := s.cache.Get(session)
	return k.reset
}

// Lost forgets the hint of the turn that began at ts: its answer did not arrive.
func (s *Sessions) Lost(session string, ts int64) {
	s.change(session, func(k *known) { k.lost = ts })
}

func (s *Sessions) change(session string, do func(k *known)) {
	if session == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.cache.Get(session)
	do(&k)
	s.cache.Add(session, k)
}
