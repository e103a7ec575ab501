package app

import (
	"cmp"
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/console"
	"intenthint/handlers"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/subjects"
)

// showSystem gives the pages access to the system. They use the connection of
// events, so that a long read does not delay requests.
func (a *App) showSystem(ctx context.Context) {
	a.console.Show(&console.Source{
		Sessions: a.sessions,
		Follow: func(page context.Context, from console.From, yield func(context.Context, console.Begun) error) error {
			page, cancel := context.WithCancel(page)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)() // Stop does not wait for open pages
			return a.followTurns(page, from, yield)
		},
		FollowMarks: func(page context.Context, from console.From, yield func(context.Context, console.Marked) error) error {
			page, cancel := context.WithCancel(page)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return a.followMarks(page, from, yield)
		},
		Mark: func(ctx context.Context, session store.Summary, said payload.Feedback) error {
			return PublishFeedback(ctx, a.events.JS, a.layout, FeedbackContext(session, said.RunID, ""), said)
		},
		DeadLetters: func(ctx context.Context) (*events.DeadLetters, error) {
			return events.OpenDeadLetters(ctx, a.events.JS, a.layout)
		},
		Catalog:       a.live.intentsInForce,
		MinConfidence: a.minConfidence,
		Location:      func() *time.Location { return a.live.config().Timezone.Location },
	})
}

func (a *App) minConfidence() float64 { return a.live.config().Classifier.MinConfidence }

// followTurns follows the turns that any consumer begins.
func (a *App) followTurns(ctx context.Context, from console.From, yield func(context.Context, console.Begun) error) error {
	return bus.Follow(ctx, a.events.JS, a.layout, subjects.HookTurnBegun, bus.From(from), func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
		entry, ok := begunTurn(decoder(a.live.settings()), subjects.EventID(m.Headers()), m.Data(), a.minConfidence())
		if !ok {
			return nil
		}
		return yield(ctx, console.Begun{Sequence: meta.Sequence.Stream, Pending: meta.NumPending, Entry: entry})
	})
}

// followMarks follows the marks that people set on turns, wherever they set
// them.
func (a *App) followMarks(ctx context.Context, from console.From, yield func(context.Context, console.Marked) error) error {
	return bus.Follow(ctx, a.events.JS, a.layout, subjects.HookFeedback, bus.From(from), func(m jetstream.Msg, _ *jetstream.MsgMetadata) error {
		session, _, fact, err := decoder(a.live.settings()).Fact("", subjects.EventID(m.Headers()), m.Data())
		if err != nil || session == "" || fact.Feedback == nil {
			return nil //nolint:nilerr // not about a turn, or a dead letter
		}
		return yield(ctx, console.Marked{
			Token: subjects.Name(session), RunID: fact.RunID, Feedback: record.Feedback{Feedback: *fact.Feedback, At: store.Timestamp(fact.TS)},
		})
	})
}

// begunTurn returns the entry of the turn that an event begins; ok is false if
// the event begins none or cannot be decoded.
func begunTurn(d handlers.Decoder, msgID string, data []byte, minConfidence float64) (entry record.Entry, ok bool) {
	session, _, fact, err := d.Fact("", msgID, data)
	if err != nil || session == "" || fact.Begin == nil {
		return entry, false
	}
	s := store.Summary{Token: subjects.Name(session), SessionID: fact.SessionID, SessionKey: fact.SessionKey, AgentID: fact.AgentID}
	turn := &store.Turn{
		RunID: cmp.Or(fact.RunID, fact.ID), Input: fact.Begin.Input, Message: fact.Begin.Message,
		Intent: store.Intent{Result: fact.Begin.Result, Skip: fact.Begin.Skip}, Begin: fact.Key(),
	}
	return record.Entry{Session: s, Turn: record.NewTurn(s, turn, minConfidence)}, true
}
