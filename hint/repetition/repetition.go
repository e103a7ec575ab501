// Package repetition remembers the last hint of each session, so that it is not
// repeated on every turn (contract §6): a hint changes the history that the
// gateway sends to the model, and so invalidates the provider's prompt cache.
package repetition

import (
	"hash/fnv"
	"slices"
	"strconv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/intents"
	"intenthint/payload"
	"intenthint/subjects"
)

// Repeat is when a hint that the session already knows is repeated
// (HINT_REPEAT).
type Repeat string

// Values of [Repeat].
const (
	Changed Repeat = "changed" // when it has changed, or after a number of turns
	Always  Repeat = "always"  // on every turn
)

// Rule is when a hint is repeated.
type Rule struct {
	Repeat Repeat
	// After is the number of turns after which a hint is repeated, 0 for never
	// (HINT_REPEAT_AFTER).
	After int
	// Budget is the size of a session's hints, in bytes, after which hints are brief
	// where the gateway keeps them; 0 for no limit (HINT_BUDGET).
	Budget int
}

// Known reports whether a session already knows a hint, so that it need not be
// repeated. last is the session's last hint, as of the previous turn; nil for
// none. After a keyword's own hint, which says less, the full hint is not
// known.
func (r Rule) Known(last *payload.LastHint, now payload.LastHint) bool {
	if r.Repeat == Always || last == nil || now.Full && !last.Full {
		return false
	}
	same := last.Intent == now.Intent && last.Complexity == now.Complexity && last.Text == now.Text
	return same && (r.After == 0 || last.Turns < r.After)
}

// Brief reports whether a hint is to be brief: the conversation holds the prompt of
// its intent already, or as many bytes of hints as it may (contract §6). own reports
// whether the hint says a keyword's own text instead of that prompt.
func (r Rule) Brief(kept payload.KeptHints, now payload.LastHint, own bool) bool {
	if r.Budget > 0 && kept.Bytes > r.Budget {
		return true
	}
	return !own && slices.ContainsFunc(kept.Prompts, func(p payload.KeptPrompt) bool { return p.Text == now.Text })
}

// Of returns the form in which a hint given on the present turn is remembered.
func Of(c payload.Classification, in intents.Intent) payload.LastHint {
	sum := fnv.New64a()
	texts := []string{in.Name, in.Prompt, in.Fastpath.Hint}
	if in.Complexity != "" {
		texts = append(texts, in.Complexity)
	}
	for _, s := range texts {
		_, _ = sum.Write([]byte(s))
		_, _ = sum.Write([]byte{0})
	}
	return payload.LastHint{Intent: in.ID, Complexity: c.Complexity, Text: strconv.FormatUint(sum.Sum64(), 36)}
}

// next returns the last hint of a session after a turn. given is that turn's
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

// Resets are the hooks after which a hint is repeated: the earlier one may be
// gone from the conversation.
var Resets = []string{subjects.HookBeforeCompaction, subjects.HookAfterCompaction, subjects.HookSessionStart, subjects.HookSessionEnd}

// Signals are the hooks whose events change what a session knows: [Resets], and a
// request whose answer did not arrive.
var Signals = append([]string{subjects.HookBeforePromptBuild}, Resets...)

// maxSessions bounds the sessions that are remembered, at about 200 bytes each, and
// 40 for each kept prompt.
// A forgotten session is given its hint again.
const maxSessions = 16384

// Sessions remembers the last hints of sessions. It is safe for concurrent use.
type Sessions struct {
	mu    sync.Mutex
	cache *lru.Cache[string, known]
}

// known is what is remembered of a session. Times are in Unix milliseconds.
type known struct {
	last *payload.LastHint
	kept payload.KeptHints
	ts   int64 // of the turn of last
	// reset is when the session forgot all hints before, since when its gateway began
	// to keep hints.
	reset, since int64
	// lost is the turn whose answer did not arrive, 0 for none.
	lost int64
}

// New returns an empty memory.
func New() *Sessions {
	cache, _ := lru.New[string, known](maxSessions) // fails only for a size that is not positive
	return &Sessions{cache: cache}
}

// Last returns the last hint of a session, nil for none or for an unknown
// session.
func (s *Sessions) Last(session string) *payload.LastHint {
	k, _ := s.cache.Get(session)
	return k.current()
}

// current returns the hint that the session still knows. A hint from before a
// reset does not count, even if the reset is reported after later turns; nor
// does a hint that did not arrive.
func (k known) current() *payload.LastHint {
	if k.last == nil || k.last.At <= k.reset || k.last.At == k.lost {
		return nil
	}
	return k.last
}

// Forgot reports whether a session no longer knows its last hint: it was lost
// through a compaction or the like, or because the answer did not arrive. It is
// false for a session that was given no hint.
func (s *Sessions) Forgot(session string) bool {
	k, _ := s.cache.Get(session)
	return k.last != nil && k.current() == nil
}

// Begin records a turn of this process that begins at ts, with its hint, nil
// for none. It returns the session's last hint after that. The new hint counts
// as later than everything known so far, whatever the clocks say.
func (s *Sessions) Begin(session string, ts int64, given *payload.LastHint) *payload.LastHint {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.cache.Get(session)
	if given != nil {
		now := *given
		now.At = max(ts, k.reset+1)
		given = &now
	}
	k.kept = k.standing() // a hint that was lost is no longer the last one below
	k.last, k.ts = next(k.current(), given), max(k.ts, ts)
	s.cache.Add(session, k)
	return k.last
}

// Learn records the last hint of a session after the turn that began at ts, and
// what its conversation holds; kept is nil if the turn tells nothing of that. Of
// anything older than what is known only the prompts count.
func (s *Sessions) Learn(session string, ts int64, last *payload.LastHint, kept *payload.KeptHints) {
	if session == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.cache.Get(session)
	newer := !ok || ts >= k.ts
	if newer {
		k.last, k.ts = last, ts
	}
	if kept != nil {
		if newer {
			k.kept.Bytes, k.kept.Since = kept.Bytes, kept.Since
		}
		for _, p := range kept.Prompts {
			k.kept.Prompts = with(k.kept.Prompts, p)
		}
	}
	if newer || kept != nil {
		s.cache.Add(session, k)
	}
}

// Reset forgets the hint that a session was given at ts or before.
func (s *Sessions) Reset(session string, ts int64) {
	s.change(session, func(k *known) { k.reset = max(k.reset, ts) })
}

// LastReset returns when a session last forgot its hints, in Unix milliseconds;
// 0 if unknown.
func (s *Sessions) LastReset(session string) int64 {
	k, _ := s.cache.Get(session)
	return k.reset
}

// Lost forgets the hint of the turn that began at ts: its answer did not arrive. It
// reports whether that hint is the session's last one, and was not yet forgotten.
func (s *Sessions) Lost(session string, ts int64) (late bool) {
	s.change(session, func(k *known) {
		// As Begin notes it: a reset may have the same time, or a later one by its clock.
		at := max(ts, k.reset+1)
		late = k.last != nil && k.last.At == at && k.lost != at
		k.lost = at
	})
	return late
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
