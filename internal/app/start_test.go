package app_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/app/apptest"
	"intenthint/internal/natstest"
)

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
