package console_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
	"intenthint/knowhub/experience"
)

const token = "correct horse battery staple"

// everyPage are pages that are there.
var everyPage = []string{"/", "/turns", "/sessions", "/sessions/s", "/intents", "/deadletters", "/experiences", "/triage", "/decisions"}

// rightTurn marks the turn that every site has.
var rightTurn = url.Values{"session": {"s"}, "run": {"r"}, "right": {"1"}}

// site is a console to send requests to, and the browser that does.
type site struct {
	t       *testing.T
	mux     *http.ServeMux
	cookies map[string]string
	local   net.Addr
	Console *console.Console
	Memory  *consoletest.Memory
	System  *consoletest.System
}

func newSite(t *testing.T, change func(*console.Options)) *site {
	t.Helper()
	o := console.Options{
		Configured: "127.0.0.1:8377", Listening: "127.0.0.1:8377", Pages: consoletest.Pages, Log: slog.New(slog.DiscardHandler),
		Parts: func() []console.Part { return []console.Part{{Name: "Hints", State: "on", OK: true}} },
	}
	if change != nil {
		change(&o)
	}
	c, err := console.New(o)
	require.NoError(t, err)
	s := &site{t: t, mux: http.NewServeMux(), cookies: map[string]string{}, Console: c, Memory: new(consoletest.Memory), System: consoletest.NewSystem(t)}
	s.System.Answers = new(consoletest.Answers)
	s.System.Keep(consoletest.Begin("s", "r", "a message", time.Now(), consoletest.Result("CHAT", 0.9)))
	c.Serve("/experiences", console.Experiences(s.Memory))
	s.System.Show(c)
	c.Mount(func(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) })
	return s
}

func withToken(o *console.Options) { o.Token = token }

// send sends a request; form may be nil.
func (s *site) send(method, path string, form url.Values, header ...string) *http.Response {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost:8377"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.local != nil {
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, s.local))
	}
	for name, value := range s.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for i := 0; i < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		case "From":
			r.RemoteAddr = header[i+1]
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	recorder := httptest.NewRecorder()
	s.mux.ServeHTTP(recorder, r)
	response := recorder.Result()
	for _, cookie := range response.Cookies() {
		s.cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 {
			delete(s.cookies, cookie.Name)
		}
	}
	return response
}

func (s *site) get(path string, header ...string) *http.Response {
	s.t.Helper()
	return s.send(http.MethodGet, path, nil, header...)
}

func (s *site) post(path string, form url.Values, header ...string) *http.Response {
	s.t.Helper()
	return s.send(http.MethodPost, path, form, header...)
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	out, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(out)
}

func TestOnlyNamesOfThisServerAreAnswered(t *testing.T) {
	local := &net.TCPAddr{IP: net.ParseIP("10.0.0.5"), Port: 8377}
	for _, row := range []struct {
		name, configured, listening, host string
		want                              int
	}{
		{"configured address", "127.0.0.1:8377", "127.0.0.1:8377", "127.0.0.1:8377", 200},
		{"free port in place of the configured one", "127.0.0.1:8377", "127.0.0.1:40001", "127.0.0.1:40001", 200},
		{"rebound name", "127.0.0.1:8377", "127.0.0.1:8377", "evil.example:8377", 403},
		{"configured name", "hub.example:8377", "10.0.0.5:8377", "Hub.Example:8377", 200},
		{"every address, the one it came in on", ":8377", "[::]:8377", "10.0.0.5:8377", 200},
		{"every address, another one", ":8377", "[::]:8377", "10.0.0.6:8377", 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t, func(o *console.Options) {
				o.Configured, o.Listening, o.Token = row.configured, row.listening, token
			})
			s.local = local
			for _, path := range append(slices.Clone(everyPage), "/static/console.css") {
				require.Equal(t, row.want, s.get(path, "Host", row.host, "Authorization", "Bearer "+token).StatusCode, path)
			}
			if row.want == http.StatusForbidden {
				for _, path := range []string{"/live", "/deadletters/1"} {
					require.Equal(t, row.want, s.get(path, "Host", row.host, "Authorization", "Bearer "+token).StatusCode, path)
				}
				r := s.post("/sign-in", url.Values{"token": {token}}, "Host", row.host)
				require.Equal(t, row.want, r.StatusCode)
				require.Empty(t, r.Cookies())
			}
		})
	}
}

