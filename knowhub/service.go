package knowhub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/loglimit"
	"intenthint/internal/text"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// Errors of the verbs. Their texts are meant for the caller.
var (
	// ErrInvalid reports an experience that violates contract §12.
	ErrInvalid = experience.ErrInvalid
	// ErrRequest reports a request that violates contract §12.
	ErrRequest = errors.New("invalid request")
	// ErrTooLong reports a text beyond its bound. It is looked at before anything else.
	ErrTooLong = experience.ErrTooLong
	// ErrUnknown reports an id that no experience has.
	ErrUnknown = errors.New("no such experience")
	// ErrDecided reports that the opposite decision was already made.
	ErrDecided = errors.New("already decided otherwise")
	// ErrUnavailable reports that a dependency of the verb cannot be used at
	// present: the bucket, its copy, or a model.
	ErrUnavailable = errors.New("not available at present")
)

// Bounds of how many experiences are returned.
const (
	DefaultFound = 10
	maxFound     = 50
	maxListed    = 1000
	// MaxShown is for people's pages, which are long.
	MaxShown = 201
)

// Experiences stores experiences; [bucket.Experiences] implements it.
type Experiences interface {
	Get(ctx context.Context, id string) (e experience.Experience, ok bool, err error)
	Change(ctx context.Context, id string, change func(known *experience.Experience) (e experience.Experience, write bool, err error)) (out bucket.Stored, created bool, err error)
	Remove(ctx context.Context, id string, remove func(known experience.Experience) bool) error
}

