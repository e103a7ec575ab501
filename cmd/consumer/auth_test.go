package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/internal/access"
	"intenthint/internal/porttest"
)

// With the default of HINT_AUTH every command finds its user in the data directory, and
// has the rights that it needs.
func TestCommandsFindTheirUser(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, map[string]string{
				"HINT_AUTH": "on", "HINT_STORE": kind, "HINT_LEARN": "auto", "HINT_INTENTS_DIR": apptest.WriteIntents(t), "HINT_HTTP_ADDR": "127.0.0.1:0",
				"HINT_KNOWHUB": `{"enabled": true, "listen": "127.0.0.1:0"}`, "HINT_TRIAGE": `{"enabled": true}`,
			})
			run := func(args ...string) string {
				t.Helper()
				var stdout, stderr bytes.Buffer
				require.Zero(t, s.env.run(t.Context(), args, &stdout, &stderr), "%s: %s%s", args, stdout.String(), stderr.String())
				require.NotContains(t, stderr.String(), "ermission")
				return stdout.String()
			}
			c, err := access.ReadContext(s.Config.DataDir, access.Gateway)
			require.NoError(t, err)
			gateway, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password))
			require.NoError(t, err)
			defer gateway.Close()
			_, err = gateway.Request("openclaw.knowhub.submit", []byte(`{"task": "Deploy the shop", "resource": "wrangler", "result": "Needs --env production"}`), time.Minute)
			require.NoError(t, err)
			_, err = gateway.Request("openclaw.event.after_tool_call.main.x", []byte("no event"), time.Minute)
			require.NoError(t, err)
			s.Eventually("the dead letter is there", func() bool { return run("dlq", "ls", "--json") != "[]\n" })

			run("ask", "--session", "s1", "can you review my pull request?")
			s.Eventually("the session is there", func() bool { return bytes.Contains([]byte(run("sessions", "ls")), []byte("s1")) })
			for _, args := range [][]string{
				{"sessions", "show", "s1"},
				{"sessions", "turns", "--jsonl"},
				{"sessions", "export", t.TempDir()},
				{"sessions", "rebuild"},
				{"stats"},
				{"stats", "--effect"},
				{"improve"},
				{"replay"},
				{"intents", "learnt", "ls"},
				{"triage", "stats"},
				{"triage", "examples", "ls"},
				{"triage", "try", "agent:main:telegram:group:-1", "hello there"},
				{"knowhub", "ls"},
				{"knowhub", "search", "shop"},
				{"knowhub", "export"},
				{"stream", "plan"},
				{"stream", "apply", "--yes"},
				{"doctor"},
				{"health"},
				{"open"},
				{"dlq", "ls"},
				{"dlq", "replay", "--all", "--yes"},
				{"dlq", "rm", "--all", "--yes"},
				{"sessions", "rm", "s1", "--yes"},
			} {
				run(args...)
			}
		})
	}
}

// From another directory, and for another user of the machine, who may not read the files,
// a command says what to do.
func TestCommandsOfStrangers(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_AUTH": "on", "HINT_INTENTS_DIR": apptest.WriteIntents(t), "HINT_KNOWHUB": `{"enabled": true, "listen": "127.0.0.1:0"}`})
	env["HINT_NATS_PORT"] = strconv.Itoa(porttest.Free(t))
	launch(t, env)
	for _, args := range [][]string{{"ask", "hello"}, {"dlq", "ls"}, {"sessions", "ls"}, {"stream", "plan"}, {"knowhub", "ls"}, {"doctor"}, {"run"}} {
		other := env.with("HINT_DATA_DIR", filepath.Join(t.TempDir(), "data"))
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, other.run(t.Context(), args, &stdout, &stderr), args)
		said := stdout.String() + stderr.String()
		require.Contains(t, said, "the program at 127.0.0.1:"+env["HINT_NATS_PORT"]+" is not the NATS server of data directory "+other["HINT_DATA_DIR"], args)
		require.Contains(t, said, "HINT_DATA_DIR", args)
		if args[0] != "run" {
			require.NoDirExists(t, other["HINT_DATA_DIR"], "%s creates nothing", args)
		}
	}
	// With the address, but without the files.
	other := env.with("HINT_DATA_DIR", t.TempDir()).with("HINT_NATS_URL", "nats://127.0.0.1:"+env["HINT_NATS_PORT"])
	var stderr bytes.Buffer
	require.Equal(t, exitFailed, other.run(t.Context(), []string{"ask", "hello"}, &stderr, &stderr))
	require.Contains(t, stderr.String(), "Authorization Violation")
	require.Contains(t, stderr.String(), "HINT_DATA_DIR")

	if os.Getuid() == 0 {
		return // may read everything
	}
	require.NoError(t, os.Chmod(env["HINT_DATA_DIR"], 0))
	defer func() { require.NoError(t, os.Chmod(env["HINT_DATA_DIR"], 0o700)) }() //nolint:gosec // a directory
	stderr.Reset()
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"dlq", "ls"}, &stderr, &stderr))
	require.Contains(t, stderr.String(), "which this user may not read")
}