func TestBeyondLoopbackPagesNeedAToken(t *testing.T) {
	for _, listening := range []string{"0.0.0.0:8377", "[::]:8377", "192.168.1.5:8377"} {
		t.Run(listening, func(t *testing.T) {
			s := newSite(t, func(o *console.Options) { o.Configured, o.Listening = listening, listening })
			for _, path := range append(slices.Clone(everyPage), "/sign-in", "/static/console.js") {
				r := s.get(path)
				require.Equal(t, http.StatusForbidden, r.StatusCode)
				require.Contains(t, body(t, r), "HINT_HTTP_TOKEN")
			}
			require.Equal(t, http.StatusForbidden, s.post("/experiences", url.Values{"selected": {"approve"}}).StatusCode)
			s = newSite(t, func(o *console.Options) { o.Configured, o.Listening, o.Token = listening, listening, token })
			require.Equal(t, http.StatusUnauthorized, s.get("/").StatusCode)
			require.Equal(t, http.StatusOK, s.get("/", "Authorization", "Bearer "+token).StatusCode)
		})
	}
}

func TestOtherPartsKeepTheirPaths(t *testing.T) {
	s := newSite(t, nil)
	s.mux.Handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	require.Equal(t, http.StatusTeapot, s.get("/healthz", "Host", "anything").StatusCode)
	require.Equal(t, http.StatusMethodNotAllowed, s.post("/healthz", nil).StatusCode)
	for _, path := range []string{"/nowhere", "/static/nothing.css", "/static/", "/experiences/a/b"} {
		require.Equal(t, http.StatusNotFound, s.get(path).StatusCode, path)
	}
	require.Equal(t, http.StatusMethodNotAllowed, s.send(http.MethodDelete, "/experiences", nil).StatusCode)
}

func TestHeaders(t *testing.T) {
	for _, path := range append(slices.Clone(everyPage), "/static/console.js", "/experiences/none") {
		h := newSite(t, nil).get(path).Header
		csp := h.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'")
		require.Contains(t, csp, "frame-ancestors 'none'")
		require.Contains(t, csp, "base-uri 'none'")
		require.NotContains(t, csp, "unsafe")
		require.NotContains(t, csp, "http")
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", h.Get("Referrer-Policy"))
	}
}

func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	s := newSite(t, withToken)
	s.Memory.Add(experience.Experience{Task: "t", Resource: "r", Result: "r"})
	for _, path := range append(slices.Clone(everyPage), "/sign-in", "/static/console.css?v=0", "/static/console.js?v=0") {
		page := body(t, s.get(path, "Authorization", "Bearer "+token))
		require.NotContains(t, page, "//cdn")
		require.NotRegexp(t, `(src|href|url)[=(]["']?(https?:)?//`, page)
		require.NotContains(t, page, "style=")
		require.NotRegexp(t, `<script>|\son[a-z]+=`, page)
	}
	page := body(t, s.get("/", "Authorization", "Bearer "+token))
	address := page[strings.Index(page, "/static/console.css"):]
	address = address[:strings.IndexByte(address, '"')]
	r := s.get(address)
	require.Contains(t, r.Header.Get("Cache-Control"), "immutable")
	require.Contains(t, r.Header.Get("Content-Type"), "text/css")
	require.Equal(t, "no-store", s.get("/static/console.css").Header.Get("Cache-Control"))
}

func TestOtherOriginsChangeNothing(t *testing.T) {
	for _, row := range []struct {
		name   string
		header []string
		want   int
	}{
		{"no browser", nil, 303},
		{"own page", []string{"Sec-Fetch-Site", "same-origin"}, 303},
		{"own page, older browser", []string{"Origin", "http://localhost:8377"}, 303},
		{"other site", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"other port of this host", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"other site, older browser", []string{"Origin", "http://evil.example"}, 403},
		{"sandboxed frame", []string{"Origin", "null"}, 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t, nil)
			id := s.Memory.Add(experience.Experience{Task: "t", Resource: "r", Result: "r"})
			require.Equal(t, row.want, s.post("/experiences", url.Values{"approve": {id}}, row.header...).StatusCode)
			want := map[bool]experience.Status{true: experience.Approved, false: experience.Pending}[row.want == http.StatusSeeOther]
			require.Equal(t, want, s.Memory.Status(id))
			require.Equal(t, row.want, s.post("/turns", rightTurn, row.header...).StatusCode)
			require.Equal(t, row.want == http.StatusSeeOther, len(s.System.Marks()) == 1)
			require.Equal(t, row.want == http.StatusSeeOther, s.post("/deadletters", url.Values{"action": {"delete"}}, row.header...).StatusCode == http.StatusOK)
			locked := newSite(t, withToken)
			r := locked.post("/sign-in", url.Values{"token": {token}}, row.header...)
			require.Equal(t, row.want, r.StatusCode)
			require.Equal(t, row.want == http.StatusSeeOther, len(r.Cookies()) == 1)
		})
	}
}

