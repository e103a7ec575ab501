package knowhub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"intenthint/internal/access"
	"intenthint/internal/netaddr"
)

// APIOptions configure an [API].
type APIOptions struct {
	Service *Service
	// Listen is the configured address, host:port.
	Listen string
	// Token is the bearer token that every request must have; "" for none.
	Token string
	// Guesses bounds wrong tokens, nil for those of this API alone.
	Guesses *access.Guesses
	Log     *slog.Logger
}

// API answers the verbs over HTTP (contract §12).
type API struct {
	o      APIOptions
	host   string
	token  [sha256.Size]byte
	cross  *http.CrossOriginProtection
	places chan struct{}
}

const (
	// maxBody bounds a request's body; an extraction contains the messages of a
	// session.
	maxBody        = 1 << 20
	maxExtractBody = 8 << 20
	// maxRequests bounds the requests in progress. Beyond it the answer is 503.
	maxRequests = 256
)

// NewAPI returns the API.
func NewAPI(o APIOptions) *API {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		host = o.Listen
	}
	o.Guesses = cmp.Or(o.Guesses, access.NewGuesses())
	return &API{
		o: o, host: host, token: sha256.Sum256([]byte(o.Token)),
		cross: http.NewCrossOriginProtection(), places: make(chan struct{}, maxRequests),
	}
}

// route is one path.
type route struct {
	verb   verb
	method string
	// body makes the JSON object of the verb. id is the end of the path.
	body func(r *http.Request, id string) ([]byte, error)
}

// routes are the paths, without their ids.
var routes = map[string]route{
	"/api/extract":      {verbNamed(verbExtract), http.MethodPost, posted(maxExtractBody)},
	"/api/submit":       {verbNamed("submit"), http.MethodPost, posted(maxBody)},
	"/api/search":       {verbNamed("search"), http.MethodGet, query},
	"/api/pending":      {verbNamed(verbPending), http.MethodGet, query},
	"/api/content/":     {verbNamed("content"), http.MethodGet, query},
	"/api/approve/":     {verbNamed("approve"), http.MethodPost, decision},
	"/api/reject/":      {verbNamed("reject"), http.MethodPost, decision},
	"/api/withdraw/":    {verbNamed(verbWithdraw), http.MethodPost, decision},
	"/api/experiences/": {verbNamed(verbDelete), http.MethodDelete, query},
}

func verbNamed(name string) verb {
	all := slices.Concat(verbs, personal)
	return all[slices.IndexFunc(all, func(v verb) bool { return v.name == name })]
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !netaddr.AsksOwnHost(r, a.host) {
		a.refuse(w, http.StatusForbidden, "this host name is not served here")
		return
	}
	if a.cross.Check(r) != nil {
		a.refuse(w, http.StatusForbidden, "cross-origin requests may not change anything")
		return
	}
	if err := a.authorized(r); err != nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="KnowHub"`)
		problem := "a token is required: Authorization: Bearer"
		if errors.Is(err, access.ErrGuesses) {
			problem = err.Error()
		}
		a.refuse(w, http.StatusUnauthorized, problem)
		return
	}
	path, id := r.URL.Path, ""
	if i := strings.LastIndexByte(path, '/'); strings.Count(path, "/") == 3 && i < len(path)-1 {
		path, id = path[:i+1], path[i+1:]
	}
	to, known := routes[path]
	switch {
	case !known || id != "" && !strings.HasSuffix(path, "/"):
		a.refuse(w, http.StatusNotFound, "no such path")
		return
	case r.Method != to.method && (r.Method != http.MethodHead || to.method != http.MethodGet):
		w.Header().Set("Allow", to.method)
		a.refuse(w, http.StatusMethodNotAllowed, "the method must be "+to.method)
		return
	}
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	default:
		a.refuse(w, http.StatusServiceUnavailable, "overloaded")
		return
	}
	a.serve(w, r, to, id)
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, to route, id string) {
	body, err := to.body(r, id)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		a.refuse(w, http.StatusRequestEntityTooLarge, "the body must have at most "+strconv.FormatInt(tooLong.Limit, 10)+" bytes")
		return
	case err != nil:
		status, text := statusOf(err)
		a.refuse(w, status, text)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeOf(to.verb))
	defer cancel()
	answer, status := a.o.Service.do(ctx, to.verb, body)
	if pending, ok := answer.(listed); ok && to.verb.name == verbPending {
		// A bare array here, an object everywhere else (contract §12).
		if answer = pending.Experiences; pending.More {
			w.Header().Set("X-More", "true")
		}
	}
	a.answer(w, status, answer)
}

func (a *API) refuse(w http.ResponseWriter, status int, text string) {
	a.answer(w, status, failed{text})
}

func (a *API) answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		a.o.Log.Error("knowhub answer not encoded", "error", err)
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}

// authorized returns nil for a request with the token, compared in constant time.
func (a *API) authorized(r *http.Request) error {
	if a.o.Token == "" {
		return nil
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return access.ErrToken
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return a.o.Guesses.Try(r.RemoteAddr, sum, func() bool { return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1 })
}

// posted returns the body unchanged.
func posted(most int64) func(*http.Request, string) ([]byte, error) {
	return func(r *http.Request, _ string) ([]byte, error) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
		var tooLong *http.MaxBytesError
		if err != nil && !errors.As(err, &tooLong) {
			err = fmt.Errorf("%w: %w", ErrRequest, err)
		}
		return body, err
	}
}

// query makes an object from the query parameters.
func query(r *http.Request, id string) ([]byte, error) {
	params, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	object := map[string]any{"id": id}
	for _, name := range []string{"q", "agent_id", "for_agent"} {
		object[name] = params.Get(name)
	}
	if text := params.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRequest, errLimit)
		}
		object["limit"] = n
	}
	return json.Marshal(object)
}

// decision makes an object from the id and the body, which may be empty.
func decision(r *http.Request, id string) ([]byte, error) {
	body, err := posted(maxBody)(r, id)
	if err != nil {
		return nil, err
	}
	var in named
	if strings.TrimSpace(string(body)) != "" {
		if in, err = decode[named](body); err != nil {
			return nil, err
		}
	}
	in.ID = id
	return json.Marshal(in)
}
