package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"intenthint/handlers"
	"intenthint/internal/bus"
	"intenthint/internal/telemetry"
	"intenthint/subjects"
)

// BenchmarkHint compares a local hint with a bare echo service on the same
// server and connection, one after the other in pairs, so that the ratio holds
// on a busy machine. Both are over loopback TCP.
func BenchmarkHint(b *testing.B) {
	cfg := settle(b, nil)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	log := telemetry.NewLogger(discardWriter{}, "json", slog.LevelInfo)
	ready := make(chan *bus.Bus, 1)
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cfg, log, new(slog.LevelVar), func(own *bus.Bus) { ready <- own }) }()
	running := <-ready
	defer func() { cancel(); require.NoError(b, <-ended) }()

	server, err := nats.Connect(running.URL())
	require.NoError(b, err)
	defer server.Close()
	body := []byte{}
	echo, err := micro.AddService(server, micro.Config{
		Name: "echo", Version: "1.0.0",
		Endpoint: &micro.EndpointConfig{Subject: "bench.echo", Handler: micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(body) })},
	})
	require.NoError(b, err)
	defer func() { _ = echo.Stop() }()
	gateway, err := nats.Connect(running.URL())
	require.NoError(b, err)
	defer gateway.Close()

	var inside []float64 // by the consumer's own account, in milliseconds
	request := func(subject string, data []byte) time.Duration {
		began := time.Now()
		reply, err := gateway.Request(subject, data, 5*time.Second)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		if subject != "bench.echo" {
			body = reply.Data // the echo answers as much
			ms, _ := strconv.ParseFloat(reply.Header.Get("Hint-Elapsed-Ms"), 64)
			inside = append(inside, ms)
		}
		return took
	}
	s := &system{}
	var hints, echoes []time.Duration
	n := 0
	one := func(keep bool) {
		n++
		env := s.prompt("bench", "", "can you remind me to water the plants tomorrow at nine?")
		data, err := json.Marshal(env)
		if err != nil {
			b.Fatal(err)
		}
		hint := request("openclaw.request.before_prompt_build.main", data)
		bare := request("bench.echo", data)
		if keep {
			hints, echoes = append(hints, hint), append(echoes, bare)
		}
	}
	for range 200 {
		one(false)
	}
	for b.Loop() {
		one(true)
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		hint, bare := quantile(hints, q.at), quantile(echoes, q.at)
		b.ReportMetric(float64(hint.Microseconds()), "hint-"+q.name+"-µs")
		b.ReportMetric(float64(bare.Microseconds()), "echo-"+q.name+"-µs")
		b.ReportMetric(float64(hint)/float64(bare), q.name+"-ratio")
	}
	slices.Sort(inside)
	b.ReportMetric(inside[len(inside)/2]*1000, "inside-p50-µs")
	b.ReportMetric(0, "ns/op")
}

func quantile(list []time.Duration, at float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(float64(len(sorted))*at), len(sorted)-1)]
}

type discardWriter struct{}

func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkAnswer is what a request costs between receipt and reply.
func BenchmarkAnswer(b *testing.B) {
	runner, metrics := answering(b)
	s := &system{}
	request, err := json.Marshal(s.prompt("bench", "run-00000000", "can you remind me to water the plants tomorrow at nine?"))
	require.NoError(b, err)
	number := request[bytes.Index(request, []byte("00000000")):][:8]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		// A run that was asked before would be answered from memory.
		copy(number, fmt.Sprintf("%08d", i))
		var reply bus.Reply
		answer(b.Context(), runner, metrics, time.Second, bus.Request{Data: request, Received: time.Now()}, func(r bus.Reply) { reply = r })
		if reply.Header.Get(subjects.HeaderSource) != "local" {
			b.Fatal(reply)
		}
	}
}

// answering is what answers requests, without a server.
func answering(t testing.TB) (*handlers.Runner, *telemetry.Metrics) {
	t.Helper()
	cfg := settle(t, nil)
	log := slog.New(slog.DiscardHandler)
	metrics := telemetry.NewMetrics(version)
	live := newLive(cfg, metrics, log, new(slog.LevelVar))
	require.NoError(t, live.load())
	hint := handlers.NewBeforePromptBuild(handlers.NewRuns(), nobody{}, 8<<20, observer{metrics, log}, log)
	require.NoError(t, live.serve(hint))
	runner := handlers.NewRunner(live.hookTimeout, log)
	runner.On(subjects.HookBeforePromptBuild, "hint", 0, hint.Handle, hint.Omitted)
	return runner, metrics
}

func TestARequestThatHasWaitedTooLongIsOverloaded(t *testing.T) {
	runner, metrics := answering(t)
	request, err := json.Marshal((&system{}).prompt("s", "r", "can you remind me to water the plants tomorrow at nine?"))
	require.NoError(t, err)
	for _, row := range []struct {
		name           string
		waited, budget time.Duration
		skip           string
	}{
		{"in time", time.Millisecond, time.Minute, ""},
		{"beyond its deadline", 59 * time.Second, time.Minute, "overloaded"},
		{"nobody could be in time", 0, time.Microsecond, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var reply bus.Reply
			answer(t.Context(), runner, metrics, row.budget, bus.Request{Data: request, Received: time.Now().Add(-row.waited), Traceparent: "00-1-2-01"}, func(r bus.Reply) { reply = r })
			require.Equal(t, row.skip, reply.Header.Get(subjects.HeaderSkip))
			require.Equal(t, row.skip != "", string(reply.Body) == "{}")
			require.NotEmpty(t, reply.Header.Get(subjects.HeaderElapsedMs))
			require.Equal(t, "00-1-2-01", reply.Header.Get(subjects.HeaderTraceparent))
		})
	}
}

// nobody is told of turns.
type nobody struct{}

func (nobody) TurnBegun(_, _, _, _ string, _ []byte)              {}
func (nobody) Claim(context.Context, string, time.Time) time.Time { return time.Time{} }
func (nobody) Release(context.Context, string)                    {}