// Options configure a [Service].
type Options struct {
	Experiences Experiences
	Copy        *Copy
	// Marks returns the names of what looks like a prompt injection in a text of
	// several parts.
	Marks func(parts ...string) []string
	// Metrics are shared by all services of a process; nil for none.
	Metrics *Metrics
	Log     *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Service carries out the verbs of contract §12. It is safe for concurrent use.
type Service struct {
	Options
	settings atomic.Pointer[Settings]
	lines    loglimit.Limit
}

// New returns a service; Use must be called before the first request.
func New(o Options) *Service {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Marks == nil {
		o.Marks = func(...string) []string { return nil }
	}
	return &Service{Options: o}
}

// Use makes later requests use other settings.
func (s *Service) Use(set *Settings) { s.settings.Store(set) }

// Settings returns the settings in force.
func (s *Service) Settings() *Settings { return s.settings.Load() }

// Submission is an experience that somebody submits.
type Submission struct {
	Task        string `json:"task"`
	Resource    string `json:"resource"`
	Result      string `json:"result"`
	AgentID     string `json:"agent_id"`
	SubmittedBy string `json:"submitted_by"`
	SessionKey  string `json:"session_key"`
}

// Submit stores an experience; created is false if it already existed, with any
// status. Errors are [ErrInvalid] and [ErrUnavailable].
func (s *Service) Submit(ctx context.Context, in Submission) (e experience.Experience, created bool, err error) {
	set := s.Settings()
	e = experience.Experience{
		Task: in.Task, Resource: in.Resource, Result: in.Result, Confidence: 1,
		AgentID: in.AgentID, SubmittedBy: cmp.Or(strings.TrimSpace(in.SubmittedBy), set.SubmittedBy), SessionKey: in.SessionKey,
	}
	if err := e.Measure(); err != nil {
		return e, false, err
	}
	return s.keep(ctx, s.prepared(set, e), func(experience.Experience) bool { return true })
}

// prepared returns an experience in the form in which it is stored, with its
// flags.
func (s *Service) prepared(set *Settings, e experience.Experience) experience.Experience {
	e = set.redacted(e.Normal())
	if len(s.Marks(e.Task, e.Resource, e.Result)) > 0 {
		e.Flags = append(slices.Clone(e.Flags), experience.FlagInjection)
	}
	e.CreatedAt = s.Now()
	e.Status = set.status(e)
	e.ID = experience.ID(e, set.Shared)
	return e.Normal()
}

// keep stores a new, prepared experience, or counts that a known one was seen
// again.
func (s *Service) keep(ctx context.Context, e experience.Experience, again func(known experience.Experience) bool) (experience.Experience, bool, error) {
	if err := e.Validate(); err != nil {
		return e, false, err
	}
	out, created, err := s.Experiences.Change(ctx, e.ID, func(known *experience.Experience) (experience.Experience, bool, error) {
		if known == nil {
			return e, true, nil
		}
		seen := *known
		if !again(seen) {
			return seen, false, nil
		}
		seen.Seen = max(seen.Seen, 1) + 1
		return seen, true, nil
	})
	if err != nil {
		return e, false, s.unavailable(ctx, "keep", err)
	}
	s.Copy.Put(out)
	return out.Experience, created, nil
}

// Import stores an experience with its status and its times, and returns it as
// stored; created is false if it already existed, in which case nothing changes.
// An experience that looks like a prompt injection becomes pending, unless a
// person has decided about it. Errors are [ErrInvalid] and [ErrUnavailable].
func (s *Service) Import(ctx context.Context, e experience.Experience) (stored experience.Experience, created bool, err error) {
	if err := e.Measure(); err != nil {
		return e, false, err
	}
	set := s.Settings()
	p := s.prepared(set, e)
	if !e.CreatedAt.IsZero() && e.CreatedAt.Before(p.CreatedAt) { // not in the future
		p.CreatedAt = e.CreatedAt
	}
	if p.Status = e.Status; len(p.Flags) > 0 && e.DecidedAt.IsZero() {
		p.Status = experience.Pending
	}
	if p = p.Normal(); p.Validate() != nil {
		return p, false, p.Validate()
	}
	out, created, err := s.Experiences.Change(ctx, p.ID, func(known *experience.Experience) (experience.Experience, bool, error) {
		if known == nil {
			return p, true, nil
		}
		return *known, false, nil
	})
	if err != nil {
		return p, false, s.unavailable(ctx, "keep", err)
	}
	s.Copy.Put(out)
	return out.Experience, created, nil
}

// unavailable returns the error for a bucket or a copy that does not answer.
func (s *Service) unavailable(ctx context.Context, what string, err error) error {
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnknown) || errors.Is(err, ErrDecided) {
		return err
	}
	s.Metrics.failures.WithLabelValues(what).Inc()
	if ctx.Err() == nil {
		s.lines.Warn(s.Log, "experiences unavailable", "operation", what, "error", err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// maxQuery bounds what is searched for, in characters: a whole result.
const maxQuery = experience.MaxResult

// Search returns the approved experiences that fit a text, best first, at most
// limit (0 for [DefaultFound]); if agent is not "", only those of that agent. If
// experiences are not shared, asker finds only its own; "" finds only those without
// an owner. Errors are [ErrRequest], [ErrTooLong] and [ErrUnavailable].
func (s *Service) Search(ctx context.Context, text, agent, asker string, limit int) ([]experience.Experience, error) {
	if len(text) > maxQuery && utf8.RuneCountInString(text) > maxQuery {
		return nil, fmt.Errorf("%w: q must have at most %d characters", ErrTooLong, maxQuery)
	}
	q := s.within(index.Query{Text: text, Limit: limit}, asker)
	if agent != "" && !s.Settings().Shared && agent != asker {
		return nil, nil
	}
	q.AgentID = cmp.Or(q.AgentID, agent)
	return s.find(ctx, q, maxFound)
}

// ForPrompt returns the approved experiences that match a message to an agent.
func (s *Service) ForPrompt(ctx context.Context, message, agent string, limit int) ([]experience.Experience, error) {
	return s.find(ctx, s.within(index.Query{Text: message, Limit: limit, Prompt: true}, agent), maxFound)
}

// within limits a query to what an agent may read.
func (s *Service) within(q index.Query, agent string) index.Query {
	if !s.Settings().Shared {
		q.AgentID, q.Unowned = agent, agent == ""
	}
	return q
}

// Find is [Service.Search] for a person, who may find all experiences; if agent
// is not "", only those of that agent. The limit is at most [MaxShown].
func (s *Service) Find(ctx context.Context, text, agent string, limit int) ([]experience.Experience, error) {
	return s.find(ctx, index.Query{Text: text, AgentID: agent, Limit: limit}, MaxShown)
}

func (s *Service) find(ctx context.Context, q index.Query, most int) ([]experience.Experience, error) {
	if strings.TrimSpace(q.Text) == "" {
		return nil, fmt.Errorf("%w: q must not be blank", ErrRequest)
	}
	q.Limit = limitOf(q.Limit, DefaultFound, most)
	hits, err := s.hits(ctx, q)
	out := make([]experience.Experience, len(hits))
	for i, h := range hits {
		out[i] = h.Experience
	}
	return out, err
}

func (s *Service) hits(ctx context.Context, q index.Query) ([]index.Hit, error) {
	began := time.Now()
	hits, err := s.Copy.Search(ctx, q)
	if err != nil {
		return nil, s.unavailable(ctx, "search", err)
	}
	s.Metrics.searches.Observe(time.Since(began).Seconds())
	return hits, nil
}

func limitOf(limit, def, most int) int {
	if limit <= 0 {
		return def
	}
	return min(limit, most)
}

// Content returns one experience. Errors are [ErrUnknown] and [ErrUnavailable].
func (s *Service) Content(ctx context.Context, id string) (experience.Experience, error) {
	e, ok, err := s.Experiences.Get(ctx, id)
	switch {
	case err != nil:
		return e, s.unavailable(ctx, "content", err)
	case !ok:
		return e, unknown(id)
	}
	return e, nil
}

// maxShownID bounds an id in an error text.
const maxShownID = 64

func unknown(id string) error {
	if len(id) > maxShownID {
		id = text.CutBytes(id, maxShownID) + "…"
	}
	return fmt.Errorf("%w: %q", ErrUnknown, id)
}

// ContentFor is [Service.Content] for an agent, which may read only its own
// experiences if they are not shared.
func (s *Service) ContentFor(ctx context.Context, id, agent string) (experience.Experience, error) {
	e, err := s.Content(ctx, id)
	if err == nil && agent != "" && e.AgentID != agent && !s.Settings().Shared {
		return experience.Experience{}, unknown(id)
	}
	return e, err
}

// Pending returns the experiences that wait for a person, newest first, at most
// limit (0 for 1000).
func (s *Service) Pending(ctx context.Context, limit int) ([]experience.Experience, error) {
	return s.List(ctx, experience.Pending, experience.Experience{}, limit)
}

// Waiting returns how many experiences wait for a person. The error is
// [ErrUnavailable].
func (s *Service) Waiting(ctx context.Context) (int, error) {
	counts, err := s.Copy.Counts(ctx)
	if err != nil {
		return 0, s.unavailable(ctx, "count", err)
	}
	return counts[experience.Pending], nil
}

// List returns the experiences of a status, newest first, at most limit (0 for
// 1000): those that come after one, or with its zero value from the newest on. The
// error is [ErrUnavailable].
func (s *Service) List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error) {
	out, err := s.Copy.List(ctx, status, after, limitOf(limit, maxListed, maxListed))
	if err != nil {
		return nil, s.unavailable(ctx, "list", err)
	}
	return out, nil
}

// Approve approves a pending experience in the name of by, which may be "". It
// is idempotent; after a different decision the error is [ErrDecided]. An
// experience that was approved without a person may still be rejected. Other
// errors are [ErrUnknown] and [ErrUnavailable].
func (s *Service) Approve(ctx context.Context, id, by string) (experience.Experience, error) {
	return s.decide(ctx, id, by, experience.Approved)
}

// Reject is like [Service.Approve].
func (s *Service) Reject(ctx context.Context, id, by string) (experience.Experience, error) {
	return s.decide(ctx, id, by, experience.Rejected)
}

func (s *Service) decide(ctx context.Context, id, by string, status experience.Status) (experience.Experience, error) {
	decided := false
	e, err := s.change(ctx, id, func(known experience.Experience) (experience.Experience, bool, error) {
		decided = false
		switch {
		case known.Status == status:
			return known, false, nil
		case known.Status != experience.Pending && !known.DecidedAt.IsZero():
			return known, false, fmt.Errorf("%w: it is %s", ErrDecided, known.Status)
		}
		decided = true
		known.Status, known.DecidedAt, known.DecidedBy = status, s.Now(), s.Settings().clean(by)
		return known, true, nil
	})
	if err == nil && decided {
		s.Metrics.decisions.WithLabelValues(string(status)).Inc()
	}
	return e, err
}

// Withdraw makes an approved experience rejected in the name of by, which may be "",
// however long ago it was approved. It is idempotent; of a pending one the error is
// [ErrDecided], as there is nothing to take back. Other errors are [ErrUnknown] and
// [ErrUnavailable].
func (s *Service) Withdraw(ctx context.Context, id, by string) (experience.Experience, error) {
	withdrawn := false
	e, err := s.change(ctx, id, func(known experience.Experience) (experience.Experience, bool, error) {
		withdrawn = false
		switch known.Status {
		case experience.Rejected:
			return known, false, nil
		case experience.Pending:
			return known, false, fmt.Errorf("%w: it is pending, so reject it", ErrDecided)
		}
		withdrawn = true
		known.Status, known.DecidedAt, known.DecidedBy = experience.Rejected, s.Now(), s.Settings().clean(by)
		return known, true, nil
	})
	if err == nil && withdrawn {
		s.Metrics.decisions.WithLabelValues(string(experience.Rejected)).Inc()
	}
	return e, err
}

// Delete deletes an experience for good, and returns it. A submission of the same
// text is new afterwards. Errors are [ErrUnknown] and [ErrUnavailable].
func (s *Service) Delete(ctx context.Context, id string) (deleted experience.Experience, err error) {
	found := false
	err = s.Experiences.Remove(ctx, id, func(known experience.Experience) bool {
		deleted, found = known, true
		return true
	})
	switch {
	case err != nil:
		return deleted, s.unavailable(ctx, "delete", err)
	case !found:
		return deleted, unknown(id)
	}
	deleted.ID = id
	return deleted, nil
}

// UndoTime is how long a decision can be taken back.
const UndoTime = time.Minute

// Undo makes an experience pending again if its decision, by anyone, was made
// within [UndoTime]; else the error is [ErrDecided].
func (s *Service) Undo(ctx context.Context, id, _ string) (experience.Experience, error) {
	return s.change(ctx, id, func(known experience.Experience) (experience.Experience, bool, error) {
		switch {
		case known.Status == experience.Pending:
			return known, false, nil
		case known.DecidedAt.IsZero() || s.Now().Sub(known.DecidedAt) >= UndoTime:
			return known, false, fmt.Errorf("%w: it is %s, too long to be undone", ErrDecided, known.Status)
		}
		known.Status, known.DecidedAt, known.DecidedBy = experience.Pending, time.Time{}, ""
		return known, true, nil
	})
}

func (s *Service) change(ctx context.Context, id string, change func(known experience.Experience) (experience.Experience, bool, error)) (experience.Experience, error) {
	if !experience.ValidID(id) {
		return experience.Experience{}, unknown(id)
	}
	out, _, err := s.Experiences.Change(ctx, id, func(known *experience.Experience) (experience.Experience, bool, error) {
		if known == nil {
			return experience.Experience{}, false, unknown(id)
		}
		e, write, err := change(*known)
		if err == nil && write {
			e = e.Normal()
			err = e.Validate()
		}
		return e, write, err
	})
	if err != nil {
		return experience.Experience{}, s.unavailable(ctx, "decide", err)
	}
	s.Copy.Put(out)
	return out.Experience, nil
}
