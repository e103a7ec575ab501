package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/natstest"
	"intenthint/store"
)

// An operator purges the bucket of the sessions, or deletes it: the sessions are made
// again from the stream, by a process that runs and by the next one.
func TestAPurgedSessionBucketIsRebuilt(t *testing.T) {
	t.Parallel()
	const bucket = "KV_OPENCLAW_EVENTS_SESSIONS"
	losses := map[string]func(t *testing.T, js jetstream.JetStream){
		"purged": func(t *testing.T, js jetstream.JetStream) {
			stream, err := js.Stream(t.Context(), bucket)
			require.NoError(t, err)
			require.NoError(t, stream.Purge(t.Context()))
		},
		"deleted": func(t *testing.T, js jetstream.JetStream) {
			require.NoError(t, js.DeleteStream(t.Context(), bucket))
		},
	}
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, &server.Options{JetStream: true, StoreDir: t.TempDir()})
			settings := map[string]string{"HINT_NATS_URL": ns.ClientURL(), "HINT_STORE": "kv", "HINT_HISTORY_LIMIT": "1"}
			s := start(t, settings)
			converse := func(run string) {
				for _, session := range []string{"one", "two/three"} {
					s.Ask(s.Prompt(session, run, "write some code for me please"), time.Minute)
				}
			}
			for _, run := range []string{"r1", "r2", "r3"} {
				converse(run)
			}
			want := map[string]int{"one": 3, "two/three": 3}
			s.Eventually("all turns", func() bool { return s.has(want) })
			lose(t, s.JS)
			s.Eventually("the turns are back while a process runs", func() bool { return s.has(want) })
			converse("r4")
			want = map[string]int{"one": 4, "two/three": 4}
			s.Eventually("a turn after it", func() bool { return s.has(want) })

			require.NoError(t, s.Stop())
			again := apptest.Settle(t, settings)
			lose(t, natstest.JetStream(t, ns))
			s = startWith(t, again)
			s.Eventually("the turns are back after a start", func() bool { return s.has(want) })
		})
	}
}

// has reports whether the store has exactly so many turns of each session.
func (s *system) has(want map[string]int) bool {
	ctx := context.WithoutCancel(s.t.Context())
	reader, err := app.OpenSystemReader(ctx, s.Config, s.Bus, slog.New(slog.DiscardHandler))
	if err != nil {
		return false
	}
	for session, turns := range want {
		if n, err := turnsOf(ctx, reader, session); err != nil || n != turns {
			return false
		}
	}
	return true
}

func turnsOf(ctx context.Context, reader store.Reader, session string) (int, error) {
	doc, err := reader.Get(ctx, session)
	if err != nil {
		return 0, err
	}
	var d struct{ History []json.RawMessage }
	if err := json.Unmarshal(doc, &d); err != nil {
		return 0, err
	}
	retired, err := reader.Retired(ctx, session)
	return 1 + len(d.History) + len(retired), err
}
