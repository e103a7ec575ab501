package app_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/triage/state"
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
		"Everything that is on works.", "<h2>Hints</h2>", "local", "<h2>Sessions</h2>", `<h2><a href="/triage">Triage</a></h2>`, "without a model", "<h2>KnowHub</h2>", "HINT_KNOWHUB",
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

// A stranger on loopback, and the two who have the token.
func TestStrangersSeeNoPage(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{
		"HINT_AUTH": "on", "HINT_HTTP_ADDR": "127.0.0.1:0",
		"HINT_KNOWHUB": `{"enabled":true,"listen":"127.0.0.1:0","requireApproval":true}`,
	})
	file := filepath.Join(s.Config.DataDir, "token")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	token := strings.TrimSpace(string(data))
	for _, path := range []string{"/", "/live", "/turns", "/sessions", "/sessions/s", "/intents", "/deadletters", "/experiences", "/triage"} {
		status, body := page(t, s, path)
		require.Equal(t, http.StatusUnauthorized, status, path)
		require.NotContains(t, body, token)
		status, _ = page(t, s, path, "Authorization", "Bearer guess")
		require.Equal(t, http.StatusUnauthorized, status, path)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		status, body := page(t, s, path)
		require.Equal(t, http.StatusOK, status, path)
		require.NotContains(t, body, token)
	}
	status, _ := page(t, s, "/turns", "Authorization", "Bearer "+token)
	require.Equal(t, http.StatusOK, status)

	// The API of experiences, where a stranger approved as "boss".
	api := regexp.MustCompile(`"serving the API of experiences","part":"knowhub","address":"([^"]+)"`).FindStringSubmatch(s.Log.String())
	require.NotNil(t, api)
	for _, header := range []string{"", "Bearer guess", "Bearer " + token} {
		for method, path := range map[string]string{http.MethodGet: "/api/pending", http.MethodPost: "/api/approve/00000000000000000000000000000000"} {
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+api[1]+path, strings.NewReader(`{"decided_by":"boss"}`))
			require.NoError(t, err)
			r.Header.Set("Authorization", header)
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, strings.HasSuffix(header, token), response.StatusCode != http.StatusUnauthorized, "%s with %q: %d", path, header, response.StatusCode)
		}
	}
	// Who has the link is signed in.
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	link, err := app.PageToken(s.Config)
	require.NoError(t, err)
	response, err := client.Get(app.SignInLink(app.HTTPAddresses(s.Config)[0], link))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "/", response.Request.URL.RequestURI(), "the token is not left in the address")
	response, err = client.Get(app.HTTPAddresses(s.Config)[0] + "/turns")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestAuthenticationOffNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_AUTH": "off", "HINT_HTTP_ADDR": "127.0.0.1:0"})
	require.NoFileExists(t, filepath.Join(s.Config.DataDir, "token"))
	status, _ := page(t, s, "/turns")
	require.Equal(t, http.StatusOK, status)
}

func TestAMessageIsMarkedOnThePageOfTheGate(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_TRIAGE": `{"enabled":true}`})
	require.Equal(t, `skip too_short {"handled":true}`, triageReply(s.Ask(dispatched("1", "k"), time.Minute)))
	status, body := page(t, s, "/triage")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "555: k")
	require.Contains(t, body, "1 message: 0 answered, 1 skipped. 0 marked")
	form := url.Values{"group": {groupKey}, "message": {"1"}, "wrong": {"1"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.HTTPAddresses(s.Config)[0]+"/triage", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSeeOther, response.StatusCode)
	shared := state.Of(app.Layout(s.Config), s.JS)
	s.Eventually("the mark", func() bool {
		marks, err := shared.Marks(t.Context())
		return err == nil && len(marks) == 1 && marks[0].Verdict == state.Respond && marks[0].By == "console" && marks[0].Text == "k"
	})
}

// A day of the page is a day of `consumer stats`.
func TestIntentsAreCountedByDayOfTheUser(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago"} { // 25 hours apart: never on the same day
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			s := start(t, map[string]string{"HINT_USER_TIMEZONE": zone, "HINT_HTTP_ADDR": "127.0.0.1:0"})
			began := time.Now()
			request := s.Prompt("s", "r", "write some code for me please")
			request.TS = began.UnixMilli()
			s.Ask(request, time.Minute)
			s.Eventually("the turn", func() bool { return s.Document("s") != nil })
			_, body := page(t, s, "/intents")
			in, err := time.LoadLocation(zone)
			require.NoError(t, err)
			require.Contains(t, body, "1 turn in all. Most on "+began.In(in).Format("2 January")+":")
		})
	}
}
