package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/hint"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/natstest"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// An event that a consumer holds while its session is forgotten is waited for, and
// what it wrote is removed as well.
func TestForgetWaitsForEventsThatAConsumerHolds(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	cfg := apptest.Settle(t, map[string]string{"HINT_NATS_URL": ns.ClientURL()})
	quiet := slog.New(slog.DiscardHandler)
	b, err := bus.Open(t.Context(), bus.Options{URL: ns.ClientURL(), Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	layout := app.Layout(cfg)
	_, err = bus.Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	sessions, err := app.OpenStore(t.Context(), cfg, b.JS, nil, quiet)
	require.NoError(t, err)

	event, err := json.Marshal(payload.TurnBegun{RunID: "r1", Prompt: "hello"})
	require.NoError(t, err)
	ctx, err := json.Marshal(payload.Context{RunID: "r1", AgentID: "main", SessionID: "s"})
	require.NoError(t, err)
	body, err := json.Marshal(payload.Envelope{Hook: subjects.HookTurnBegun, Event: event, Ctx: ctx, TS: 1763680000000, ID: "e1"})
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), layout.Prefix.Event(subjects.HookTurnBegun, "main", "s"), body)
	require.NoError(t, err)
	durable, err := b.JS.Consumer(t.Context(), layout.Stream, layout.QueueGroup)
	require.NoError(t, err)
	held, err := durable.Next()
	require.NoError(t, err)

	forgetter, err := app.NewForgetter(t.Context(), cfg, b, sessions)
	require.NoError(t, err)
	defer forgetter.Close()
	type outcome struct {
		done app.Forgotten
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		done, err := forgetter.Forget(t.Context(), "s", "")
		ended <- outcome{done, err}
	}()
	waits := func() {
		t.Helper()
		select {
		case o := <-ended:
			require.Fail(t, "it did not wait", "%+v", o)
		case <-time.After(100 * time.Millisecond): // it asks every 20
		}
	}
	waits()
	decoded, err := app.EventHandler(sessions, func() *hint.Settings { return &hint.Settings{} }).Decode(subjects.HookTurnBegun, "", held.Data())
	require.NoError(t, err)
	require.NoError(t, sessions.Apply(t.Context(), []store.Fact{decoded.Fact}))
	waits()
	require.NoError(t, held.DoubleAck(t.Context()))
	o := <-ended
	require.NoError(t, o.err)
	require.Equal(t, app.Forgotten{Stored: []string{"s.json"}, Events: 1, Whole: true}, o.done)
	_, err = sessions.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A rebuild could bring the session back from what it has read already.
func TestForgetExcludesARebuild(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	sessions, err := app.OpenStore(t.Context(), s.Config, nil, nil, nil)
	require.NoError(t, err)
	rebuild, ok, err := sessions.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	_, err = app.NewForgetter(t.Context(), s.Config, s.Bus, sessions)
	require.ErrorContains(t, err, "being rebuilt")
	rebuild.Release()
	forgetter, err := app.NewForgetter(t.Context(), s.Config, s.Bus, sessions)
	require.NoError(t, err)
	forgetter.Close()
}

// forget forgets a session of a system.
func forget(t *testing.T, s *system, session string) (app.Forgotten, error) {
	t.Helper()
	sessions, err := app.OpenSystemStore(t.Context(), s.Config, s.Bus, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	forgetter, err := app.NewForgetter(t.Context(), s.Config, s.Bus, sessions)
	require.NoError(t, err)
	defer forgetter.Close()
	return forgetter.Forget(t.Context(), session, "")
}

// What was forgotten must not be readable in the server's files.
func TestForgottenEventsAreOverwritten(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for i, session := range []string{"kept", "gone", "kept", "gone"} {
		s.Ask(s.Prompt(session, fmt.Sprint("r", i), "my "+session+"word is hunter2"), time.Minute)
		_, err := s.JS.Publish(t.Context(), subjects.Prefix("openclaw").Event(subjects.HookAgentEnd, "main", session), []byte("poisoned "+session+"word"))
		require.NoError(t, err)
	}
	onDisk := func(text string) (files int) {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(s.Config.DataDir, "jetstream", "*", "streams", "OPENCLAW_EVENTS*", "msgs", "*.blk"))
		require.NoError(t, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			if bytes.Contains(data, []byte(text)) {
				files++
			}
		}
		return files
	}
	s.Eventually("the events, and the dead letters of those that cannot be read", func() bool { return onDisk("goneword") == 2 && onDisk("keptword") == 2 })
	s.Eventually("all are applied", func() bool {
		place, err := events.Where(t.Context(), s.Bus.JS, app.Layout(s.Config))
		return err == nil && place.Applied == place.Last
	})

	done, err := forget(t, s, "gone")
	require.NoError(t, err)
	require.Equal(t, []int{4, 2}, []int{done.Events, done.DeadLetters})
	require.Zero(t, onDisk("goneword"))
	require.Equal(t, 2, onDisk("keptword"))
}

// When the names of removed runs cannot be kept, the rest of the session is removed
// all the same.
func TestForgetGoesOnWhenRunsCannotBeKept(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Ask(s.Prompt("gone", "r1", "write some code for me please"), time.Minute)
	_, err := s.JS.Publish(t.Context(), subjects.Prefix("openclaw").Event(subjects.HookAgentEnd, "main", "gone"), []byte("poison"))
	require.NoError(t, err)
	s.Eventually("all are applied", func() bool {
		place, err := events.Where(t.Context(), s.Bus.JS, app.Layout(s.Config))
		return err == nil && place.Applied == place.Last && s.Document("gone") != nil
	})
	require.NoError(t, os.WriteFile(filepath.Join(s.Config.Store.SessionsDir, ".removed"), nil, 0o600))

	done, err := forget(t, s, "gone")
	require.ErrorIs(t, err, store.ErrNotRecorded)
	require.Equal(t, 2, done.Events)
	require.Equal(t, 1, done.DeadLetters)
	require.Nil(t, s.Document("gone"))
}

// Consumers of an earlier version understand session_end only.
func TestForgetTellsConsumersOfEitherVersion(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	heard, err := s.JS.Conn().SubscribeSync(app.Layout(s.Config).Prefix.Runs())
	require.NoError(t, err)
	require.NoError(t, s.JS.Conn().Flush())
	_, err = forget(t, s, "gone")
	require.NoError(t, err)
	var hooks []string
	for range 2 {
		m, err := heard.NextMsg(10 * time.Second)
		require.NoError(t, err)
		env, err := payload.DecodeRequest(m.Data)
		require.NoError(t, err)
		ctx, err := payload.DecodeContext(env.Ctx)
		require.NoError(t, err)
		require.Equal(t, "gone", ctx.Session())
		hooks = append(hooks, env.Hook)
	}
	require.ElementsMatch(t, []string{"session_removed", "session_end"}, hooks)
}
