package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want func(*settings)
	}{
		{"no arguments", nil, func(*settings) {}},
		{"parts", []string{"-only", "hint,events"}, func(s *settings) { s.only = []string{"hint", "events"} }},
		{"quick", []string{"-quick"}, func(s *settings) { *s = quick }},
		{"quick with a larger number", []string{"-n", "7", "--quick"}, func(s *settings) { *s = quick; s.requests = 7 }},
		{"interleaved sessions", []string{"-interleaved-sessions", "10", "-interleaved-calls", "1,2", "-interleaved-events", "9"}, func(s *settings) {
			s.interleavedSessions, s.interleavedCalls, s.interleavedEvents = []int{10}, []int{1, 2}, 9
		}},
		{"consumers", []string{"-consumers", "3,1"}, func(s *settings) { s.consumers = []int{3, 1} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := full
			tt.want(&want)
			got, err := parse(tt.args, &strings.Builder{})
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown part", []string{"-only", "hint,speed"}, `no part "speed"`},
		{"zero consumers", []string{"-consumers", "1,0"}, `not a positive number: "0"`},
		{"zero calls", []string{"-interleaved-calls", "5,0"}, `not a positive number: "0"`},
		{"zero requests", []string{"-n", "0"}, "must be positive"},
		{"zero time", []string{"-t", "0s"}, "must be positive"},
		{"negative pause", []string{"-pause", "-1s"}, "must be positive"},
		{"an argument", []string{"hint"}, `unexpected argument "hint"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stderr strings.Builder
			_, err := parse(tt.args, &stderr)
			require.ErrorIs(t, err, errUsage)
			require.Contains(t, stderr.String(), tt.want)
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	_, err := parse([]string{"-help"}, &stderr)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, p := range parts {
		require.Contains(t, stderr.String(), p.about)
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	m := machine{Date: "2026-11-21", CPUs: 2, GOMAXPROCS: 2, System: "linux/amd64", Go: "go1.26", NATSServer: "2.15.2"}
	require.Equal(t, "2026-11-21, 2 CPUs, linux/amd64, go1.26, nats-server 2.15.2", m.String())
	m.CPU, m.GOMAXPROCS, m.Load = "Model", 1, "0.10"
	require.Equal(t, "2026-11-21, 2 CPUs (Model), GOMAXPROCS 1, linux/amd64, go1.26, nats-server 2.15.2, load at the start 0.10", m.String())
	m.LoadAfter, m.SyncBefore, m.SyncAfter = "1.50", 0.0003, 0.002
	require.Equal(t, "2026-11-21, 2 CPUs (Model), GOMAXPROCS 1, linux/amd64, go1.26, nats-server 2.15.2, load at the start 0.10, at the end 1.50, a sync of 2 kB 300 µs at the start, 2.00 ms at the end", m.String())
}
