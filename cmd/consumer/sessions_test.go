package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/natstest"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func one(f store.Fact) []store.Fact { return []store.Fact{f} }

func TestExportWritesEitherStoreAsFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			env := settle(t, map[string]string{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "1"})
			cfg := env.config(t)
			var stdout, stderr bytes.Buffer
			inv := &cli.Invocation{Ctx: t.Context(), Config: cfg, Stdout: &stdout, Stderr: &stderr}
			sessions, closeStore := storeOf(t, inv)
			reference, err := file.Open(t.TempDir(), store.Options{HistoryLimit: 1})
			require.NoError(t, err)
			for _, s := range []store.Store{sessions, reference} {
				require.NoError(t, s.Apply(t.Context(), one(storetest.Begin("short/id", "r", 0))))
				// Named as the token of the one before.
				require.NoError(t, s.Apply(t.Context(), one(storetest.Begin("short=2Fid", "r", 0))))
				for n := range int64(4) {
					require.NoError(t, s.Apply(t.Context(), one(storetest.Begin("long", fmt.Sprint("r", n), n))))
				}
				require.NoError(t, s.Apply(t.Context(), one(storetest.Call("untracked", "cron", 0))))
			}
			closeStore()

			dir := filepath.Join(t.TempDir(), "deep", "export")
			run := func() (code int, out, errs string) {
				stdout.Reset()
				stderr.Reset()
				code = env.run(t.Context(), []string{"sessions", "export", dir}, &stdout, &stderr)
				return code, stdout.String(), stderr.String()
			}
			for range 2 {
				code, out, errs := run()
				require.Zero(t, code, errs)
				require.Equal(t, "wrote 3 sessions to "+dir+", 1 of them with a history\n", out)
				// What was there before is replaced, and nothing else touched.
				require.NoError(t, os.WriteFile(filepath.Join(dir, "long.json"), []byte("old"), 0o600))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), []byte("mine"), 0o600))
			}
			code, _, errs := run()
			require.Zero(t, code, errs)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			names := []string{}
			for _, e := range entries {
				info, err := e.Info()
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode(), e.Name())
				names = append(names, e.Name())
			}
			require.Equal(t, []string{"long.history.jsonl", "long.json", "mine", "short=2Fid.json", "short=3D2Fid.json"}, names)
			for _, name := range []string{"long.history.jsonl", "long.json", "short=2Fid.json", "short=3D2Fid.json"} {
				want, err := os.ReadFile(filepath.Join(reference.Dir(), name))
				require.NoError(t, err)
				got, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), name)
			}

			t.Run("and they are listed and shown", func(t *testing.T) {
				stdout.Reset()
				require.Zero(t, env.run(t.Context(), []string{"sessions", "ls", "--json"}, &stdout, &stderr), stderr.String())
				var list []map[string]any
				require.NoError(t, json.Unmarshal(stdout.Bytes(), &list))
				require.Len(t, list, 3)
				stdout.Reset()
				require.Zero(t, env.run(t.Context(), []string{"sessions", "show", "short/id"}, &stdout, &stderr), stderr.String())
				want, err := reference.Get(t.Context(), "short/id")
				require.NoError(t, err)
				require.JSONEq(t, string(want), stdout.String())
			})
		})
	}
}

func TestSessionsShowFindsASessionByItsKey(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	sessions, err := app.OpenStore(t.Context(), env.config(t), nil, nil, nil)
	require.NoError(t, err)
	const key = "agent:main:telegram:direct:7"
	for n, id := range []string{"older", "newer"} {
		f := storetest.Begin(id, "r", int64(n))
		f.SessionKey = key
		require.NoError(t, sessions.Apply(t.Context(), one(f)))
		// The list has the session that changed last first, by the time of its file.
		changed := time.Now().Add(time.Duration(n-2) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(env["HINT_DATA_DIR"], "sessions", id+".json"), changed, changed))
	}
	for _, row := range []struct {
		name, id string
		code     int
		shows    string
	}{
		{"an id", "older", exitOK, `"sessionId": "older"`},
		{"a key of two sessions: the one that changed last", key, exitOK, `"sessionId": "newer"`},
		{"neither", "agent:main:telegram:direct:8", exitFailed, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, row.code, env.run(t.Context(), []string{"sessions", "show", row.id}, &stdout, &stderr), stderr.String())
			require.Contains(t, stdout.String(), row.shows)
			if row.code != exitOK {
				require.Contains(t, stderr.String(), `no session "agent:main:telegram:direct:8"`)
			}
		})
	}
}

