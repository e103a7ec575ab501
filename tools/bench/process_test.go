package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

func TestParseProcessorTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stat string
		want       time.Duration
	}{
		{"plain", "12 (consumer) S 1 12 12 0 -1 4194304 500 0 3 0 150 25 0 0 20 0 9 0 100 0 0", 1750 * time.Millisecond},
		{"brackets and spaces in the name", "12 (a ) b (c) S 1 12 12 0 -1 4194304 500 0 3 0 1 2 0 0 20 0 9 0", 30 * time.Millisecond},
		{"cut short", "12 (consumer) S 1 12", 0},
		{"empty", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, parseProcessorTime([]byte(tt.stat)))
		})
	}
}

func TestParseMemory(t *testing.T) {
	t.Parallel()
	now, peak := parseMemory([]byte("Name:\tconsumer\nVmPeak:\t 999999 kB\nVmHWM:\t   65536 kB\nVmRSS:\t   51200 kB\nThreads:\t9\n"))
	require.Equal(t, int64(50<<20), now)
	require.Equal(t, int64(64<<20), peak)
	now, peak = parseMemory(nil)
	require.Zero(t, now+peak)
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       logLine
		show       bool
	}{
		{
			"ready", `{"time":"2026-11-21T05:18:35Z","level":"INFO","msg":"ready","took_ms":42,"nats_ms":31,"nats":"nats://127.0.0.1:4222"}` + "\n",
			logLine{Level: "INFO", Msg: "ready", NATS: "nats://127.0.0.1:4222", NATSMs: 31},
			false,
		},
		{"something else", `{"level":"INFO","msg":"stopping"}`, logLine{Level: "INFO", Msg: "stopping"}, false},
		{"a warning", `{"level":"WARN","msg":"hot"}`, logLine{Level: "WARN", Msg: "hot"}, true},
		{"a panic", "panic: oh", logLine{}, true},
		{"cut short", `{"msg":"ready`, logLine{}, true},
		{"the end", "", logLine{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, show := parseLine([]byte(tt.line))
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.show, show)
		})
	}
}

func TestNATSConf(t *testing.T) {
	t.Parallel()
	for sync, always := range map[string]bool{syncAlways: true, syncDefault: false} {
		var opts server.Options
		require.NoError(t, opts.ProcessConfigString(natsConf(sync)), sync)
		require.Equal(t, always, opts.SyncAlways, sync)
		require.Equal(t, int32(8<<20), opts.MaxPayload, "the other settings stay")
	}
}

func TestCopyTree(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.MkdirAll(filepath.Join(from, "a", "empty"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a", "b"), []byte("text"), 0o600))
	require.NoError(t, copyTree(from, to))
	data, err := os.ReadFile(filepath.Join(to, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	require.DirExists(t, filepath.Join(to, "a", "empty"))
	require.Error(t, copyTree(filepath.Join(from, "none"), to))
}
