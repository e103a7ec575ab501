package events

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
)

// stopTime bounds a stop without a server. A drain alone would take ten seconds.
const stopTime = 5 * time.Second

// apart opens a server and a connection to it like that of another process.
func apart(t *testing.T) (srv, b *bus.Bus) {
	t.Helper()
	srv = openTest(t)
	b, err := bus.Open(t.Context(), bus.Options{URL: srv.URL(), Wait: true, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return srv, b
}

// leave stops the server and waits until the other connection is down.
func leave(t *testing.T, srv, b *bus.Bus) {
	t.Helper()
	srv.Close()
	require.Eventually(t, func() bool { return !b.NC.IsConnected() }, time.Minute, time.Millisecond)
}

// A stopped server cannot end a pull.
func TestSinkStopsWithoutServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		after bool
	}{
		{"stopped before", false},
		{"stopped meanwhile", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, b := apart(t)
			provisionTest(t, b)
			held, applying := make(chan struct{}), make(chan struct{})
			events := startTest(t, b.JS, newMetrics(), Handler[string]{
				Decode: decodeText,
				Apply:  func(context.Context, []string) error { close(applying); <-held; return nil },
			})
			_, err := b.JS.Publish(t.Context(), "openclaw.event.h.a.s", []byte("s/1"))
			require.NoError(t, err)
			<-applying
			if !row.after {
				leave(t, srv, b)
			}
			ctx, cancel := context.WithTimeout(t.Context(), stopTime)
			defer cancel()
			stopped := make(chan error, 1)
			go func() { stopped <- events.Stop(ctx) }()
			if row.after {
				srv.Close()
			}
			close(held)
			require.NoError(t, <-stopped)
		})
	}
}
