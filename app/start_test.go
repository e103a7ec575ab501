package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/natstest"
	"intenthint/internal/telemetry"
)

func TestAStopDoesNotWaitForTheIntents(t *testing.T) {
	t.Parallel()
	log := &apptest.Buffer{}
	a := app.New(apptest.Settle(t, nil), app.Options{Version: "0.0.0", Log: telemetry.NewLogger(log, "json", new(slog.LevelVar)), Level: new(slog.LevelVar)})
	a.LearnForEver()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"msg":"learning the intents","intents":44`) }, time.Minute, 10*time.Millisecond)
	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(15 * time.Second):
		t.Fatal("the stop waits")
	}
	require.NotContains(t, log.String(), `"ready"`)
}

// A start survives the loss of its connection at any step.
func TestConnectionLostDuringStart(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, at string }{
		{"while the stream is provisioned", "$JS.API.STREAM."},
		{"while the channel to other processes is opened", "SUB openclaw.runs"},
		{"while requests are taken", "SUB openclaw.request.before_prompt_build"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Bool
			url := natstest.Through(t, natstest.Start(t, nil), func(chunk []byte) []byte {
				if bytes.Contains(chunk, []byte(row.at)) && lost.CompareAndSwap(false, true) {
					return nil
				}
				return chunk
			})
			s := apptest.Start(t, map[string]string{"HINT_NATS_URL": url})
			require.True(t, lost.Load())
			require.NotEmpty(t, s.Ask(s.Prompt("s", "r", "hello"), time.Minute).Data)
		})
	}
}
