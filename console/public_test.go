package console_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
)

func public(o *console.Options) {
	o.Token, o.Public = token, []string{"https://hints.example.org/intent", "http://other.example.org:8080"}
}

func TestTheCookieOfAPublicName(t *testing.T) {
	for _, row := range []struct {
		name, host, protocol, path string
		secure                     bool
	}{
		{"this machine", "localhost:8377", "", "/", false},
		{"below a base path", "hints.example.org", "https", "/intent", true},
		{"behind a proxy without TLS", "hints.example.org", "http", "/intent", false},
		{"without a base path", "other.example.org", "", "/", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newSite(t, public).post("/sign-in", url.Values{"token": {token}}, "Host", row.host, "X-Forwarded-Proto", row.protocol)
			require.Equal(t, http.StatusSeeOther, r.StatusCode)
			require.Equal(t, "./", r.Header.Get("Location"))
			require.Len(t, r.Cookies(), 1)
			require.Equal(t, row.path, r.Cookies()[0].Path)
			require.Equal(t, row.secure, r.Cookies()[0].Secure)
		})
	}
}

func TestTheOriginOfAPublicName(t *testing.T) {
	for origin, want := range map[string]int{
		"https://hints.example.org":      http.StatusSeeOther,
		"http://other.example.org:8080":  http.StatusSeeOther,
		"http://hints.example.org":       http.StatusForbidden,
		"https://hints.example.org:8443": http.StatusForbidden,
		"https://evil.example.org":       http.StatusForbidden,
	} {
		t.Run(origin, func(t *testing.T) {
			// A proxy that does not pass the Host on, and a browser without Sec-Fetch-Site.
			r := newSite(t, public).post("/turns", rightTurn, "Host", "127.0.0.1:8377", "Origin", origin, "Authorization", "Bearer "+token)
			require.Equal(t, want, r.StatusCode)
		})
	}
}

func TestLinksAreRelativeBehindAProxyOnly(t *testing.T) {
	for at, root := range map[string]string{
		"/": "./", "/turns": "./", "/sessions/s": "./../", "/sessions/a%2Fb": "./../", "/experiences/x/delete": "./../../", "/triage/a/b/c": "./../../../",
	} {
		t.Run(at, func(t *testing.T) {
			page := body(t, newSite(t, public).get(at, "Host", "hints.example.org"))
			require.NotRegexp(t, `(href|src|action|data-live)="/`, page)
			require.Contains(t, page, `href="`+root+`static/console.css`)
			page = body(t, newSite(t, nil).get(at))
			require.NotContains(t, page, `="./`)
		})
	}
}

// What people write stays as it is.
func TestATextThatLooksLikeALink(t *testing.T) {
	s := newSite(t, public)
	const text = `<a href="/turns"> action="/x"`
	s.System.Keep(consoletest.Begin("looks", "r", text, time.Now(), nil))
	page := body(t, s.get("/sessions/looks", "Authorization", "Bearer "+token))
	require.Contains(t, page, `&lt;a href=&#34;/turns&#34;&gt; action=&#34;/x&#34;`)
}
