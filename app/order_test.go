package app_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
)

// What a start brings up, in order: the server and the sessions, then turns, then what
// each part needs, then requests, and what must not delay requests after them. A stop
// goes the other way, so that an accepted request still finds all that it needs.
func TestTheOrderOfStartAndStop(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings map[string]string
		steps    []string
	}{
		{"hints alone", nil, []string{
			"bus", "event connection", "background", "events", "publisher", "requests", "ready",
		}},
		{"everything", map[string]string{
			"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_LEARN": "auto", "HINT_TRIAGE": `{"enabled": true}`, "HINT_DECIDE": `{"enabled": true}`,
			"HINT_KNOWHUB": `{"enabled": true, "listen": "127.0.0.1:0", "enableServerExtraction": true}`,
		}, []string{
			"http", "bus", "event connection", "background", "events", "publisher", "triage events", "decide publisher", "decide events",
			"knowhub index", "knowhub events", "knowhub http", "requests", "learnt events", "ready",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := app.New(apptest.Settle(t, row.settings), app.Options{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar)})
			err := a.Start(t.Context())
			var stopped []string
			require.Equal(t, row.steps, a.OnStop(func(_ context.Context, step string) { stopped = append(stopped, step) }))
			require.NoError(t, a.Stop())
			require.NoError(t, err)
			slices.Reverse(stopped)
			require.Equal(t, row.steps, stopped)
		})
	}
}
