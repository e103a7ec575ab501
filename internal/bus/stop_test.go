package bus

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stopTime bounds a stop without a server. A drain alone would take ten seconds.
const stopTime = 5 * time.Second

// apart opens a server and a connection to it like that of another process.
func apart(t *testing.T) (srv, b *Bus) {
	t.Helper()
	srv = openTest(t)
	b, err := Open(t.Context(), Options{URL: srv.URL(), Wait: true, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return srv, b
}

// leave stops the server and waits until the other connection is down.
func leave(t *testing.T, srv, b *Bus) {
	t.Helper()
	srv.Close()
	require.Eventually(t, func() bool { return !b.NC.IsConnected() }, time.Minute, time.Millisecond)
}

func TestServiceStopsWithoutServer(t *testing.T) {
	t.Parallel()
	srv, b := apart(t)
	s := startService(t, b, func(context.Context, Request) Reply { return Reply{Body: []byte("{}")} })
	leave(t, srv, b)
	ctx, cancel := context.WithTimeout(t.Context(), stopTime)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}

// Requests that the client has received before the server went away are answered
// while Stop waits for earlier ones.
func TestBufferedRequestsAreAnsweredDuringStopWithoutServer(t *testing.T) {
	t.Parallel()
	srv, b := apart(t)
	held, answering := make(chan struct{}), make(chan struct{}, 1)
	s := startService(t, b, func(context.Context, Request) Reply {
		select {
		case answering <- struct{}{}:
			<-held
		default:
		}
		return Reply{Body: []byte("{}")}
	})
	const waiting = 1000
	before := b.NC.Stats().InMsgs
	for range waiting {
		require.NoError(t, srv.NC.PublishRequest("openclaw.request.before_prompt_build.main", "nobody", []byte("{}")))
	}
	<-answering
	require.Eventually(t, func() bool { return b.NC.Stats().InMsgs >= before+waiting }, time.Minute, time.Millisecond)
	leave(t, srv, b)
	ctx, cancel := context.WithTimeout(t.Context(), stopTime)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	require.Eventually(t, s.svc.Stopped, time.Minute, time.Millisecond)
	close(held)
	require.NoError(t, <-stopped)
	require.Eventually(t, func() bool { return s.endpoints["before_prompt_build"].stats().Requests == waiting }, time.Minute, time.Millisecond)
}
