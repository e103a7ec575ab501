package app_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
)

// publicURL is where the pages are behind the proxies of these tests.
const publicURL = "https://hints.example.org/intent"

// front starts a reverse proxy with TLS in front of a system's pages, which strips
// the base path or not, and returns a browser that finds it under the public name.
func front(t *testing.T, behind string, strip bool) *http.Client {
	t.Helper()
	target, err := url.Parse("http://" + behind)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		},
	}
	mux := http.NewServeMux()
	if strip {
		mux.Handle("/intent/", http.StripPrefix("/intent", proxy)) // which redirects /intent
	} else {
		mux.Handle("/intent", proxy)
		mux.Handle("/intent/", proxy)
	}
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	client := server.Client()
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig.ServerName = "example.com" // of the test's certificate
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	client.Jar, err = cookiejar.New(nil)
	require.NoError(t, err)
	return client
}

var linksOfPage = regexp.MustCompile(`(?:href|src|action|data-live)="([^"#]*)`)

// crawl follows all links from a page and returns the paths of the pages that it
// found. Every link must be relative, and lead to a page below the public URL.
func crawl(t *testing.T, browser *http.Client, from string) []string {
	t.Helper()
	var found []string
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; todo = todo[1:] {
		at, err := url.Parse(todo[0])
		require.NoError(t, err)
		if at.RawQuery = ""; seen[at.String()] {
			continue
		}
		seen[at.String()] = true
		require.True(t, strings.HasPrefix(at.String(), publicURL+"/"), "%s", at)
		response, text := fetch(t, browser, todo[0])
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", at)
		found = append(found, strings.TrimPrefix(at.Path, "/intent"))
		if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, link := range linksOfPage.FindAllStringSubmatch(text, -1) {
			require.False(t, strings.HasPrefix(link[1], "/"), "%s links to %s", at, link[1])
			to, err := at.Parse(strings.ReplaceAll(link[1], "&amp;", "&"))
			require.NoError(t, err)
			switch strings.TrimPrefix(to.Path, "/intent") {
			case "/live", "/sign-out", "/metrics":
				require.True(t, strings.HasPrefix(to.Path, "/intent/"), "%s", to)
			default:
				todo = append(todo, to.String())
			}
		}
	}
	return found
}

func fetch(t *testing.T, browser *http.Client, address string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := browser.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

// submit posts a form as the browser of a page of an origin does.
func submit(t *testing.T, browser *http.Client, address, origin string, form url.Values) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", origin)
	response, err := browser.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

func TestPagesBehindAReverseProxy(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{
		"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_HTTP_PUBLIC": publicURL, "HINT_HTTP_TOKEN": "the token",
		"HINT_TRIAGE": `{"enabled":true}`, "HINT_DECIDE": `{"enabled":true}`, "HINT_KNOWHUB": `{"enabled":true,"listen":"127.0.0.1:0"}`,
	})
	s.Converse()
	address := strings.TrimPrefix(app.HTTPAddresses(s.Config)[0], "http://")
	for name, strip := range map[string]bool{"stripped": true, "not stripped": false} {
		t.Run(name, func(t *testing.T) {
			browser := front(t, address, strip)

			response, _ := fetch(t, browser, publicURL+"/turns?source=local")
			require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			response, text := submit(t, browser, publicURL+"/sign-in", "https://hints.example.org", url.Values{"token": {"the token"}, "next": {"/turns?source=local"}})
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, publicURL+"/turns?source=local", response.Request.URL.String())
			require.Contains(t, text, "write some code for me please")

			found := crawl(t, browser, publicURL+"/")
			require.Subset(t, found, []string{"/", "/turns", "/sessions", "/intents", "/triage", "/experiences", "/deadletters", "/healthz", "/static/console.css", "/static/console.js"})
			session := found[len(found)-1]
			for _, at := range found {
				if path.Dir(at) == "/sessions" {
					session = at
				}
			}
			require.Equal(t, "/sessions", path.Dir(session))
			require.NotContains(t, found, "/metrics")

			t.Run("a form", func(t *testing.T) {
				form := url.Values{"session": {path.Base(session)}, "run": {"one4"}, "right": {"1"}, "back": {session}}
				if path.Base(session) != "one" {
					form.Set("run", "two/three4")
				}
				response, _ := submit(t, browser, publicURL+"/turns", "https://hints.example.org", form)
				require.Equal(t, http.StatusOK, response.StatusCode)
				require.True(t, strings.HasPrefix(response.Request.URL.String(), publicURL+session), response.Request.URL)
				response, _ = submit(t, browser, publicURL+"/turns", "https://evil.example.org", form)
				require.Equal(t, http.StatusForbidden, response.StatusCode)
			})

			t.Run("turns as they begin", func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, publicURL+"/live?since=1", nil)
				require.NoError(t, err)
				response, err := browser.Do(request)
				require.NoError(t, err)
				defer func() { _ = response.Body.Close() }()
				for lines := bufio.NewScanner(response.Body); ; {
					require.True(t, lines.Scan(), "%v", lines.Err())
					if link := linksOfPage.FindStringSubmatch(lines.Text()); link != nil {
						require.True(t, strings.HasPrefix(link[1], "./sessions/"), link[1])
						break
					}
				}
			})

			t.Run("signing out", func(t *testing.T) {
				response, _ := submit(t, browser, publicURL+"/sign-out", "https://hints.example.org", nil)
				require.Equal(t, publicURL+"/", response.Request.URL.String())
				require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			})

			response, _ = fetch(t, browser, strings.TrimSuffix(publicURL, "/"))
			require.Equal(t, publicURL+"/", response.Request.URL.String(), "the slash at the end")
			response, _ = fetch(t, browser, "https://other.example.org/intent/")
			require.Equal(t, http.StatusForbidden, response.StatusCode)
		})
	}

	response, text := fetch(t, http.DefaultClient, "http://"+address+"/sign-in")
	require.Equal(t, http.StatusOK, response.StatusCode, "this machine")
	require.NotContains(t, text, `href="/`)
}
