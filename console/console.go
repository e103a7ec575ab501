package console

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"intenthint/internal/access"
	"intenthint/internal/loglimit"
	"intenthint/part"
)

// Part is one part of the program on the overview.
type Part struct {
	Name string
	// State is a word or two: "on", "off", "connected".
	State string
	// Detail is a line with details; it may be empty.
	Detail string
	// Link is a path of this server with more about the part; it may be empty.
	Link string
	// OK is false for a part with a fault, but true for one that is off.
	OK bool
}

// Off is the State of a part that is not enabled.
const Off = "off"

// Options of a [Console].
type Options struct {
	// Configured is HINT_HTTP_ADDR, Listening the address that is served; they
	// differ if the setting leaves the port or the address open. Both are
	// host:port.
	Configured, Listening string
	// Public are the URLs of the pages behind a reverse proxy, scheme://host[:port][/base]
	// (HINT_HTTP_PUBLIC). With any, links are relative.
	Public []string
	// Token is HINT_HTTP_TOKEN; "" means that no token is needed.
	Token string
	// Guesses bounds wrong tokens, nil for those of the pages alone.
	Guesses *access.Guesses
	// Parts returns what the overview shows.
	Parts func() []Part
	// Pages are those of the parts of the program, see [Console.Serve].
	Pages []part.Page
	// API are the paths of the HTTP APIs of parts, which programs call.
	API []string
	Log *slog.Logger
}

// Console serves the pages. Its methods may be called concurrently.
type Console struct {
	guard
	parts     func() []Part
	pages     []part.Page
	api       []string
	handlers  sync.Map // of pages and APIs: http.Handler by path
	source    atomic.Pointer[Source]
	listeners chan struct{}
	marks     marks
	notices   notices
	counts    counts
	log       *slog.Logger
	lines     loglimit.Limit // of what strangers can cause
	mux       *http.ServeMux
}

// New returns a console.
func New(o Options) (*Console, error) {
	c := &Console{
		parts: o.Parts, pages: o.Pages, api: o.API, log: o.Log, mux: http.NewServeMux(),
		listeners: make(chan struct{}, maxListeners), marks: newMarks(), notices: newNotices(),
	}
	configured, _, err := net.SplitHostPort(o.Configured)
	if err != nil {
		return nil, fmt.Errorf("configured address: %w", err)
	}
	listening, port, err := net.SplitHostPort(o.Listening)
	if err != nil {
		return nil, fmt.Errorf("listening address: %w", err)
	}
	at, err := parsePublic(o.Public)
	if err != nil {
		return nil, err
	}
	if c.guard, err = newGuard(configured, listening, port, o.Token, at, cmp.Or(o.Guesses, access.NewGuesses())); err != nil {
		return nil, err
	}

	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /{$}":                           c.overview,
		"GET " + livePath:                    c.live,
		"GET " + turnsPath:                   c.listTurns,
		"POST " + turnsPath:                  c.judge,
		"GET " + sessionsPath:                c.listSessions,
		"GET " + sessionsPath + "/{id}":      c.showSession,
		"GET " + intentsPath:                 c.listIntents,
		"GET " + lettersPath:                 c.listLetters,
		"POST " + lettersPath:                c.changeLetters,
		"GET " + lettersPath + "/{sequence}": c.showLetter,
		"GET " + SignInPath:                  c.signInPage,
		"POST " + SignInPath:                 c.signIn,
		"POST " + signOutPath:                c.signOut,
		"GET " + staticPath + "{name}":       serveStatic,
	} {
		c.mux.HandleFunc(pattern, handler)
	}
	for _, p := range c.pages {
		serve := func(w http.ResponseWriter, r *http.Request) { c.servePart(p, w, r) }
		c.mux.HandleFunc(p.Path, serve)
		c.mux.HandleFunc(p.Path+"/", serve)
	}
	return c, nil
}

// Serve makes h serve a page of [Options.Pages], by its path, and what is below it, or a
// path of [Options.API]. It
// does nothing on a nil console, which a process without HTTP has.
func (c *Console) Serve(path string, h http.Handler) {
	if c != nil {
		c.handlers.Store(path, h)
	}
}

type consoleKey struct{}

// of returns the console that serves a request.
func of(r *http.Request) *Console { return r.Context().Value(consoleKey{}).(*Console) }

// servePart serves a page of a part, or answers that the part is off.
func (c *Console) servePart(p part.Page, w http.ResponseWriter, r *http.Request) {
	if handler, ok := c.handlers.Load(p.Path); ok {
		handler.(http.Handler).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), consoleKey{}, c)))
		return
	}
	if c.shown(w) != nil {
		c.message(w, http.StatusNotFound, p.Name, p.Off)
	}
}

// Mount adds the pages to a server. It adds no catch-all pattern, so that other
// handlers keep working.
func (c *Console) Mount(handle func(pattern string, handler http.Handler)) {
	patterns := []string{
		"/{$}", livePath, turnsPath, sessionsPath, sessionsPath + "/{id}", intentsPath, lettersPath, lettersPath + "/{sequence}",
		SignInPath, signOutPath, staticPath,
	}
	for _, p := range c.pages {
		patterns = append(patterns, p.Path, p.Path+"/")
	}
	for _, pattern := range patterns {
		handle(pattern, c)
	}
	for _, path := range c.api {
		handle(path, http.HandlerFunc(c.serveAPI))
	}
}

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	body := http.MaxBytesReader(w, r.Body, maxBody)
	if len(c.public) > 0 {
		w = newRelative(w, r)
	}
	if problem := c.check(r); problem != "" {
		http.Error(w, problem, http.StatusForbidden)
		return
	}
	if err := c.origin.Check(r); err != nil {
		http.Error(w, "This request comes from a page of another origin.", http.StatusForbidden)
		return
	}
	if !c.open(r) {
		if err := c.authorized(r); err != nil {
			c.askToSignIn(w, r, err)
			return
		}
	}
	r.Body = body
	c.mux.ServeHTTP(w, r)
}
