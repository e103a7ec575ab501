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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/internal/access"
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

// entered connects as a user of the data directory.
func (s *system) entered(user string) *nats.Conn {
	s.t.Helper()
	c, err := access.ReadContext(s.env["HINT_DATA_DIR"], user)
	require.NoError(s.t, err)
	nc, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectWait(50*time.Millisecond))
	require.NoError(s.t, err)
	s.t.Cleanup(nc.Close)
	return nc
}

// With the default of HINT_AUTH the embedded server takes users of the data directory
// only, before and after another process has started it again.
func TestServerWantsAUser(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_AUTH": "", "HINT_LOG_FORMAT": "json"})
	first := s.start()
	first.logs(`"msg":"ready"`)
	second := s.start()
	second.logs(`"msg":"ready"`)
	second.logs("joined running NATS server")
	_, err := nats.Connect(s.url())
	require.ErrorIs(t, err, nats.ErrAuthorization)

	gateway := s.entered(access.Gateway)
	js, err := jetstream.New(gateway)
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "openclaw.event.session_start.main.s1", []byte(`{"hook": "session_start", "event": {}, "ctx": {"sessionId": "s1"}, "ts": 1763680000123, "id": "e1"}`))
	require.NoError(t, err)
	asked := s.run("ask", "--session", "s2", "can you review my pull request?")
	require.Zero(t, asked.code, asked.stderr)

	first.kill()
	began := time.Now()
	second.logs("NATS server of another process has gone, started it here")
	require.Less(t, time.Since(began), 5*time.Second)
	_, err = nats.Connect(s.url())
	require.ErrorIs(t, err, nats.ErrAuthorization)
	require.Eventually(t, gateway.IsConnected, 10*time.Second, 10*time.Millisecond, "the gateway's password is the same")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		listed := s.run("stream", "plan")
		assert.Zero(c, listed.code, listed.stderr)
	}, 10*time.Second, 100*time.Millisecond)
	require.Contains(t, s.run("sessions", "ls").stdout, "s2")
	second.stop()

	// A stranger's server at the port.
	other := newSystem(t, settings{"HINT_AUTH": "", "HINT_NATS_PORT": s.env["HINT_NATS_PORT"]})
	theirs := other.start()
	theirs.logs("ready")
	refused := s.run("run")
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.stderr, "is not the NATS server of data directory")
	theirs.stop()

	// Without authentication, and with it again, everything is still there.
	s.env["HINT_AUTH"] = "off"
	open := s.start()
	open.logs(`"msg":"ready"`)
	nc, err := nats.Connect(s.url())
	require.NoError(t, err)
	nc.Close()
	require.Contains(t, s.run("sessions", "ls").stdout, "s2")
	open.stop()
	delete(s.env, "HINT_AUTH")
	again := s.start()
	again.logs(`"msg":"ready"`)
	require.Contains(t, s.run("stream", "plan").stdout, "in order")
	again.stop()
}
