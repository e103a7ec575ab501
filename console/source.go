package console

import (
	"context"
	"net/http"
	"time"

	"intenthint/intents"
	"intenthint/internal/events"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// Source is what the pages of turns, sessions, intents and dead letters read and change. Its functions may be called concurrently.
type Source struct {
	Sessions store.Reader
	// Follow calls yield with the turns that begin, of all consumers, until ctx or
	// the process ends or yield returns an error. The context of yield ends with
	// ctx and the process.
	Follow func(ctx context.Context, from From, yield func(context.Context, Begun) error) error
	// FollowMarks calls yield with people's marks on turns, as Follow does with
	// turns; nil if marks are not followed. A mark may come more than once.
	FollowMarks func(ctx context.Context, from From, yield func(context.Context, Marked) error) error
	// Mark publishes feedback on a turn of a session, and returns once it is
	// stored.
	Mark func(ctx context.Context, session store.Summary, said payload.Feedback) error
	// DeadLetters opens the dead letters.
	DeadLetters func(ctx context.Context) (*events.DeadLetters, error)
	// Catalog returns the intents in force.
	Catalog func() *intents.Catalog
	// MinConfidence returns HINT_MIN_CONFIDENCE.
	MinConfidence func() float64
	// Location returns HINT_USER_TIMEZONE, in which turns are counted by day; nil
	// for the machine's zone.
	Location func() *time.Location
}

// From is the position at which [Source.Follow] begins.
type From struct {
	// After is the sequence of the last known turn, 0 for none.
	After uint64
	// Since is the time of the first wanted turn. It is used if After is not in
	// the stream.
	Since time.Time
}

// Begun is a turn that began.
type Begun struct {
	// Sequence grows from turn to turn.
	Sequence uint64
	// Pending is how many turns follow it in the stream.
	Pending uint64
	record.Entry
}

// Marked is a person's mark on a turn.
type Marked struct {
	// Token and RunID identify the turn.
	Token, RunID string
	record.Feedback
}

// zone returns the time zone in which pages count by day.
func (s *Source) zone() *time.Location {
	if s == nil || s.Location == nil {
		return time.Local
	}
	return s.Location()
}

func (c *Console) zone() *time.Location { return c.source.Load().zone() }

// Show sets what the pages show of the system, once it has started. It does nothing
// on a nil console, which a process without HTTP has.
func (c *Console) Show(s *Source) {
	if c != nil {
		c.source.Store(s)
	}
}

// shown returns the source, or answers that the process is starting.
func (c *Console) shown(w http.ResponseWriter) *Source {
	if s := c.source.Load(); s != nil {
		return s
	}
	w.Header().Set("Retry-After", "2")
	c.message(w, http.StatusServiceUnavailable, "Starting", "This process is starting. Load the page again in a moment.")
	return nil
}
