package app_test

import (
	"bytes"
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

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/bus"
	"intenthint/subjects"
)

// BenchmarkHint compares a local hint with a bare echo service on the same
// server and connection, one after the other in pairs, so that the ratio holds
// on a busy machine. Both are over loopback TCP.
func BenchmarkHint(b *testing.B) {
	cfg := apptest.Settle(b, nil)
	a := app.New(cfg, app.Options{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar)})
	defer func() { require.NoError(b, a.Stop()) }()
	require.NoError(b, a.Start(b.Context()))
	running := a.Bus()

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
	s := &apptest.System{}
	var hints, echoes []time.Duration
	n := 0
	one := func(keep bool) {
		n++
		env := s.Prompt("bench", "", "can you remind me to water the plants tomorrow at nine?")
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

// BenchmarkAnswer is what a request costs between receipt and reply.
func BenchmarkAnswer(b *testing.B) {
	runner, err := app.NewAnswering(apptest.Settle(b, nil))
	require.NoError(b, err)
	s := &apptest.System{}
	request, err := json.Marshal(s.Prompt("bench", "run-00000000", "can you remind me to water the plants tomorrow at nine?"))
	require.NoError(b, err)
	number := request[bytes.Index(request, []byte("00000000")):][:8]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		// A run that was asked before would be answered from memory.
		copy(number, fmt.Sprintf("%08d", i))
		var reply bus.Reply
		runner.Answer(b.Context(), bus.Request{Data: request, Received: time.Now()}, func(r bus.Reply) { reply = r })
		if reply.Header.Get(subjects.HeaderSource) != "local" {
			b.Fatal(reply)
		}
	}
}