func TestListsShowNoControlCharacters(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	sessions, err := app.OpenStore(t.Context(), env.config(t), nil, nil, nil)
	require.NoError(t, err)
	f := storetest.Begin("\x1b[2Js\n1", "r", 0)
	f.AgentID = "main\n\x1b]0;mine\a"
	f.Begin.Input = "hello\x1b[31m\u202ethere"
	require.NoError(t, sessions.Apply(t.Context(), one(f)))
	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), []string{"sessions", "ls"}, &stdout, &stderr), stderr.String())
	require.Equal(t, 2, strings.Count(stdout.String(), "\n"), "a head and a session: %q", stdout.String())
	require.Equal(t, -1, strings.IndexFunc(stdout.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }), "%q", stdout.String())
	require.Contains(t, stdout.String(), "hello")
}

func TestExportReportsUnwrittenSessions(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	cfg := env.config(t)
	sessions, err := app.OpenStore(t.Context(), cfg, nil, nil, nil)
	require.NoError(t, err)
	require.NoError(t, sessions.Apply(t.Context(), one(storetest.Begin("good", "r", 0))))
	require.NoError(t, sessions.Apply(t.Context(), one(storetest.Begin("taken", "r", 0))))
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "taken.json", "by a directory"), 0o700))
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "export", dir}, &stdout, &stderr))
	require.Equal(t, "wrote 1 session to "+dir+", 0 of them with a history\n", stdout.String())
	require.Contains(t, stderr.String(), "taken.json")
	require.Contains(t, stderr.String(), "not written: 1 session")
	require.FileExists(t, filepath.Join(dir, "good.json"))

	stderr.Reset()
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "export", cfg.Store.SessionsDir}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "is the session directory itself")
}

// The current directory is not what a script's unset variable names.
func TestBlankPathIsAUsageError(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	for _, args := range [][]string{{"sessions", "export", ""}, {"intents", "lint", ""}, {"intents", "import", ""}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, env.run(t.Context(), args, &stdout, &stderr), args)
		require.Contains(t, stderr.String(), "the path must not be blank", args)
		require.Empty(t, stdout.String())
	}
}

func TestReadingCommandsCreateNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	env := settle(t, map[string]string{"HINT_STORE": "file", "HINT_DATA_DIR": dir, "HINT_SESSIONS_DIR": ""})
	export := filepath.Join(t.TempDir(), "export")
	for _, args := range []string{
		"sessions ls", "sessions show s", "sessions turns", "sessions turns --jsonl", "sessions export " + export, "stats", "stats --json",
		"replay --json", "improve --json", "intents learn --dry-run",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, env.run(t.Context(), strings.Fields(args), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), cli.ErrNoSystem.Error(), args)
		require.Empty(t, stdout.String(), args)
		require.NoDirExists(t, dir, args)
	}
	require.NoDirExists(t, export)

	// Copied session files need no system.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sessions"), 0o700))
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, env.run(t.Context(), []string{"sessions", "ls"}, &stdout, &stderr), stderr.String())
	require.Equal(t, "no sessions in "+filepath.Join(dir, "sessions")+"\n", stderr.String())
}

