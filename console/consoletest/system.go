package consoletest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/decide"
	"intenthint/intents"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/triage"
)

// System is a consumer as seen by pages: a store of sessions, and a stream of
// turns that a test begins.
type System struct {
	t        testing.TB
	Sessions *file.Store
	// Gate is the triage gate, nil if it is off.
	Gate *Gate
	// Answers are its decisions, nil if they are off.
	Answers *Answers

	mu      sync.Mutex
	begun   []console.Begun
	said    []console.Marked
	more    chan struct{} // closed when begun or said grows
	stopped chan struct{}
	marks   []payload.Feedback
	refused error

	queue func(ctx context.Context) (*events.DeadLetters, error)
}

// NewSystem returns a system without turns. Documents keep few turns, so that
// older ones leave them.
func NewSystem(t testing.TB) *System {
	t.Helper()
	sessions, err := file.Open(t.TempDir(), store.Options{HistoryLimit: 3})
	require.NoError(t, err)
	return &System{t: t, Sessions: sessions, Gate: new(Gate), more: make(chan struct{}), stopped: make(chan struct{})}
}

// Pages are the pages of the parts of the program.
var Pages = slices.Concat(triage.Part(nil).Pages, decide.Part(nil).Pages, knowhub.Part(nil).Pages)

// Show makes a console show the system, and serve the page of its gate.
func (s *System) Show(c *console.Console) {
	c.Show(s.Source())
	if s.Gate != nil {
		c.Serve("/triage", s.Gate.Page())
	}
	if s.Answers != nil {
		c.Serve("/decisions", console.Decisions(s.Answers))
	}
}

// Source returns what a console shows of the system.
func (s *System) Source() *console.Source {
	return &console.Source{
		Sessions: s.Sessions, Follow: s.follow, FollowMarks: s.followMarks, Mark: s.mark,
		DeadLetters: func(ctx context.Context) (*events.DeadLetters, error) {
			if s.queue == nil {
				return new(events.DeadLetters), nil // a stream that is missing
			}
			return s.queue(ctx)
		},
		Catalog:       intents.Bundled,
		MinConfidence: func() float64 { return 0.5 },
	}
}

// Begin returns the beginning of a turn of a session; result may be nil.
func Begin(session, run, input string, at time.Time, result *payload.Classification) store.Fact {
	return store.Fact{
		ID: "begin-" + session + "-" + run, TS: at.UnixMilli(), RunID: run, SessionID: session, SessionKey: "agent:main:direct:" + session, AgentID: "main",
		Begin: &store.Begin{Input: input, Result: result},
	}
}

// Result returns a classification by the local classifier.
func Result(intent string, confidence float64) *payload.Classification {
	return &payload.Classification{
		Intent: intent, Name: "Name of " + intent, Reason: "close to the example “is it so”", Goal: "to know",
		Confidence: confidence, Complexity: payload.ComplexityLow, Source: payload.SourceLocal, ElapsedMs: 0.25,
	}
}

// Keep stores facts.
func (s *System) Keep(facts ...store.Fact) {
	s.t.Helper()
	for _, f := range facts {
		require.NoError(s.t, s.Sessions.Apply(s.t.Context(), []store.Fact{f}))
	}
}

// Tell announces a turn to followers, and returns its sequence. The store does
// not have the turn.
func (s *System) Tell(f store.Fact) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	summary := store.Summary{Token: store.Tokens(f.Session())[0], SessionID: f.SessionID, SessionKey: f.SessionKey, AgentID: f.AgentID}
	turn := &store.Turn{RunID: f.RunID, Input: f.Begin.Input, Intent: store.Intent{Result: f.Begin.Result}, Begin: f.Key()}
	s.begun = append(s.begun, console.Begun{
		Sequence: uint64(len(s.begun) + 1), Entry: record.Entry{Session: summary, Turn: record.NewTurn(summary, turn, 0.5)},
	})
	close(s.more)
	s.more = make(chan struct{})
	return uint64(len(s.begun))
}

// Say announces a person's mark to followers.
func (s *System) Say(m console.Marked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, m)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *System) followMarks(ctx context.Context, _ console.From, yield func(context.Context, console.Marked) error) error {
	for next := 0; ; {
		s.mu.Lock()
		said, more := s.said, s.more
		s.mu.Unlock()
		for ; next < len(said); next++ {
			if err := yield(ctx, said[next]); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stopped:
			return context.Canceled
		case <-more:
		}
	}
}

// Stop ends all followers.
func (s *System) Stop() { close(s.stopped) }

func (s *System) follow(ctx context.Context, from console.From, yield func(context.Context, console.Begun) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	for next := int(from.After); ; {
		s.mu.Lock()
		begun, more := s.begun, s.more
		s.mu.Unlock()
		for ; next < len(begun); next++ {
			b := begun[next]
			b.Pending = uint64(len(begun) - next - 1)
			if err := yield(ctx, b); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}

// Refuse makes marks fail.
func (s *System) Refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
}

// Marks returns people's marks, oldest first.
func (s *System) Marks() []payload.Feedback {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]payload.Feedback(nil), s.marks...)
}

// mark keeps a mark, but not in the store: there it appears later.
func (s *System) mark(_ context.Context, session store.Summary, said payload.Feedback) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused != nil {
		return s.refused
	}
	if session.SessionID == "" && session.SessionKey == "" {
		return fmt.Errorf("session without a name: %s", session.Token)
	}
	s.marks = append(s.marks, said)
	return nil
}

// Letters gives the system dead letters, on a server of its own.
func (s *System) Letters() (jetstream.JetStream, bus.Layout) {
	s.t.Helper()
	js := natstest.JetStream(s.t, natstest.Start(s.t, nil))
	return js, s.LettersOf(js, js)
}

// LettersOf gives the system the dead letters of a server, which one user creates
// and another reads.
func (s *System) LettersOf(creates, reads jetstream.JetStream) bus.Layout {
	s.t.Helper()
	layout := bus.Layout{Prefix: "openclaw", QueueGroup: "intent-hint", Stream: "OPENCLAW_EVENTS", MaxBytes: 8 << 20}
	_, err := bus.Provision(s.t.Context(), creates, layout)
	require.NoError(s.t, err)
	s.queue = func(ctx context.Context) (*events.DeadLetters, error) {
		return events.OpenDeadLetters(ctx, reads, layout)
	}
	return layout
}
