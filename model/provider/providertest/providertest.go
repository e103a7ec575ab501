// Package providertest is a model provider for tests: an HTTP server on
// loopback that speaks both wire formats and /embeddings, answers what it is
// told to, and remembers what it was asked.
package providertest

import (
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

// Answer is what the server says to one request. The zero Answer is a 200 with
// empty text.
type Answer struct {
	// Text is the model's answer, in the shape of the API that was asked.
	Text string
	// Delay passes before anything is sent; a client that goes away ends it.
	Delay time.Duration
	// Hang says never to answer: until the client goes away or the server is
	// closed.
	Hang bool
	// Status is 200 when 0. For others Message stands in an error body of the
	// API's shape.
	Status  int
	Message string
	// Finish overrides the reason why the model stopped ("stop" or "end_turn").
	Finish string
	// Refusal is put beside the text (openai-completions).
	Refusal string
	// Body, when not "", is sent as it is, instead of a body of the API's
	// shape, with ContentType.
	Body        string
	ContentType string
	// Header is added to the response.
	Header http.Header
	// Cached is how many of the input tokens are reported as cached.
	Cached int
}

// Request is what the server was asked.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	// Model, System and User are taken from the body, whatever the API.
	Model, System, User string
	// Texts are those to be turned into vectors (/embeddings).
	Texts []string
	// Fields is the whole body, decoded.
	Fields map[string]any
}

// Server is a scripted provider.
type Server struct {
	http   *httptest.Server
	closed chan struct{}

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
			s.mu.Lock()
			defer s.mu.Unlock()
			s.opened++
		}
	}
	s.http.Start()
	tb.Cleanup(s.Close)
	return s
}

// Close ends what hangs and stops the server. It can be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		return
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	s.http.Close()
}

// OpenAIURL is the base URL for openai-completions.
func (s *Server) OpenAIURL() string { return s.http.URL + "/v1" }

// AnthropicURL is the base URL for anthropic-messages.
func (s *Server) AnthropicURL() string { return s.http.URL }

// Script queues answers; each is given once, then the answer of [Server.Always]
// or [Server.Handle] takes over again.
func (s *Server) Script(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Always sets the answer to every request for which no other is queued.
func (s *Server) Always(a Answer) { s.Handle(func(Request) Answer { return a }) }

// Handle sets a function that answers every request for which no answer is
// queued. It is called from several goroutines.
func (s *Server) Handle(f func(Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Vectors sets what a good answer to /embeddings holds; [NGrams] without
// synonyms when it was never called. The function is called from several
// goroutines.
func (s *Server) Vectors(f func(text string) []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vector = f
}

// Requests returns what was asked so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns how many requests arrived so far.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Connections returns how many connections were opened so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var format wire
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		format = openAI{}
	case strings.HasSuffix(r.URL.Path, "/v1/messages"):
		format = anthropic{}
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		format = &embeddings{server: s}
	default:
		http.NotFound(w, r)
		return
	}
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	if json.Unmarshal(body, &req.Fields) != nil {
		http.Error(w, "not a JSON object", http.StatusBadRequest)
		return
	}
	req.Model, _ = req.Fields["model"].(string)
	req.System, req.User = format.prompt(req.Fields)
	if e, ok := format.(*embeddings); ok {
		req.Texts = e.texts
	}

	a := s.next(req)
	if !s.wait(r, a) {
		return
	}
	write(w, a, format, req.Model)
}

func (s *Server) next(req Request) Answer {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	if len(s.script) > 0 {
		a := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return a
	}
	f := s.answer
	s.mu.Unlock()
	return f(req)
}

// wait reports whether there is anybody left to answer.
func (s *Server) wait(r *http.Request, a Answer) bool {
	var timer <-chan time.Time
	switch {
	case a.Hang:
	case a.Delay > 0:
		t := time.NewTimer(a.Delay)
		defer t.Stop()
		timer = t.C
	default:
		return true
	}
	select {
	case <-timer:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

func write(w http.ResponseWriter, a Answer, format wire, model string) {
	maps.Copy(w.Header(), a.Header)
	contentType := a.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	if a.Body != "" {
		_, _ = io.WriteString(w, a.Body)
		return
	}
	var body any
	if status == http.StatusOK {
		body = format.answer(a, model)
	} else {
		body = format.failure(a)
	}
	_ = json.NewEncoder(w).Encode(body)
}

type object = map[string]any

// wire is one of the formats.
type wire interface {
	prompt(fields map[string]any) (system, user string)
	answer(a Answer, model string) any
	failure(a Answer) any
}

type openAI struct{}

func (openAI) prompt(fields map[string]any) (system, user string) {
	messages, _ := fields["messages"].([]any)
	for _, m := range messages {
		message, _ := m.(object)
		switch message["role"] {
		case "system":
			system += text(message["content"])
		case "user":
			user += text(message["content"])
		}
	}
	return system, user
}

func (openAI) answer(a Answer, model string) any {
	finish := a.Finish
	if finish == "" {
		finish = "stop"
	}
	message := object{"role": "assistant", "content": a.Text}
	if a.Refusal != "" {
		message["refusal"] = a.Refusal
	}
	return object{
		"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": model,
		"choices": []object{{"index": 0, "finish_reason": finish, "message": message}},
		"usage": object{
			"prompt_tokens": 100 + a.Cached, "completion_tokens": 20, "total_tokens": 120 + a.Cached,
			"prompt_tokens_details": object{"cached_tokens": a.Cached},
		},
	}
}

func (openAI) failure(a Answer) any {
	return object{"error": object{"message": a.Message, "type": "test_error", "param": nil, "code": nil}}
}

type anthropic struct{}

func (anthropic) prompt(fields map[string]any) (system, user string) {
	messages, _ := fields["messages"].([]any)
	var b strings.Builder
	for _, m := range messages {
		message, _ := m.(object)
		if message["role"] == "user" {
			b.WriteString(text(message["content"]))
		}
	}
	return text(fields["system"]), b.String()
}

func (anthropic) answer(a Answer, model string) any {
	finish := a.Finish
	if finish == "" {
		finish = "end_turn"
	}
	return object{
		"id": "msg_test", "type": "message", "role": "assistant", "model": model,
		"content":     []object{{"type": "text", "text": a.Text}},
		"stop_reason": finish, "stop_sequence": nil,
		"usage": object{
			"input_tokens": 100, "output_tokens": 20,
			"cache_read_input_tokens": a.Cached, "cache_creation_input_tokens": 0,
		},
	}
}

func (anthropic) failure(a Answer) any {
	return object{"type": "error", "error": object{"type": "test_error", "message": a.Message}}
}

// text is a string, or the text of an array of text parts.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, p := range v {
			part, _ := p.(object)
			s, _ := part["text"].(string)
			b.WriteString(s)
		}
		return b.String()
	default:
		return ""
	}
}