// A mistyped HINT_STREAM must not make a second set of buckets.
func TestReadingCommandsCreateNothingOnAServer(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	env := settle(t, map[string]string{
		"HINT_STORE": "kv", "HINT_NATS_URL": ns.ClientURL(), "HINT_TRIAGE": `{"enabled":true}`, "HINT_KNOWHUB": `{"enabled":true}`,
	})
	for _, args := range []string{
		"sessions ls", "sessions show x", "triage stats", "triage examples ls", "triage try g text", "knowhub ls", "knowhub search x", "dlq ls",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, env.run(t.Context(), strings.Fields(args), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), cli.ErrNoSystem.Error(), args)
		require.Empty(t, stdout.String(), args)
	}
	for name := range natstest.JetStream(t, ns).StreamNames(t.Context()).Name() {
		t.Errorf("stream %s was created", name)
	}
}

// A new system has no session files yet.
func TestSessionsOfANewSystem(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	dir := filepath.Join(t.TempDir(), "elsewhere")
	env := settle(t, map[string]string{"HINT_STORE": "file", "HINT_NATS_URL": ns.ClientURL(), "HINT_SESSIONS_DIR": dir})
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, env.run(t.Context(), []string{"stream", "apply", "--yes"}, &stdout, &stderr), stderr.String())
	stderr.Reset()
	require.Equal(t, exitOK, env.run(t.Context(), []string{"sessions", "ls"}, &stdout, &stderr), stderr.String())
	require.Equal(t, "no sessions in "+dir+", which does not exist\n", stderr.String())
}

// A reader of an empty store would look as if there were no sessions.
func TestReadingCommandsNeedTheStoreOfTheSystem(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ system, reader string }{
		"another directory":       {"file", "file"},
		"a bucket beside files":   {"file", "kv"},
		"files beside the bucket": {"kv", "file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, map[string]string{"HINT_STORE": row.system})
			dir := filepath.Join(t.TempDir(), "sessions")
			env := settle(t, map[string]string{"HINT_NATS_URL": s.Bus.URL(), "HINT_STORE": row.reader, "HINT_SESSIONS_DIR": dir})
			export := filepath.Join(t.TempDir(), "export")
			for _, args := range []string{
				"sessions ls", "sessions show one", "sessions turns", "sessions export " + export, "stats", "replay --json", "improve --json",
				"intents learn --dry-run", "feedback r1 right",
			} {
				var stdout, stderr bytes.Buffer
				require.Equal(t, exitFailed, env.run(t.Context(), strings.Fields(args), &stdout, &stderr), args)
				require.Contains(t, stderr.String(), "session store of another system", args)
				require.Regexp(t, "; set (its )?HINT_", stderr.String(), args)
				require.Empty(t, stdout.String(), args)
			}
			require.NoDirExists(t, dir)
			require.NoDirExists(t, export)
			if row.system == "file" {
				_, err := s.JS.KeyValue(t.Context(), "OPENCLAW_EVENTS_SESSIONS")
				require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
			}
		})
	}
}

func TestReadingCommandsCreateNoBucketOfSessions(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	js := natstest.JetStream(t, ns)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OPENCLAW_EVENTS", Subjects: []string{"openclaw.event.>"}})
	require.NoError(t, err)
	env := settle(t, map[string]string{"HINT_STORE": "kv", "HINT_NATS_URL": ns.ClientURL()})
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "ls"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "no system here: the server has no bucket OPENCLAW_EVENTS_SESSIONS; check HINT_STORE and HINT_STREAM")
	_, err = js.KeyValue(t.Context(), "OPENCLAW_EVENTS_SESSIONS")
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
}

func TestSessionsShowOfADamagedFileFails(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	sessions, err := app.OpenStore(t.Context(), env.config(t), nil, nil, nil)
	require.NoError(t, err)
	require.NoError(t, sessions.Apply(t.Context(), one(storetest.Begin("s", "r", 0))))
	for _, content := range []string{"", "{", "[]", "null", `"x"`, `{"history":{}}`, `{"current":[],"history":[]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(env["HINT_DATA_DIR"], "sessions", "s.json"), []byte(content), 0o600))
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "show", "s"}, &stdout, &stderr), content)
		require.Empty(t, stdout.String())
		require.Contains(t, stderr.String(), "corrupt session document", content)
	}
}