func TestToken(t *testing.T) {
	for _, row := range []struct {
		name, authorization string
		want                int
	}{
		{"none", "", 401},
		{"right", "Bearer " + token, 200},
		{"scheme in lower case", "bearer " + token, 200},
		{"wrong", "Bearer nonsense", 401},
		{"longer", "Bearer " + token + "x", 401},
		{"empty", "Bearer ", 401},
		{"other scheme", "Basic " + token, 401},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t, withToken)
			id := s.Memory.Add(experience.Experience{Task: "a secret", Resource: "r", Result: "r"})
			header := []string{"Authorization", row.authorization}
			for i, path := range append(slices.Clone(everyPage), "/experiences/"+id) {
				r := s.get(path, append(header, "From", fmt.Sprintf("10.0.0.%d:1", i))...) // guesses are bounded by client
				require.Equal(t, row.want, r.StatusCode, path)
				page := body(t, r)
				require.NotContains(t, page, token)
				if row.want == http.StatusUnauthorized {
					require.Contains(t, page, `name="token"`)
					require.NotContains(t, page, "a secret")
					require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer")
				}
			}
			if row.want == http.StatusUnauthorized {
				header := append(header, "From", "10.0.1.1:1")
				for _, path := range []string{"/live", "/deadletters/1"} {
					require.Equal(t, row.want, s.get(path, header...).StatusCode, path)
				}
				for _, path := range []string{"/turns", "/deadletters"} {
					require.Equal(t, row.want, s.post(path, rightTurn, header...).StatusCode, path)
				}
				require.Empty(t, s.System.Marks())
			}
			s.post("/experiences", url.Values{"approve": {id}}, header...)
			require.Equal(t, row.want == http.StatusOK, s.Memory.Status(id) == experience.Approved)
		})
	}
}

func TestSignIn(t *testing.T) {
	s := newSite(t, withToken)
	require.Contains(t, body(t, s.get("/experiences?status=approved")), `value="/experiences?status=approved"`)
	r := s.post("/sign-in", url.Values{"token": {token}, "next": {"/experiences?status=approved"}})
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Equal(t, "/experiences?status=approved", r.Header.Get("Location"))
	require.Len(t, r.Cookies(), 1)
	cookie := r.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, "/", cookie.Path)
	require.NotContains(t, cookie.Value, token)
	require.Len(t, cookie.Value, 26)

	page := s.get("/experiences")
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Contains(t, body(t, page), "Sign out")
	require.Equal(t, http.StatusSeeOther, s.get("/sign-in").StatusCode, "one who is signed in need not")

	require.Equal(t, http.StatusSeeOther, s.post("/sign-out", nil).StatusCode)
	require.Empty(t, s.cookies)
	require.Equal(t, http.StatusUnauthorized, s.get("/").StatusCode)
	s.cookies[cookie.Name] = cookie.Value
	require.Equal(t, http.StatusUnauthorized, s.get("/").StatusCode, "the cookie of a session that ended")
	s.cookies[cookie.Name] = token
	require.Equal(t, http.StatusUnauthorized, s.get("/").StatusCode, "the token is no cookie")
}

func TestWithoutATokenThereIsNothingToSignInTo(t *testing.T) {
	s := newSite(t, nil)
	require.NotContains(t, body(t, s.get("/")), "Sign out")
	require.Equal(t, http.StatusSeeOther, s.get("/sign-in").StatusCode)
	r := s.post("/sign-in", url.Values{"token": {"x"}})
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Empty(t, r.Cookies())
}

