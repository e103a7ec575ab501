package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/internal/access"
)

const (
	// SignInPath is the page that exchanges the token for a cookie, also as the parameter
	// token of a link.
	SignInPath  = "/sign-in"
	signOutPath = "/sign-out"
)

var errSignIn = errors.New("sign-in needed")

// A sign-in lasts a working day. When there are more than maxSessions, the least
// recently used one ends.
const (
	sessionLife = 12 * time.Hour
	maxSessions = 256
)

// sessions are the sign-ins of this process. It keeps hashes, so that the time
// of a look-up reveals nothing about other sessions.
type sessions struct {
	ends *lru.Cache[[sha256.Size]byte, time.Time]
}

func newSessions() *sessions { return &sessions{newCache[[sha256.Size]byte, time.Time](maxSessions)} }

// newCache makes a cache of a constant size.
func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // the size is not positive
	}
	return cache
}

// begin returns the value of a new session's cookie.
func (s *sessions) begin() string {
	value := rand.Text()
	s.ends.Add(sha256.Sum256([]byte(value)), time.Now().Add(sessionLife))
	return value
}

func (s *sessions) has(value string) bool {
	ends, ok := s.ends.Get(sha256.Sum256([]byte(value)))
	return ok && time.Now().Before(ends)
}

func (s *sessions) end(value string) { s.ends.Remove(sha256.Sum256([]byte(value))) }

// cookieName returns the cookie's name. It contains the port: cookies are
// shared between ports, and consumers on the same machine would overwrite each
// other's.
func (g *guard) cookieName() string { return "intenthint_" + g.port }

// cookie returns the cookie of a sign-in. For a public name it holds for the base path
// alone, and for TLS alone if the reverse proxy says that the browser uses it: the
// server itself speaks plain HTTP.
func (g *guard) cookie(r *http.Request, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure behind TLS, see above
		Name: g.cookieName(), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if at := g.public.of(r); at != nil {
		c.Path = cmp.Or(at.EscapedPath(), "/")
		c.Secure = r.Header.Get("X-Forwarded-Proto") == "https"
	}
	return c
}

// signInView is what the sign-in page shows.
type signInView struct {
	Next    string
	Problem string
}

// askToSignIn answers a request without the token: with the sign-in page, which
// redirects back here.
func (c *Console) askToSignIn(w http.ResponseWriter, r *http.Request, err error) {
	view := signInView{Next: "/"}
	if r.Method == http.MethodGet {
		view.Next = localPath(r.URL.RequestURI())
	}
	c.refuse(w, r, view, err)
}

// refuse shows the sign-in page with a problem.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, view signInView, err error) {
	status := http.StatusUnauthorized
	switch {
	case errors.Is(err, access.ErrGuesses):
		status = http.StatusTooManyRequests
		seconds := int(math.Ceil(access.GuessPause.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		view.Problem = "Too many wrong tokens. Try again in " + strconv.Itoa(seconds) + " seconds."
	case errors.Is(err, access.ErrToken):
		if !errors.Is(err, access.ErrAgain) {
			c.lines.Warn(c.log, "sign-in with a wrong token", "client", access.Client(r.RemoteAddr))
		}
		view.Problem = "This is not the token."
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="intenthint"`)
	}
	c.render(w, status, "signin.html", page{Title: "Sign in", Alone: true, View: view})
}

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.URL.Query().Get("next"))
	if token := r.URL.Query().Get("token"); c.token != nil && token != "" {
		// The redirect takes the token out of the address.
		c.exchange(w, r, token, next)
		return
	}
	if c.token == nil || c.authorized(r) == nil {
		http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // of localPath
		return
	}
	c.render(w, http.StatusOK, "signin.html", page{Title: "Sign in", Alone: true, View: signInView{Next: next}})
}

// signIn exchanges the token for a cookie.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if !c.parseForm(w, r) {
		return
	}
	c.exchange(w, r, r.PostForm.Get("token"), localPath(r.PostForm.Get("next")))
}

// exchange gives a cookie for the token and goes on to next.
func (c *Console) exchange(w http.ResponseWriter, r *http.Request, token, next string) {
	if c.token != nil {
		if err := c.try(r, strings.TrimSpace(token)); err != nil {
			c.refuse(w, r, signInView{Next: next}, err)
			return
		}
		http.SetCookie(w, c.cookie(r, c.sessions.begin(), sessionLife))
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // of localPath
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(c.cookieName()); err == nil {
		c.sessions.end(cookie.Value)
	}
	http.SetCookie(w, c.cookie(r, "", -time.Second))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// localPath returns a path and query of this server, "/" for anything else.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, `\`) {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
