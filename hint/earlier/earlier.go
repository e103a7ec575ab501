// Package earlier remembers the user's last messages in each session. A message
// that depends on the one before it then keeps its topic even if the request
// has no history: after a compaction, or from a gateway that sends none.
package earlier

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/conversation"
	"intenthint/payload"
	"intenthint/subjects"
)

// MaxAge is how long a message counts: long enough for hours of work with a
// compaction in between, but not overnight. A starting process reads the turns
// of that time.
const MaxAge = 4 * time.Hour

// maxMessages is how many messages of a session are kept: as many as the local
// classifier looks at (maxLookBack there).
const maxMessages = 5

const (
	// maxSessions bounds the sessions that are remembered, at about 250 bytes each
	// plus their texts. A message of a forgotten session is classified without
	// earlier ones.
	maxSessions = 16384
	// maxBytes bounds the texts of all sessions: on average 100 bytes per message,
	// and most messages are shorter. A single text has at most 2,015 bytes
	// ([conversation.Earlier]).
	maxBytes = 8 << 20
)

// Resets are the hooks after which a session begins anew. A compaction is not one of
// them: the user continues the conversation.
var Resets = []string{subjects.HookSessionStart, subjects.HookSessionEnd}

// Sessions remembers the last messages of sessions. It is safe for concurrent use.
type Sessions struct {
	mu    sync.Mutex
	cache *lru.Cache[string, known]
	// bytes is the size of all texts, room its limit.
	bytes, room int
}

// known is what is remembered of a session. Times are in Unix milliseconds.
type known struct {
	said  [maxMessages]message // the first n, in the order of their times
	n     int
	reset int64 // when the session began anew
}

// message is what the user said in a turn that began at ts.
type message struct {
	ts   int64
	run  uint64 // the turn's run
	text string
}

// New returns an empty memory.
func New() *Sessions { return newSessions(maxSessions, maxBytes) }

func newSessions(sessions, room int) *Sessions {
	s := &Sessions{room: room}
	// It fails only for a size that is not positive.
	s.cache, _ = lru.NewWithEvict(sessions, func(_ string, k known) { s.bytes -= k.size() })
	return s
}

var seed = maphash.MakeSeed()

// Before returns up to limit messages of a session, oldest first, from before
// its turn of a run that begins at ts; nil for none.
func (s *Sessions) Before(session, run string, ts int64, limit int) []payload.Turn {
	s.mu.Lock()
	k, _ := s.cache.Get(session)
	s.mu.Unlock()
	said := k.said[:k.n]
	if i := indexOf(said, run); i >= 0 { // this turn, requested again
		said = said[:i]
	}
	said = said[since(said, ts-MaxAge.Milliseconds()):]
	said = said[max(0, len(said)-limit):]
	if len(said) == 0 {
		return nil
	}
	turns := make([]payload.Turn, len(said))
	for i, m := range said {
		turns[i] = payload.Turn{Role: payload.RoleUser, Text: m.text}
	}
	return turns
}

// Add remembers a cleaned message, that of the turn of a run that began at ts.
// A message that is already known, or from before a reset, is ignored.
func (s *Sessions) Add(session, run string, ts int64, text string) {
	if session == "" || text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.cache.Get(session)
	if ts < k.reset || indexOf(k.said[:k.n], run) >= 0 {
		return
	}
	size := k.size()
	at := since(k.said[:k.n], ts+1)
	if k.n == maxMessages {
		if at == 0 {
			return
		}
		at--
		copy(k.said[:at], k.said[1:])
	} else {
		copy(k.said[at+1:], k.said[at:k.n])
		k.n++
	}
	k.said[at] = message{ts, maphash.String(seed, run), strings.Clone(conversation.Earlier(text))}
	s.put(session, k, size)
}

// Reset forgets what a session said before ts.
func (s *Sessions) Reset(session string, ts int64) {
	if session == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.cache.Get(session)
	if ts <= k.reset {
		return
	}
	now := known{reset: ts}
	now.n = copy(now.said[:], k.said[since(k.said[:k.n], ts):k.n])
	s.put(session, now, k.size())
}

// put replaces what is remembered of a session, whose texts had size bytes
// before. The lock is held.
func (s *Sessions) put(session string, now known, size int) {
	s.bytes += now.size() - size
	s.cache.Add(session, now)
	for s.bytes > s.room {
		s.cache.RemoveOldest()
	}
}

// size returns the size of the texts in bytes.
func (k *known) size() (n int) {
	for _, m := range k.said[:k.n] {
		n += len(m.text)
	}
	return n
}

// since returns the index of the first message that is not older than ts.
func since(said []message, ts int64) int {
	for i, m := range said {
		if m.ts >= ts {
			return i
		}
	}
	return len(said)
}

// indexOf returns the index of a run's message, -1 if there is none.
func indexOf(said []message, run string) int {
	h := maphash.String(seed, run)
	return slices.IndexFunc(said, func(m message) bool { return m.run == h })
}
