package app_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/app"
)

// page is a page of a system, and the status with which it came.
func page(t *testing.T, s *system, path string, header ...string) (status int, body string) {
	t.Helper()
	address := app.HTTPAddresses(s.Config)[0]
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(data)
}

func TestTheOverviewNamesTheParts(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_TRIAGE": `{"enabled":true}`})
	status, body := page(t, s, "/")
	require.Equal(t, http.StatusOK, status)
	for _, want := range []string{
		"Everything that is on works.", "<h2>Hints</h2>", "local", "<h2>Sessions</h2>", "<h2>Triage</h2>", "without a model", "<h2>KnowHub</h2>", "HINT_KNOWHUB",
		"<h2>NATS</h2>", "connected", "in this process", `<a href="/healthz">Health</a>`, `<a href="/readyz">Ready</a>`,
	} {
		require.Contains(t, body, want)
	}
	status, _ = page(t, s, "/", "Host", "evil.example")
	require.Equal(t, http.StatusForbidden, status)
	status, _ = page(t, s, "/healthz", "Host", "evil.example")
	require.Equal(t, http.StatusOK, status, "checks are answered as before")

	// A part with a fault.
	require.NoError(t, os.Rename(s.Config.Store.SessionsDir, s.Config.Store.SessionsDir+".away"))
	require.NoError(t, os.WriteFile(s.Config.Store.SessionsDir, nil, 0o600))
	s.Eventually("the overview tells", func() bool {
		_, body := page(t, s, "/")
		return strings.Contains(body, `"part fault"`) && strings.Contains(body, filepath.Base(s.Config.Store.SessionsDir))
	})
}

func TestPagesNeedTheTokenThatIsSet(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_HTTP_TOKEN": "open sesame"})
	status, _ := page(t, s, "/")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = page(t, s, "/", "Authorization", "Bearer open sesame")
	require.Equal(t, http.StatusOK, status)
	status, _ = page(t, s, "/metrics")
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, s.Log.String(), "open sesame")
}
