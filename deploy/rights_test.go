package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/deploy/deploytest"
	"intenthint/internal/access"
	"intenthint/internal/bus"
	"intenthint/internal/natstest"
)

// TestEveryRightIsTried removes rights from accounts.conf, each of which must be named.
func TestEveryRightIsTried(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	for line, want := range map[string]string{
		"": "",
		`"$JS.API.CONSUMER.CREATE.OPENCLAW_EVENTS.*"` + "\n":           "reading the stream",
		`"$JS.API.CONSUMER.CREATE.OPENCLAW_EVENTS.*.openclaw.event.>"`: "reading the events of a session",
		`"$JS.API.CONSUMER.DELETE.OPENCLAW_EVENTS.*"`:                  "ending a read",
		`"$JS.API.CONSUMER.MSG.NEXT.OPENCLAW_EVENTS.*"`:                "pulling events",
		`"$JS.ACK.OPENCLAW_EVENTS.>"`:                                  "acknowledging events",
		`"openclaw.dlq.>"`:                                             "publishing dead letters",
		`"$KV.OPENCLAW_EVENTS_EXPERIENCES.>"`:                          "writing to bucket OPENCLAW_EVENTS_EXPERIENCES",
		`"$JS.API.CONSUMER.CREATE.KV_OPENCLAW_EVENTS_SESSIONS.>"`:      "following bucket OPENCLAW_EVENTS_SESSIONS",
		`"$JS.API.STREAM.INFO.KV_OPENCLAW_EVENTS_KNOWHUB_TURNS"`:       "looking at bucket OPENCLAW_EVENTS_KNOWHUB_TURNS",
	} {
		t.Run(want, func(t *testing.T) {
			site := s
			if line != "" {
				site = s.Edited(t, map[string]string{line: `"unused"` + "\n"})
			}
			ns := natstest.Start(t, site.Options(t, "standalone.conf"))
			cfg := apptest.Settle(t, company(t, site, ns, "consumer"))
			rights, err := bus.Rights(t.Context(), site.Connect(t, ns, "consumer"), access.Consumer, app.Layout(cfg), app.Buckets(cfg)...)
			require.NoError(t, err)
			require.Zero(t, streams(t, site, ns), "nothing was made")
			var missing []string
			for _, r := range rights {
				if r.Err != nil {
					missing = append(missing, r.Does)
				}
			}
			if want == "" {
				require.Empty(t, missing)
				require.Greater(t, len(rights), 15)
				return
			}
			require.Contains(t, missing, want)
		})
	}
}

// TestALostSessionIsMadeAgain damages a session, which a consumer with its documented
// rights makes again from events.
func TestALostSessionIsMadeAgain(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	ns := natstest.Start(t, s.Options(t, "standalone.conf"))
	apply(t, s.Connect(t, ns, "operator"), company(t, s, ns, "operator"))
	system := apptest.Launch(t, apptest.Settle(t, company(t, s, ns, "consumer")))
	system.As(s.Connect(t, ns, "gateway"))
	for i := range 3 {
		system.Ask(system.Prompt("garden", fmt.Sprint("run", i), "what is my bank balance"), time.Minute)
	}
	sessions, err := app.OpenSystemReader(t.Context(), system.Config, system.Bus, quiet)
	require.NoError(t, err)
	whole := func() bool {
		garden, err := sessions.Get(t.Context(), "garden")
		return err == nil && strings.Contains(string(garden), "run0") && strings.Contains(string(garden), "run2")
	}
	system.Eventually("the session is there", whole)

	js, err := jetstream.New(s.Connect(t, ns, "operator"))
	require.NoError(t, err)
	bucket, err := js.KeyValue(t.Context(), "OPENCLAW_EVENTS_SESSIONS")
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), "garden", []byte("damaged"))
	require.NoError(t, err)
	require.False(t, whole())
	system.Ask(system.Prompt("garden", "run3", "what is my bank balance"), time.Minute)
	system.Eventually("the session is there again", whole)
	require.NotContains(t, system.Log.String(), "permissions violation")
}

// streams returns how many streams there are.
func streams(t *testing.T, s *deploytest.Site, ns *server.Server) int {
	t.Helper()
	js, err := jetstream.New(s.Connect(t, ns, "operator"))
	require.NoError(t, err)
	info, err := js.AccountInfo(t.Context())
	require.NoError(t, err)
	return info.Streams + info.Consumers
}
