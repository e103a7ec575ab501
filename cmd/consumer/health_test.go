package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	report := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	const ill = `{"status":"failed","checks":{"server":{"ok":false,"reason":"no\nroom"},"events":{"ok":true},"a":{"ok":false,"reason":"late"}}}`
	free := porttest.Free(t)
	for _, row := range []struct {
		name, addr string
		args       []string
		code       int
		out        string // a part of the one line
	}{
		{"healthy", "", []string{"--url", report(200, `{"status":"ok","checks":{}}`)}, exitOK, "ok http://"},
		{"a whole address", "", []string{"--url", report(200, `{"status":"ok","checks":{}}`) + "/healthz"}, exitOK, "/healthz\n"},
		{"not healthy", "", []string{"--url", report(503, ill)}, exitFailed, ": a: late; server: no room\n"},
		{"another program", "", []string{"--url", report(200, "hello")}, exitFailed, "not a consumer (HTTP status 200)"},
		{"not served", "", []string{"--ready", "--url", report(200, `{"status":"ok"}`)}, exitFailed, "/readyz: not a consumer (HTTP status 404)"},
		{"nobody", fmt.Sprintf("127.0.0.1:%d", free), nil, exitFailed, "connection refused"},
		{"an address for every interface", fmt.Sprintf("0.0.0.0:%d", free), nil, exitFailed, fmt.Sprintf("failed http://127.0.0.1:%d/healthz: ", free)},
	} {
		t.Run(row.name, func(t *testing.T) {
			env := settle(t, map[string]string{"HINT_HTTP_ADDR": row.addr})
			var stdout, stderr bytes.Buffer
			require.Equal(t, row.code, env.run(t.Context(), append([]string{"health"}, row.args...), &stdout, &stderr), stderr.String())
			require.Contains(t, stdout.String(), row.out)
			require.Equal(t, 1, strings.Count(stdout.String(), "\n"), stdout.String())
			require.Empty(t, stderr.String())
		})
	}
	t.Run("off", func(t *testing.T) {
		env := settle(t, nil)
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, env.run(t.Context(), []string{"health"}, &stdout, &stderr))
		require.Contains(t, stderr.String(), "HINT_HTTP_ADDR is off")
	})
	t.Run("not a URL", func(t *testing.T) {
		env := settle(t, nil)
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, env.run(t.Context(), []string{"health", "--url", "localhost:8377"}, &stdout, &stderr))
	})
}

// Where the port is not in the settings, the data directory tells it.
func TestHealthFindsAConsumerOnAFreePort(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"})
	file := filepath.Join(s.Config.DataDir, "http.url")
	require.FileExists(t, file)
	for _, args := range [][]string{{"health"}, {"health", "--ready"}} {
		var stdout, stderr bytes.Buffer
		require.Zero(t, s.env.run(t.Context(), args, &stdout, &stderr), stdout.String()+stderr.String())
		require.True(t, strings.HasPrefix(stdout.String(), "ok http://127.0.0.1:"), stdout.String())
	}
	// A file that a killed process has left.
	stale, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, s.Stop())
	require.NoFileExists(t, file)
	require.NoError(t, os.WriteFile(file, stale, 0o600))
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, s.env.run(t.Context(), []string{"health"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "connection refused")
}

// The settings name the port of most consumers, and no file is needed.
func TestHealthOfAChosenPortNeedsNoFile(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))})
	require.NoFileExists(t, filepath.Join(s.Config.DataDir, "http.url"))
	var stdout, stderr bytes.Buffer
	require.Zero(t, s.env.run(t.Context(), []string{"health"}, &stdout, &stderr), stdout.String())
}
