package main

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/golden"
	"intenthint/internal/natstest"
)

func TestPrintPlan(t *testing.T) {
	t.Parallel()
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
	golden.Equal(t, "plan.txt", out.String())
}

// The revisions that a process cached of a deleted bucket are not those of the
// one that an operator makes in its place.
func TestApplyCreatesTheSameSessionBucketAsAStart(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s := start(t, map[string]string{"HINT_NATS_URL": ns.ClientURL()})
	require.NoError(t, s.Stop())
	began := time.Now()
	env := s.env.with("HINT_STORE", "kv")
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, env.run(t.Context(), []string{"stream", "apply", "--yes"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "created bucket OPENCLAW_EVENTS_SESSIONS\n")
	stream, err := natstest.JetStream(t, ns).Stream(t.Context(), "KV_OPENCLAW_EVENTS_SESSIONS")
	require.NoError(t, err)
	require.GreaterOrEqual(t, stream.CachedInfo().Config.FirstSeq, uint64(began.UnixMicro()))
}

// Consumers go on with the store that they have: a new one beside it would get half of
// the turns. Once they have stopped, the store is changed, and back.
func TestApplyChangesTheStoreOfAStoppedSystem(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"HINT_NATS_URL": natstest.Start(t, nil).ClientURL()}
	s := start(t, settings)
	file := s.env
	kv := file.with("HINT_STORE", "kv")
	apply := func(env environment, want int, part string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		require.Equal(t, want, env.run(t.Context(), []string{"stream", "apply", "--yes", "--force"}, &stdout, &stderr), stderr.String())
		require.Contains(t, stdout.String()+stderr.String(), part)
	}
	begins := func(env environment) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var stdout, stderr bytes.Buffer
		ended := make(chan int, 1)
		go func() { ended <- env.run(ctx, []string{"run"}, &stdout, &stderr) }()
		select {
		case code := <-ended:
			t.Fatalf("exit %d: %s", code, stderr.String())
		case <-time.After(2 * time.Second):
		}
		cancel()
		require.Equal(t, exitOK, <-ended, stderr.String())
	}
	apply(kv, exitFailed, "stop them first")
	require.NoError(t, s.Stop())
	apply(kv, exitOK, "changed stream OPENCLAW_EVENTS")
	begins(kv)
	apply(file, exitOK, "changed stream OPENCLAW_EVENTS")
	begins(file)
}

// A consumer's user may lack the right to say where its sessions are.
func TestApplyNamesAnAbsoluteSessionsDirectory(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, nil).ClientURL()
	dir := t.TempDir()
	for _, row := range []struct {
		sessions, want string
	}{
		{"sessions", "stream   OPENCLAW_EVENTS      create"},
		{dir, "no sessions directory -> sessions in "},
		{dir, "in order"},
	} {
		var stdout, stderr bytes.Buffer
		env := environment{"HINT_NATS_URL": url, "HINT_SESSIONS_DIR": row.sessions}
		require.Equal(t, exitOK, env.run(t.Context(), []string{"stream", "apply", "--yes"}, &stdout, &stderr), stderr.String())
		require.Contains(t, stdout.String(), row.want)
	}
}

func TestPlanHasTheBucketsThatTheProgramUses(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, tt := range []struct {
		name   string
		given  map[string]string
		claims bool
	}{
		{"no model", nil, false},
		{"a model", map[string]string{"HINT_MODEL": "openai/m"}, true},
		{"a model that is not asked", map[string]string{"HINT_MODEL": "openai/m", "HINT_CLASSIFIER": "local"}, false},
		{"a writer alone", map[string]string{"HINT_WRITER": "openai/m"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := s.env.with("HINT_NATS_URL", s.Bus.URL())
			maps.Copy(env, tt.given)
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitOK, env.run(t.Context(), []string{"stream", "plan"}, &stdout, &stderr), stderr.String())
			require.Equal(t, tt.claims, strings.Contains(stdout.String(), "OPENCLAW_EVENTS_CLAIMS"), stdout.String())
		})
	}
}

func TestPlanOfWhatIsInOrderListsNoDifferences(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	env := s.env.with("HINT_NATS_URL", s.Bus.URL())
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, env.run(t.Context(), []string{"stream", "plan", "--json"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), `"differences": []`)
	require.NotContains(t, stdout.String(), "null")
}

// A command that was started in the wrong directory must not make a system there.
func TestCommandsFindNoSystemWhereThereIsNone(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"file", "kv"} {
		for _, args := range []string{
			"dlq ls", "dlq replay", "intents learnt ls", "knowhub ls", "triage stats",
			"sessions rm --yes s", "sessions rebuild", "feedback r right",
		} {
			t.Run(store+" "+args, func(t *testing.T) {
				t.Parallel()
				data := filepath.Join(t.TempDir(), "data")
				env := settle(t, map[string]string{
					"HINT_DATA_DIR": data, "HINT_STORE": store, "HINT_KNOWHUB": `{"enabled":true}`, "HINT_TRIAGE": `{"enabled":true}`,
				})
				var stdout, stderr bytes.Buffer
				require.Equal(t, exitFailed, env.run(t.Context(), strings.Split(args, " "), &stdout, &stderr))
				require.Contains(t, stderr.String(), "consumer: no system here: ")
				require.Contains(t, stderr.String(), data)
				require.NoDirExists(t, data)
			})
		}
	}
	t.Run("a system that does not run", func(t *testing.T) {
		t.Parallel()
		s := start(t, nil)
		require.NoError(t, s.Stop())
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, s.env.run(t.Context(), []string{"dlq", "ls"}, &stdout, &stderr), stderr.String())
	})
}
