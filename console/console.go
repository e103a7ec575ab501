package console

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"intenthint/knowhub/experience"
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

// Experiences is the part of KnowHub that the review page needs (contract §12);
// [knowhub.Service] implements it.
type Experiences interface {
	// List returns at most limit experiences of a status, newest first: those that
	// come after one, or with its zero value from the newest on.
	List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error)
	// Find returns at most limit approved experiences that fit the words, but no more
	// than [knowhub.MaxShown], best first; of one agent, unless agent is "".
	Find(ctx context.Context, words, agent string, limit int) ([]experience.Experience, error)
	// Content returns one experience. The error for an unknown id is
	// [knowhub.ErrUnknown].
	Content(ctx context.Context, id string) (experience.Experience, error)
	// Approve and Reject decide in the name of by. They are idempotent; if a
	// person already decided differently, they return an error.
	Approve(ctx context.Context, id, by string) (experience.Experience, error)
	Reject(ctx context.Context, id, by string) (experience.Experience, error)
	// Undo makes an experience pending again that a person decided about within
	// [knowhub.UndoTime].
	Undo(ctx context.Context, id, by string) (experience.Experience, error)
}

// Options of a [Console].
type Options struct {
	// Configured is HINT_HTTP_ADDR, Listening the address that is served; they
	// differ if the setting leaves the port or the address open. Both are
	// host:port.
	Configured, Listening string
	// Token is HINT_HTTP_TOKEN; "" means that no token is needed.
	Token string
	// Parts returns what the overview shows.
	Parts func() []Part
	Log   *slog.Logger
}

// Console serves the pages. Its methods may be called concurrently.
type Console struct {
	guard
	parts       func() []Part
	experiences atomic.Pointer[Experiences]
	source      atomic.Pointer[Source]
	listeners   chan struct{}
	marks       marks
	opinions    opinions
	notices     notices
	counts      counts
	log         *slog.Logger
	mux         *http.ServeMux
}

// New returns a console. Until [Console.Review] the review page shows KnowHub
// as off.
func New(o Options) (*Console, error) {
	c := &Console{
		parts: o.Parts, log: o.Log, mux: http.NewServeMux(),
		listeners: make(chan struct{}, maxListeners), marks: newMarks(), opinions: newOpinions(), notices: newNotices(),
	}
	configured, _, err := net.SplitHostPort(o.Configured)
	if err != nil {
		return nil, fmt.Errorf("configured address: %w", err)
	}
	listening, port, err := net.SplitHostPort(o.Listening)
	if err != nil {
		return nil, fmt.Errorf("listening address: %w", err)
	}
	c.guard = newGuard(configured, listening, port, o.Token)

	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /{$}":                           c.overview,
		"GET " + livePath:                    c.live,
		"GET " + turnsPath:                   c.listTurns,
		"POST " + turnsPath:                  c.judge,
		"GET " + sessionsPath:                c.listSessions,
		"GET " + sessionsPath + "/{id}":      c.showSession,
		"GET " + intentsPath:                 c.listIntents,
		"GET " + triagePath:                  c.listDecisions,
		"POST " + triagePath:                 c.judgeMessage,
		"GET " + lettersPath:                 c.listLetters,
		"POST " + lettersPath:                c.changeLetters,
		"GET " + lettersPath + "/{sequence}": c.showLetter,
		"GET " + reviewPath:                  c.list,
		"POST " + reviewPath:                 c.decide,
		"GET " + reviewPath + "/{id}":        c.show,
		"GET " + signInPath:                  c.signInPage,
		"POST " + signInPath:                 c.signIn,
		"POST " + signOutPath:                c.signOut,
		"GET " + staticPath + "{name}":       serveStatic,
	} {
		c.mux.HandleFunc(pattern, handler)
	}
	return c, nil
}

// Review sets the experiences to review. It does nothing on a nil console, which
// a process without HTTP has.
func (c *Console) Review(e Experiences) {
	if c != nil {
		c.experiences.Store(&e)
	}
}

// Mount adds the pages to a server. It adds no catch-all pattern, so that other
// handlers keep working.
func (c *Console) Mount(handle func(pattern string, handler http.Handler)) {
	for _, pattern := range []string{
		"/{$}", livePath, turnsPath, sessionsPath, sessionsPath + "/{id}", intentsPath, lettersPath, lettersPath + "/{sequence}",
		triagePath, reviewPath, reviewPath + "/{id}", signInPath, signOutPath, staticPath,
	} {
		handle(pattern, c)
	}
}

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
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
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	c.mux.ServeHTTP(w, r)
}