func TestSignInLeadsToPagesOfThisServerOnly(t *testing.T) {
	for next, want := range map[string]string{
		"/experiences?status=approved&q=a+b": "/experiences?status=approved&q=a+b",
		"":                                   "/", "experiences": "/",
		"https://evil.example/": "/", "//evil.example/": "/", "///evil.example": "/", `/\evil.example`: "/", "/%5Cevil.example": "/", "/%2Fevil.example": "/",
		"javascript:alert(1)": "/", "http:/x": "/", "/a\nb": "/", "\x00": "/",
	} {
		t.Run(next, func(t *testing.T) {
			r := newSite(t, withToken).post("/sign-in", url.Values{"token": {token}, "next": {next}})
			require.Equal(t, want, r.Header.Get("Location"))
		})
	}
}

func TestASessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, withToken)
		s.post("/sign-in", url.Values{"token": {token}})
		time.Sleep(12*time.Hour - time.Second)
		require.Equal(t, http.StatusOK, s.get("/").StatusCode)
		time.Sleep(time.Second)
		require.Equal(t, http.StatusUnauthorized, s.get("/").StatusCode)
	})
}

func TestGuessesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, withToken)
		for i := range 3 {
			require.Equal(t, http.StatusUnauthorized, s.post("/sign-in", url.Values{"token": {fmt.Sprint("guess", i)}}).StatusCode)
			require.Equal(t, http.StatusOK, s.get("/", "Authorization", "Bearer "+token).StatusCode, "what is right costs nothing")
		}
		for i := range 2 {
			require.Equal(t, http.StatusUnauthorized, s.get("/", "Authorization", fmt.Sprint("Bearer other", i)).StatusCode)
		}
		r := s.post("/sign-in", url.Values{"token": {"another guess"}})
		require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
		require.Equal(t, "10", r.Header.Get("Retry-After"))
		require.Empty(t, r.Cookies())
		require.Equal(t, http.StatusTooManyRequests, s.get("/", "Authorization", "Bearer guess", "From", "192.0.2.1:5").StatusCode, "another port of the same client")
		require.Equal(t, http.StatusUnauthorized, s.get("/", "Authorization", "Bearer guess", "From", "198.51.100.7:1").StatusCode, "another client")
		for range 1000 {
			s.get("/", "Authorization", "Bearer "+rand.Text())
		}
		// Nobody locks out who has the right one, at the same address neither.
		require.Equal(t, http.StatusOK, s.get("/", "Authorization", "Bearer "+token).StatusCode)
		require.Equal(t, http.StatusSeeOther, s.post("/sign-in", url.Values{"token": {token}}).StatusCode)
		time.Sleep(10 * time.Second)
		require.Equal(t, http.StatusUnauthorized, s.get("/", "Authorization", "Bearer one more").StatusCode)
	})
}

// A program that goes on with an old token locks nobody out.
func TestTheSameWrongTokenIsOneGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSite(t, func(o *console.Options) { o.Token, o.Log = token, slog.New(slog.NewTextHandler(&log, nil)) })
		for range 50 {
			require.Equal(t, http.StatusUnauthorized, s.get("/", "Authorization", "Bearer old").StatusCode)
			require.Equal(t, http.StatusOK, s.get("/", "Authorization", "Bearer "+token).StatusCode)
		}
		require.Equal(t, 1, strings.Count(log.String(), "wrong token"))
	})
}

func TestGuessesOfManyAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, withToken)
		made := 0
		guess := func(from string) int {
			made++
			return s.get("/", "Authorization", fmt.Sprint("Bearer guess", made), "From", from).StatusCode
		}
		for range 5 {
			require.Equal(t, http.StatusUnauthorized, guess("[2001:db8::1]:1"))
		}
		require.Equal(t, http.StatusTooManyRequests, guess("[2001:db8::ffff]:1"), "the same network")
		n := 0
		for guess(fmt.Sprintf("203.0.113.%d:1", n)) == http.StatusUnauthorized {
			n++
			require.Less(t, n, 200)
		}
		require.Equal(t, 95, n, "100 of all clients, 5 were made before")
	})
}

// The link that `consumer open` prints.
func TestALinkSignsIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	r := s.get("/sign-in?token=wrong&next=/turns")
	require.Equal(t, http.StatusUnauthorized, r.StatusCode)
	require.Equal(t, http.StatusUnauthorized, s.get("/turns").StatusCode)
	r = s.get("/sign-in?" + url.Values{"token": {token}, "next": {"//elsewhere.example/"}}.Encode())
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Equal(t, "/", r.Header.Get("Location"), "of this server, and without the token")
	require.Equal(t, http.StatusOK, s.get("/turns").StatusCode)
}
