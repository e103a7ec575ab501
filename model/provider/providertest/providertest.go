// Package providertest is a model provider for tests: an HTTP server on
// loopback that speaks all wire formats and /embeddings, gives scripted
// answers, and records the requests.
package providertest

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Answer is the server's response to one request. The zero Answer is a 200 with
// empty text.
type Answer struct {
	// Text is the model's answer, in the shape of the API that was asked; for systemone
	// the JSON object of the answers.
	Text string
	// Delay passes before anything is sent; a client that goes away ends it.
	Delay time.Duration
	// Hang means never to answer: until the client goes away or the server is
	// closed.
	Hang bool
	// Status is 200 when 0. For others Message stands in an error body of the
	// API's shape.
	Status  int
	Message string
	// Finish overrides the reason why the model stopped ("stop" or "end_turn").
	Finish string
	// Refusal is sent in addition to the text (openai-completions).
	Refusal string
	// Body, if not "", is sent unchanged, instead of a body of the API's shape,
	// with ContentType.
	Body        string
	ContentType string
	// Header is added to the response.
	Header http.Header
	// Cached is how many of the input tokens are reported as cached.
	Cached int
}

// Request is a request that the server received.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	// Model, System and User are taken from the body, whatever the API.
	Model, System, User string
	// Texts are the texts to embed (/embeddings).
	Texts []string
	// Fields is the whole body, decoded.
	Fields map[string]any
}

// Server is a scripted provider.
type Server struct {
	http   *httptest.Server
	closed chan struct{}
	// Close ends hanging requests and stops the server. It can be called more than
	// once.
	Close func()

	mu       sync.Mutex
	opened   int
	script   []Answer
	answer   func(Request) Answer
	vector   func(string) []float32
	requests []Request
}

// New starts a server that is closed when the test ends. It answers with the
// zero [Answer] until it is told otherwise.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{closed: make(chan struct{}), answer: func(Request) Answer { return Answer{} }, vector: NGrams(nil)}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.locked(func() { s.opened++ })
		}
	}
	s.http.Start()
	s.Close = sync.OnceFunc(func() {
		close(s.closed)
		s.http.Close()
	})
	tb.Cleanup(s.Close)
	return s
}

func (s *Server) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// OpenAIURL is the base URL for openai-completions and /embeddings.
func (s *Server) OpenAIURL() string { return s.http.URL + "/v1" }

// AnthropicURL is the base URL for anthropic-messages.
func (s *Server) AnthropicURL() string { return s.http.URL }

// Script queues answers; each is given once, then the answer of [Server.Always]
// or [Server.Handle] takes over again.
func (s *Server) Script(answers ...Answer) {
	s.locked(func() { s.script = append(s.script, answers...) })
}

// Always sets the answer to every request for which no other is queued.
func (s *Server) Always(a Answer) { s.Handle(func(Request) Answer { return a }) }

// Handle sets a function that answers every request for which no answer is
// queued. It is called from several goroutines.
func (s *Server) Handle(f func(Request) Answer) { s.locked(func() { s.answer = f }) }

// Vectors sets the function that makes the vectors of /embeddings; the default
// is [NGrams] without synonyms. The function is called from several goroutines.
func (s *Server) Vectors(f func(text string) []float32) { s.locked(func() { s.vector = f }) }

// Requests returns what was asked so far, in order of arrival.
func (s *Server) Requests() (out []Request) {
	s.locked(func() { out = slices.Clone(s.requests) })
	return out
}

// Count returns how many requests arrived so far.
func (s *Server) Count() int { return len(s.Requests()) }

