package app_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/natstest"
	"intenthint/internal/porttest"
	"intenthint/subjects"
)

// What a stream refuses to delete is not reported as removed: the prompts of the
// session are still in it.
func TestForgetReportsARefusedDelete(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name                    string
		denyEvents, denyLetters bool
		removed                 int // events
	}{
		{name: "events", denyEvents: true},
		{name: "dead letters", denyLetters: true, removed: 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, nil)
			settings := map[string]string{"HINT_NATS_URL": ns.ClientURL(), "HINT_SESSIONS_DIR": t.TempDir()}
			layout := app.Layout(apptest.Settle(t, settings))
			js := natstest.JetStream(t, ns)
			for _, stream := range []jetstream.StreamConfig{
				{Name: layout.Stream, Subjects: []string{layout.Prefix.Events()}, DenyDelete: row.denyEvents, AllowDirect: true},
				{Name: layout.DeadLetterStream(), Subjects: []string{layout.Prefix.DeadLetters()}, DenyDelete: row.denyLetters, AllowDirect: true},
			} {
				_, err := js.CreateStream(t.Context(), stream)
				require.NoError(t, err)
			}
			s := start(t, settings)
			s.Ask(s.Prompt("gone", "r1", "write some code for me please"), time.Minute)
			_, err := s.JS.Publish(t.Context(), subjects.Prefix("openclaw").Event(subjects.HookAgentEnd, "main", "gone"), []byte("poison"))
			require.NoError(t, err)
			s.Eventually("all are applied", func() bool {
				place, err := events.Where(t.Context(), s.Bus.JS, layout)
				return err == nil && place.Last == 2 && place.Applied == place.Last && s.Document("gone") != nil
			})

			done, err := forget(t, s, "gone")
			require.ErrorContains(t, err, "delet")
			require.NotErrorIs(t, err, app.ErrInUse)
			require.Equal(t, row.removed, done.Events)
			require.Zero(t, done.DeadLetters)
			require.False(t, done.Whole)
			stream, err := js.Stream(t.Context(), layout.DeadLetterStream())
			require.NoError(t, err)
			require.EqualValues(t, 1, stream.CachedInfo().State.Msgs)
			require.Equal(t, row.denyEvents, s.Document("gone") != nil, "what is still in the stream would come back")
		})
	}
}

// A process that can get no more events is not healthy.
func TestNotHealthyWhileTheDurableCannotBeRecreated(t *testing.T) {
	t.Parallel()
	cfg := apptest.Settle(t, nil)
	layout := app.Layout(cfg)
	created := "$JS.API.CONSUMER.CREATE." + layout.Stream + "." + layout.QueueGroup
	ns := natstest.Start(t, &server.Options{JetStream: true, Users: []*server.User{
		{Username: "operator", Password: "p"},
		{Username: "consumer", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{created, created + ".>", "$JS.API.CONSUMER.DURABLE.CREATE.>"}},
		}},
	}})
	operator := natstest.JetStream(t, ns, nats.UserInfo("operator", "p"))
	_, err := bus.Provision(t.Context(), operator, layout)
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
	apptest.Launch(t, apptest.Settle(t, map[string]string{
		"HINT_NATS_URL": strings.Replace(ns.ClientURL(), "nats://", "nats://consumer:p@", 1), "HINT_HTTP_ADDR": address,
	}))
	health := func() (int, string) {
		r, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, string(body)
	}
	is := func(want int) func() bool { return func() bool { got, _ := health(); return got == want } }
	require.Eventually(t, is(http.StatusOK), time.Minute, 10*time.Millisecond)
	require.NoError(t, operator.DeleteConsumer(t.Context(), layout.Stream, layout.QueueGroup))
	require.Eventually(t, is(http.StatusServiceUnavailable), time.Minute, 10*time.Millisecond)
	_, body := health()
	require.Contains(t, body, "events cannot be pulled")
	_, err = bus.Provision(t.Context(), operator, layout)
	require.NoError(t, err)
	require.Eventually(t, is(http.StatusOK), 2*time.Minute, 10*time.Millisecond)
}
