//go:build unix

package run

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/subjects"
)

func openTest(t *testing.T) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func TestAnswersReachTheOtherProcesses(t *testing.T) {
	b := openTest(t)
	other, err := b.Another(t.Context(), "other")
	require.NoError(t, err)
	t.Cleanup(other.Close)
	here, there := NewAnswers(quiet), NewAnswers(quiet)
	for _, p := range []struct {
		nc *nats.Conn
		as *Answers
	}{{b.NC, here}, {other.NC, there}} {
		peers, err := Listen(p.nc, "openclaw.runs", p.as.Learn)
		require.NoError(t, err)
		p.as.Join(peers)
		require.NoError(t, p.nc.Flush())
	}
	here.Tell(begun(taken))
	require.NoError(t, b.NC.Flush())
	require.NoError(t, other.NC.Flush())
	// A request that the connection receives after the broadcast knows it.
	a, origin := ask(runOfBegun, Answer{}, 0).first(there)
	require.Equal(t, taken, a)
	require.Equal(t, Repeated, origin)
	_, origin = ask(runOfBegun, taken, 0).first(here)
	require.Equal(t, Fresh, origin, "a process does not learn from its own broadcasts")
}

// processorTime is what the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestRequestsWaitForEarlierBroadcasts(t *testing.T) {
	const broadcasts, requests = 3, 4
	b := openTest(t)
	other, err := b.Another(t.Context(), "other")
	require.NoError(t, err)
	t.Cleanup(other.Close)
	began, goOn := make(chan struct{}), make(chan struct{})
	peers, err := Listen(other.NC, "openclaw.runs", func([]byte) {
		began <- struct{}{}
		<-goOn
	})
	require.NoError(t, err)
	require.NoError(t, other.NC.Flush())
	broadcast := func() {
		require.NoError(t, b.NC.Publish("openclaw.runs", nil))
		require.NoError(t, b.NC.Flush())
		require.NoError(t, other.NC.Flush())
	}
	peers.settle(t.Context()) // for nothing
	for range broadcasts {
		broadcast()
	}
	<-began
	var settled atomic.Int32
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			peers.settle(t.Context())
			settled.Add(1)
		})
	}
	// Those that wait take no processor time.
	before := processorTime(t)
	const while = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), while)
	defer cancel()
	peers.settle(ctx) // as long as the request has time
	require.Error(t, ctx.Err())
	require.Less(t, processorTime(t)-before, while/3)
	broadcast() // after the requests
	for range broadcasts - 1 {
		require.Zero(t, settled.Load())
		goOn <- struct{}{}
		<-began
	}
	goOn <- struct{}{}
	all.Wait()
	<-began
	goOn <- struct{}{}
	peers.settle(t.Context())
	require.Empty(t, peers.waiters)
}

func TestAClaimIsGivenOnceAndRunsOut(t *testing.T) {
	b := openTest(t)
	layout := bus.Layout{Prefix: subjects.DefaultPrefix, Stream: subjects.DefaultStream}
	open := func() *Claims {
		bucket, err := kv.Open(t.Context(), b.JS, Bucket(layout))
		require.NoError(t, err)
		return NewClaims(bucket, quiet)
	}
	a, other := open(), open()
	const run = "s\x00r"
	now := time.Now()
	require.True(t, a.Claim(t.Context(), run, now, now.Add(time.Second)).IsZero())
	require.False(t, other.Claim(t.Context(), run, now, now.Add(time.Second)).IsZero())
	require.True(t, other.Claim(t.Context(), run, now.Add(2*time.Second), now.Add(3*time.Second)).IsZero(), "the promise ran out")
	require.False(t, a.Claim(t.Context(), run, now.Add(2*time.Second), now.Add(3*time.Second)).IsZero())
	other.Release(t.Context(), run)
	require.True(t, a.Claim(t.Context(), run, now, now.Add(time.Second)).IsZero())
}

// overtaken is a bucket in which another process is faster to replace a value.
type overtaken struct{ jetstream.KeyValue }

func (o overtaken) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	entry, err := o.KeyValue.Get(ctx, key)
	if err == nil {
		_, err = o.Update(ctx, key, []byte("1"), entry.Revision())
	}
	return entry, err
}

func TestAnExpiredClaimIsGivenOnce(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			js := openTest(t).JS
			if replicas > 1 {
				if testing.Short() {
					t.Skip("starts a cluster")
				}
				js = natstest.JetStream(t, natstest.Cluster(t, nil)[0])
			}
			layout := bus.Layout{Prefix: subjects.DefaultPrefix, Stream: subjects.DefaultStream, Replicas: replicas}
			bucket, err := kv.Open(t.Context(), js, Bucket(layout))
			require.NoError(t, err)
			now := time.Now()
			require.True(t, NewClaims(bucket, quiet).Claim(t.Context(), "run", now, now.Add(time.Second)).IsZero())
			require.False(t, NewClaims(overtaken{bucket}, quiet).Claim(t.Context(), "run", now.Add(2*time.Second), now.Add(3*time.Second)).IsZero())
		})
	}
}