// Connections returns how many connections were opened so far.
func (s *Server) Connections() (n int) {
	s.locked(func() { n = s.opened })
	return n
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &req.Fields) != nil {
		http.Error(w, "not a POST of a JSON object", http.StatusBadRequest)
		return
	}
	req.Model, _ = req.Fields["model"].(string)
	var answer func(Answer, Request) object
	failure := openAIFailure
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		req.System, req.User = said(req, "system"), said(req, "user")
		answer = openAIAnswer
	case strings.HasSuffix(r.URL.Path, "/v1/messages"):
		req.System, req.User = text(req.Fields["system"]), said(req, "user")
		answer, failure = anthropicAnswer, anthropicFailure
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		req.Texts = texts(req.Fields["input"])
		req.User = strings.Join(req.Texts, "\n")
		answer = s.embeddings
	case strings.HasSuffix(r.URL.Path, "/v1/systemone"):
		state, _ := json.Marshal(req.Fields["state"]) // decoded JSON
		req.User = string(state)
		answer = systemOneAnswer
	default:
		http.NotFound(w, r)
		return
	}
	a := s.next(req)
	if !s.wait(r, a) {
		return
	}
	maps.Copy(w.Header(), a.Header)
	w.Header().Set("Content-Type", cmp.Or(a.ContentType, "application/json"))
	status := cmp.Or(a.Status, http.StatusOK)
	w.WriteHeader(status)
	switch {
	case a.Body != "":
		_, _ = io.WriteString(w, a.Body)
	case status == http.StatusOK:
		_ = json.NewEncoder(w).Encode(answer(a, req))
	default:
		_ = json.NewEncoder(w).Encode(failure(a.Message))
	}
}

func (s *Server) next(req Request) Answer {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	if len(s.script) > 0 {
		defer s.mu.Unlock()
		a := s.script[0]
		s.script = s.script[1:]
		return a
	}
	f := s.answer
	s.mu.Unlock()
	return f(req)
}

// wait reports whether the client is still there after the delay.
func (s *Server) wait(r *http.Request, a Answer) bool {
	var after <-chan time.Time // never
	if !a.Hang {
		after = time.After(a.Delay)
	}
	select {
	case <-after:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

type object = map[string]any

// said returns the text of all messages of a role.
func said(req Request, role string) string {
	var out strings.Builder
	messages, _ := req.Fields["messages"].([]any)
	for _, m := range messages {
		if message, _ := m.(object); message["role"] == role {
			out.WriteString(text(message["content"]))
		}
	}
	return out.String()
}

// text returns a string, or the text of an array of text parts.
func text(v any) string {
	var out strings.Builder
	parts, _ := v.([]any)
	for _, p := range parts {
		part, _ := p.(object)
		out.WriteString(text(part["text"]))
	}
	s, _ := v.(string)
	return s + out.String()
}

// texts returns a string, or an array of strings, as a slice.
func texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i, element := range list {
		out[i], _ = element.(string)
	}
	return out
}

func openAIAnswer(a Answer, req Request) object {
	message := object{"role": "assistant", "content": a.Text}
	if a.Refusal != "" {
		message["refusal"] = a.Refusal
	}
	return object{
		"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": req.Model,
		"choices": []object{{"index": 0, "finish_reason": cmp.Or(a.Finish, "stop"), "message": message}},
		"usage": object{
			"prompt_tokens": 100 + a.Cached, "completion_tokens": 20, "total_tokens": 120 + a.Cached,
			"prompt_tokens_details": object{"cached_tokens": a.Cached},
		},
	}
}

// systemOneAnswer is the answer whose text is the JSON object of the answers.
func systemOneAnswer(a Answer, _ Request) object {
	return object{
		"model": "mock-1", "answers": json.RawMessage(cmp.Or(a.Text, "{}")),
		"usage": object{"input_tokens": 10, "output_tokens": 3},
	}
}

func openAIFailure(message string) object {
	return object{"error": object{"message": message, "type": "test_error", "param": nil, "code": nil}}
}

func anthropicAnswer(a Answer, req Request) object {
	return object{
		"id": "msg_test", "type": "message", "role": "assistant", "model": req.Model,
		"content":     []object{{"type": "text", "text": a.Text}},
		"stop_reason": cmp.Or(a.Finish, "end_turn"), "stop_sequence": nil,
		"usage": object{
			"input_tokens": 100, "output_tokens": 20,
			"cache_read_input_tokens": a.Cached, "cache_creation_input_tokens": 0,
		},
	}
}

func anthropicFailure(message string) object {
	return object{"type": "error", "error": object{"type": "test_error", "message": message}}
}

func (s *Server) embeddings(_ Answer, req Request) object {
	var vector func(string) []float32
	s.locked(func() { vector = s.vector })
	data := make([]object, len(req.Texts))
	for i, text := range req.Texts {
		data[i] = object{"object": "embedding", "index": i, "embedding": vector(text)}
	}
	tokens := 3 * len(req.Texts)
	return object{
		"object": "list", "data": data, "model": req.Model,
		"usage": object{"prompt_tokens": tokens, "total_tokens": tokens},
	}
}
