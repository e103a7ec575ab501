package decide

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"intenthint/subjects"
)

// Paths of the wire.
const (
	pathAnswers = "/v1/systemone"
	pathModels  = "/v1/models"
)

const (
	// httpAgent is the agent of questions that come over HTTP.
	httpAgent = "http"
	// httpTime bounds a request over HTTP: the server ends its answer after 30 s.
	httpTime = 25 * time.Second
	// httpPlaces bounds the requests in progress.
	httpPlaces = 64
)

// card describes the model of this server. Clients list only those with all fields.
type card struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ReleaseDate string `json:"release_date"`
}

// auto is the one model that is served here: whoever answers.
var auto = card{"auto", "A student once it is proven, else the model in HINT_DECIDE_MODEL", "2026-11-28"}

// API is the wire over HTTP (contract §15). Who may ask is checked before.
type API struct {
	engine *Engine
	places chan struct{}
}

// NewAPI returns the API of an engine.
func NewAPI(e *Engine) *API { return &API{e, make(chan struct{}, httpPlaces)} }

// Handlers are the handlers, by path.
func (a *API) Handlers() map[string]http.Handler {
	return map[string]http.Handler{pathAnswers: http.HandlerFunc(a.answers), pathModels: http.HandlerFunc(a.models)}
}

func (a *API) models(w http.ResponseWriter, r *http.Request) {
	if only(w, r, http.MethodGet) {
		send(w, http.StatusOK, map[string]any{"models": []card{auto}})
	}
}

func (a *API) answers(w http.ResponseWriter, r *http.Request) {
	if !only(w, r, http.MethodPost) {
		return
	}
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	default:
		a.engine.Metrics.skipped(Overloaded)
		busy(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBytes))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		refuse(w, http.StatusRequestEntityTooLarge, "the body must have at most "+strconv.Itoa(MaxBytes)+" bytes")
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the body could not be read")
		return
	}
	batch, err := ParseBatch(body)
	switch {
	case errors.Is(err, ErrNotJSON):
		refuse(w, http.StatusBadRequest, "the body must be JSON")
		return
	case err != nil:
		a.engine.Metrics.skipped(Unsupported)
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), budget(r))
	defer cancel()
	out := a.engine.Decide(ctx, httpAgent, &batch)
	switch {
	case out.Reply != nil:
		send(w, http.StatusOK, out.Reply)
	case out.Skip == Overloaded:
		busy(w)
	default:
		refuse(w, http.StatusUnprocessableEntity, "no answer: "+string(out.Skip))
	}
}

// budget is the time of a request: the caller's, if it names one, less the way back.
func budget(r *http.Request) time.Duration {
	ms, err := strconv.ParseFloat(r.Header.Get(subjects.HeaderTimeoutMs), 64)
	if err != nil || !(ms > 0) || ms > float64(httpTime.Milliseconds()) {
		return httpTime
	}
	own := time.Duration(ms * float64(time.Millisecond))
	return own - max(20*time.Millisecond, own/10) // contract §3
}

// only answers a request of another method.
func only(w http.ResponseWriter, r *http.Request, method string) bool {
	if r.Method == method || r.Method == http.MethodHead && method == http.MethodGet {
		return true
	}
	w.Header().Set("Allow", method)
	refuse(w, http.StatusMethodNotAllowed, "the method must be "+method)
	return false
}

// busy asks to come back a second later.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Retry-After-Ms", "1000")
	refuse(w, http.StatusTooManyRequests, "too many questions at once")
}

func refuse(w http.ResponseWriter, status int, detail string) {
	send(w, status, map[string]string{"detail": detail})
}

func send(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"detail":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}
