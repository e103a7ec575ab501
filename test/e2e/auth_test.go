//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// status returns the status of a page for a client that may have no cookies.
func status(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	r, err := client.Get(url)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r.StatusCode
}

// With the default of HINT_AUTH a stranger on loopback sees no page, and who starts the
// program has a link in the first line.
func TestPagesWantTheToken(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_AUTH": "", "HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_LOG_FORMAT": "json"})
	p := s.start()
	p.logs(`"msg":"ready"`)
	line, _, _ := strings.Cut(p.stderr.String(), "\n")
	var first struct{ Msg, Pages string }
	require.NoError(t, json.Unmarshal([]byte(line), &first))
	require.Equal(t, "starting", first.Msg)
	base, _, found := strings.Cut(first.Pages, "/sign-in?token=")
	require.True(t, found, line)

	require.Equal(t, http.StatusUnauthorized, status(t, http.DefaultClient, base+"/turns"))
	require.Equal(t, http.StatusOK, status(t, http.DefaultClient, base+"/readyz"))
	opened := s.run("open")
	require.Zero(t, opened.code, opened.stderr)
	require.Equal(t, first.Pages+"\n", opened.stdout)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	require.Equal(t, http.StatusOK, status(t, browser, first.Pages))
	require.Equal(t, http.StatusOK, status(t, browser, base+"/turns"))

	// The next start has the same token.
	token, err := os.ReadFile(filepath.Join(s.env["HINT_DATA_DIR"], "token"))
	require.NoError(t, err)
	p.stop()
	next := s.start()
	next.logs(`"msg":"ready"`)
	require.Contains(t, next.stderr.String(), "/sign-in?token="+strings.TrimSpace(string(token)))
	next.stop()
	require.NotContains(t, next.stderr.String(), "authentication off")

	s.env["HINT_AUTH"] = "off"
	open := s.start()
	open.logs(`"msg":"ready"`)
	open.logs(`"level":"WARN","msg":"authentication off`)
	require.NotContains(t, open.stderr.String(), "/sign-in?token=")
	open.stop()
}
