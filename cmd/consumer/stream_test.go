package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
)

func TestPrintPlan(t *testing.T) {
	var out bytes.Buffer
	printPlan(&out, []bus.Target{
		{Kind: bus.KindStream, Name: "OPENCLAW_EVENTS", Differences: []bus.Difference{
			{Field: "storage", From: "memory", To: "file", Recreate: true, Effect: "what it holds is gone when the server restarts"},
			{Field: "max_bytes", From: "64 MiB", To: "50 KiB", Loss: "it holds 107700 B"},
		}},
		{Kind: bus.KindStream, Name: "OPENCLAW_EVENTS_DLQ"},
		{Kind: bus.KindDurable, Name: "intent-hint", Differences: []bus.Difference{{Field: "ack_wait", From: "30s", To: "10s"}}},
		{Kind: bus.KindBucket, Name: "OPENCLAW_EVENTS_CLAIMS", Missing: true},
	})
	path := filepath.Join("testdata", "plan.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func TestOnlyYesIsYes(t *testing.T) {
	for _, row := range []struct {
		name, typed string
		yes         bool
	}{
		{"y", "y\n", true},
		{"YES with spaces", " YES \n", true},
		{"nothing", "\n", false},
		{"no", "no\n", false},
		{"end of input", "", false},
		{"y without a new line", "y", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			err := ask(strings.NewReader(row.typed), &out, "Really?")
			require.Equal(t, "Really? [y/N] ", out.String())
			if row.yes {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "nothing was changed")
		})
	}
	inv := &invocation{ctx: context.Background(), stdin: strings.NewReader("y\n")}
	require.ErrorContains(t, inv.confirm("Really?", false), "--yes", "nobody sits at a pipe")
	require.NoError(t, inv.confirm("Really?", true))
}

// What a process remembers of a bucket that was deleted is no revision of the
// one that an operator makes in its place.
func TestApplyMakesTheBucketOfSessionsAsAStartDoes(t *testing.T) {
	s := start(t, nil)
	began := time.Now()
	t.Setenv("HINT_NATS_URL", s.Bus.URL())
	t.Setenv("HINT_STORE", "kv")
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, runContext(t.Context(), []string{"stream", "apply", "--yes"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "created bucket OPENCLAW_EVENTS_SESSIONS\n")
	stream, err := s.Bus.JS.Stream(t.Context(), "KV_OPENCLAW_EVENTS_SESSIONS")
	require.NoError(t, err)
	cfg := stream.CachedInfo().Config
	require.GreaterOrEqual(t, cfg.FirstSeq, uint64(began.UnixMicro()))

	// One that was made by other means takes no batches.
	require.True(t, cfg.AllowAtomicPublish)
	cfg.AllowAtomicPublish = false
	_, err = s.Bus.JS.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	stdout.Reset()
	require.Equal(t, exitOK, runContext(t.Context(), []string{"stream", "apply", "--yes"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "allow_atomic")
	stream, err = s.Bus.JS.Stream(t.Context(), "KV_OPENCLAW_EVENTS_SESSIONS")
	require.NoError(t, err)
	require.True(t, stream.CachedInfo().Config.AllowAtomicPublish)
}
