package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"intenthint/internal/access"
	"intenthint/internal/netaddr"
)

// maxBody bounds the body of a request: a form with the ids of a page is about
// 10 KB.
const maxBody = 64 << 10

// policy lets a page load only files of this server, and forbids framing it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers without frame-ancestors
	// "no-referrer" would make the Origin of this server's own forms "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// guard decides which requests are answered.
type guard struct {
	port string
	host string // as configured
	// closed means that other machines can reach the server and no token is set.
	closed bool
	// public are the names behind a reverse proxy.
	public   public
	origin   *http.CrossOriginProtection
	token    []byte // SHA-256 of the token, nil for none
	sessions *sessions
	guesses  *access.Guesses
}

func newGuard(configured, listening, port, token string, at public, guesses *access.Guesses) (guard, error) {
	g := guard{
		port:     port,
		host:     configured,
		origin:   http.NewCrossOriginProtection(),
		public:   at,
		closed:   token == "" && !netaddr.IsLoopback(listening),
		sessions: newSessions(),
		guesses:  guesses,
	}
	for _, origin := range at.origins() {
		if err := g.origin.AddTrustedOrigin(origin); err != nil {
			return g, err
		}
	}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		g.token = sum[:]
	}
	return g, nil
}

// check returns why a request is refused, "" if it is answered.
func (g *guard) check(r *http.Request) string {
	switch {
	case g.closed:
		return "Other machines can reach this address, and no token is set: the pages are not served.\n" +
			"Set HINT_HTTP_TOKEN, or a loopback address in HINT_HTTP_ADDR."
	case g.public.of(r) == nil && !netaddr.AsksOwnHost(r, g.host): // contract §14
		return fmt.Sprintf("The pages are not served under this name. Use http://localhost:%s, the address in HINT_HTTP_ADDR, or a name in HINT_HTTP_PUBLIC.", g.port)
	}
	return ""
}

// open reports whether the path of a request needs no token.
func (g *guard) open(r *http.Request) bool {
	return g.token == nil || r.URL.Path == SignInPath || strings.HasPrefix(r.URL.Path, staticPath)
}

// authorized returns nil for a request with the token or the cookie of a sign-in.
// The error is errSignIn or one of [access.Guesses].
func (g *guard) authorized(r *http.Request) error {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return g.try(r, strings.TrimSpace(token))
	}
	cookie, err := r.Cookie(g.cookieName())
	if err != nil || !g.sessions.has(cookie.Value) {
		return errSignIn
	}
	return nil
}

// try compares a token with the configured one, in constant time. Failures are
// rate-limited by client.
func (g *guard) try(r *http.Request, token string) error {
	sum := sha256.Sum256([]byte(token))
	return g.guesses.Try(r.RemoteAddr, sum, func() bool {
		return subtle.ConstantTimeCompare(sum[:], g.token) == 1
	})
}
