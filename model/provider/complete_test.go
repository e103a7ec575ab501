package provider

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/internal/text"
	"intenthint/model/provider/providertest"
)

// api is one of the two wire formats under test.
type api struct {
	name, path string
	config     func(*providertest.Server) Config
	key        func(http.Header) string
}

var apis = []api{
	{
		"openai", "/v1/chat/completions",
		func(s *providertest.Server) Config {
			return Config{BaseURL: s.OpenAIURL(), API: APIOpenAI, APIKeyEnv: "K"}
		},
		func(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") },
	},
	{
		"anthropic", "/v1/messages",
		func(s *providertest.Server) Config {
			return Config{BaseURL: s.AnthropicURL(), API: APIAnthropic, APIKeyEnv: "K"}
		},
		func(h http.Header) string { return h.Get("X-Api-Key") },
	},
}

func eachAPI(t *testing.T, f func(t *testing.T, a api, s *providertest.Server, m Completer)) {
	t.Helper()
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			s := providertest.New(t)
			f(t, a, s, model(t, a.config(s), "vendor/model-1"))
		})
	}
}

func model(t testing.TB, c Config, name string) Completer {
	t.Helper()
	r, err := New(map[string]Config{"p": c}, Options{
		Getenv:    func(string) string { return secret },
		Transport: transport(t),
	})
	require.NoError(t, err)
	m, err := r.Resolve("p/" + name)
	require.NoError(t, err)
	return m
}

func transport(t testing.TB) http.RoundTripper {
	tr := NewTransport()
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func request() Request {
	return Request{
		System: "the system", User: "the user", MaxTokens: 400,
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), SchemaName: "intent",
	}
}

func TestComplete(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: `{"a": "b"}`, Cached: 40})
		got, err := m.Complete(t.Context(), request())
		require.NoError(t, err)
		require.Equal(t, Completion{Text: `{"a": "b"}`, Usage: Usage{InputTokens: 140, OutputTokens: 20, CachedTokens: 40}}, got)

		require.Equal(t, 1, s.Count())
		asked := s.Requests()[0]
		require.Equal(t, a.path, asked.Path)
		require.Equal(t, secret, a.key(asked.Header))
		require.Equal(t, "vendor/model-1", asked.Model)
		require.Equal(t, "the system", asked.System)
		require.Equal(t, "the user", asked.User)
		require.InDelta(t, 400, asked.Fields["max_tokens"], 0)
		require.InDelta(t, 0.1, asked.Fields["temperature"], 1e-6)
		require.NotEqual(t, true, asked.Fields["stream"])
	})
}

func TestCompleteWithATemperature(t *testing.T) {
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: "x"})
		req := request()
		req.Temperature = 0.75
		_, err := m.Complete(t.Context(), req)
		require.NoError(t, err)
		require.InDelta(t, 0.75, s.Requests()[0].Fields["temperature"], 0)
	})
}

func TestCompleteStructuredOutput(t *testing.T) {
	t.Run("openai", func(t *testing.T) {
		s := providertest.New(t)
		s.Always(providertest.Answer{Text: "x"})
		_, err := model(t, apis[0].config(s), "m").Complete(t.Context(), request())
		require.NoError(t, err)
		require.JSONEq(t, `{"type": "json_schema", "json_schema": {"name": "intent", "strict": true,
			"schema": {"type": "object", "properties": {"a": {"type": "string"}}}}}`, field(t, s, "response_format"))
	})
	t.Run("anthropic", func(t *testing.T) {
		s := providertest.New(t)
		s.Always(providertest.Answer{Text: "x"})
		_, err := model(t, apis[1].config(s), "m").Complete(t.Context(), request())
		require.NoError(t, err)
		require.JSONEq(t, `{"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}}}`, field(t, s, "output_config"))
		require.JSONEq(t, `{"type": "disabled"}`, field(t, s, "thinking"))
		require.JSONEq(t, `[{"type": "text", "text": "the system", "cache_control": {"type": "ephemeral"}}]`, field(t, s, "system"))
	})
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: "SKIP"})
		_, err := m.Complete(t.Context(), Request{User: "free text", MaxTokens: 10})
		require.NoError(t, err)
		asked := s.Requests()[0].Fields
		require.NotContains(t, asked, "response_format")
		require.NotContains(t, asked, "output_config")
		require.NotContains(t, asked, "system")
		require.InDelta(t, 10, asked["max_tokens"], 0)
	})
}

func field(t *testing.T, s *providertest.Server, name string) string {
	t.Helper()
	requests := s.Requests()
	b, err := json.Marshal(requests[len(requests)-1].Fields[name])
	require.NoError(t, err)
	return string(b)
}

// The whole request, so that a field that comes or goes is noticed.
func TestCompleteRequest(t *testing.T) {
	schema := `{"type": "object", "properties": {"a": {"type": "string"}}}`
	tests := []struct {
		name, api, want string
		request         Request
	}{
		{"all", "openai", `{"model": "vendor/model-1", "max_tokens": 400, "temperature": 0.1, "stream": false,
			"messages": [{"role": "system", "content": "the system"}, {"role": "user", "content": "the user"}],
			"response_format": {"type": "json_schema", "json_schema": {"name": "intent", "strict": true, "schema": ` + schema + `}}}`, request()},
		{"least", "openai", `{"model": "vendor/model-1", "max_tokens": 10, "temperature": 0.1, "stream": false,
			"messages": [{"role": "user", "content": "<a> & \u2028b"}]}`, Request{User: "<a> & \u2028b", MaxTokens: 10}},
		{"all", "anthropic", `{"model": "vendor/model-1", "max_tokens": 400, "temperature": 0.1, "thinking": {"type": "disabled"},
			"system": [{"type": "text", "text": "the system", "cache_control": {"type": "ephemeral"}}],
			"messages": [{"role": "user", "content": [{"type": "text", "text": "the user"}]}],
			"output_config": {"format": {"type": "json_schema", "schema": ` + schema + `}}}`, request()},
		{"least", "anthropic", `{"model": "vendor/model-1", "max_tokens": 10, "temperature": 0.1, "thinking": {"type": "disabled"},
			"messages": [{"role": "user", "content": [{"type": "text", "text": "<a> & \u2028b"}]}]}`, Request{User: "<a> & \u2028b", MaxTokens: 10}},
	}
	for _, tt := range tests {
		t.Run(tt.api+" "+tt.name, func(t *testing.T) {
			a := apis[slices.IndexFunc(apis, func(a api) bool { return a.name == tt.api })]
			s := providertest.New(t)
			s.Always(providertest.Answer{Text: "x"})
			_, err := model(t, a.config(s), "vendor/model-1").Complete(t.Context(), tt.request)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(s.Requests()[0].Body))
		})
	}
}

func TestCompleteHeaders(t *testing.T) {
	key := map[string]http.Header{
		"openai":    {"Authorization": {"Bearer " + secret}},
		"anthropic": {"X-Api-Key": {secret}, "Anthropic-Version": {"2023-06-01"}},
	}
	eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: "x"})
		for range 2 {
			_, err := m.Complete(t.Context(), request())
			require.NoError(t, err)
		}
		for _, asked := range s.Requests() {
			require.Equal(t, []string{"application/json"}, asked.Header.Values("Accept"))
			require.Equal(t, []string{"application/json"}, asked.Header.Values("Content-Type"))
			for _, name := range []string{"Authorization", "X-Api-Key", "Anthropic-Version"} {
				require.Equal(t, key[a.name][name], asked.Header.Values(name), name)
			}
		}
	})
}

func TestCompleteFailures(t *testing.T) {
	good := func(text string) string {
		return `{"choices": [{"message": {"role": "assistant", "content": "` + text + `"}, "finish_reason": "stop"}]}`
	}
	var status *StatusError
	tests := []struct {
		name   string
		answer providertest.Answer
		kind   error // nil: a StatusError
		want   string
		only   string // the API for which the row makes sense; "" for both
	}{
		{"unauthorised", providertest.Answer{Status: 401, Message: "bad key " + secret}, nil, "HTTP status 401 Unauthorized: bad key ***", ""},
		{"rate limit", providertest.Answer{Status: 429, Message: "slow down", Header: http.Header{"Retry-After": {"20"}}}, nil, "HTTP status 429 Too Many Requests: slow down (retry after 20s)", ""},
		{"server error", providertest.Answer{Status: 500, Message: "oops\n\x00oops"}, nil, "HTTP status 500 Internal Server Error: oops oops", ""},
		{"overloaded", providertest.Answer{Status: 529, Body: "busy"}, nil, "HTTP status 529: busy", ""},
		{"gateway page", providertest.Answer{Status: 502, Body: "<html>Bad gateway</html>", ContentType: "text/html"}, nil, "HTTP status 502 Bad Gateway", ""},
		{"error in an array", providertest.Answer{Status: 404, Body: `[{"error": {"message": "no such model"}}]`}, nil, "no such model", ""},
		{"error as a string", providertest.Answer{Status: 404, Body: `{"error": "model not found"}`}, nil, "model not found", ""},
		{"error as detail", providertest.Answer{Status: 403, Body: `{"detail": "forbidden here"}`}, nil, "forbidden here", ""},
		{"long error", providertest.Answer{Status: 500, Body: strings.Repeat("x", 3<<20)}, nil, strings.Repeat("x", 299) + "…", ""},
		{"error with status 200", providertest.Answer{Body: `{"error": {"message": "upstream down", "code": 502}}`}, nil, "upstream down", ""},
		{"redirect", providertest.Answer{Status: 307, Header: http.Header{"Location": {"/v1/chat/completions"}}, Body: "x"}, nil, "HTTP status 307", ""},
		{"HTML", providertest.Answer{Body: "<html>hello</html>", ContentType: "text/html"}, ErrMalformed, `not a JSON object (content type "text/html")`, ""},
		{"stream", providertest.Answer{Body: "data: {\"choices\": []}\n\ndata: [DONE]\n\n", ContentType: "text/event-stream"}, ErrMalformed, "text/event-stream", ""},
		{"empty body", providertest.Answer{Body: " \n"}, ErrMalformed, "not a JSON object", ""},
		{"array body", providertest.Answer{Body: "[]"}, ErrMalformed, "not a JSON object", ""},
		{"cut-off body", providertest.Answer{Body: `{"choices": [{"mess`}, ErrMalformed, "not a JSON object", ""},
		{"two objects", providertest.Answer{Body: `{}{}`}, ErrMalformed, "not a JSON object", ""},
		{"no choices", providertest.Answer{Body: `{}`}, ErrMalformed, "", ""},
		{"huge body", providertest.Answer{Body: good(strings.Repeat("x", maxBody))}, errTooLarge, "more than 1048576 bytes", ""},
		{"empty text", providertest.Answer{}, errEmpty, "", ""},
		{"blank text", providertest.Answer{Text: " \n"}, errEmpty, "", ""},
		{"null text", providertest.Answer{Body: `{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}`}, errEmpty, "", "openai"},
		{"length", providertest.Answer{Text: `{"a": "b`, Finish: "length"}, errTruncated, "", "openai"},
		{"length, and another thing than an object", providertest.Answer{Text: `"a"`, Finish: "length"}, errTruncated, "", "openai"},
		{"max tokens", providertest.Answer{Text: `{"a": "b`, Finish: "max_tokens"}, errTruncated, "", "anthropic"},
		{"context window", providertest.Answer{Text: `{"a": "b`, Finish: "model_context_window_exceeded"}, errTruncated, "", "anthropic"},
		{"refusal", providertest.Answer{Refusal: "I'd rather not"}, errRefused, "I'd rather not", "openai"},
		{"content filter", providertest.Answer{Text: "x", Finish: "content_filter"}, errRefused, "", "openai"},
		{"refusal", providertest.Answer{Text: "x", Finish: "refusal"}, errRefused, "", "anthropic"},
		{"content of the wrong type", providertest.Answer{Body: `{"choices": [{"message": {"content": 5}}]}`}, errEmpty, "", "openai"},
		{"content of the wrong type", providertest.Answer{Body: `{"type": "message", "content": "x"}`}, errEmpty, "", "anthropic"},
		{"only thoughts", providertest.Answer{Body: `{"type": "message", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}], "stop_reason": "end_turn"}`}, errEmpty, "", "anthropic"},
		{"only thoughts, at the limit", providertest.Answer{Body: `{"type": "message", "content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "max_tokens"}`}, errTruncated, "", "anthropic"},
		{"another object", providertest.Answer{Body: `{"type": "completion", "content": []}`}, ErrMalformed, "not a message", "anthropic"},
		{"choices without one", providertest.Answer{Body: `{"choices": []}`}, ErrMalformed, "no choices", "openai"},
		{"choices of the wrong type", providertest.Answer{Body: `{"choices": "x"}`}, ErrMalformed, "", "openai"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
				if tt.only != "" && tt.only != a.name {
					return
				}
				s.Always(tt.answer)
				got, err := m.Complete(t.Context(), request())
				require.Error(t, err)
				if tt.kind != nil {
					require.ErrorIs(t, err, tt.kind)
				} else {
					require.ErrorAs(t, err, &status)
				}
				require.ErrorContains(t, err, tt.want)
				require.NotContains(t, err.Error(), secret)
				require.Less(t, len(err.Error()), 1000)
				require.Empty(t, got.Text)
				require.Equal(t, 1, s.Count(), "no retries")
			})
		})
	}
}

func TestCompleteTextParts(t *testing.T) {
	s := providertest.New(t)
	s.Always(providertest.Answer{Body: `{"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}`})
	got, err := model(t, apis[0].config(s), "m").Complete(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, "ab", got.Text)

	s.Always(providertest.Answer{Body: `{"type": "message", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "stop_reason": "end_turn"}`, ContentType: "text/plain"})
	got, err = model(t, apis[1].config(s), "m").Complete(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, "ab", got.Text)
}

// What other servers put into fields that do not matter here costs no answer.
func TestCompleteReadsOnlyWhatItNeeds(t *testing.T) {
	body := func(message, choice, top string) string {
		return `{"choices": [{"message": {"role": "assistant", ` + message + `}` + choice + `}]` + top + `}`
	}
	good := `"content": "fine"`
	for _, tt := range []struct {
		name, body string
		usage      Usage
	}{
		{"nothing else", body(good, "", ""), Usage{}},
		{"a time with a fraction", body(good, "", `, "created": 1763680000.123`), Usage{}},
		{"a time as text", body(good, "", `, "created": "now", "id": 17, "model": 5`), Usage{}},
		{"counts with a fraction", body(good, "", `, "usage": {"prompt_tokens": 12.0, "completion_tokens": 3.9, "prompt_tokens_details": {"cached_tokens": 4.0}}`), Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 4}},
		{"counts as text", body(good, "", `, "usage": {"prompt_tokens": "12", "completion_tokens": 3, "prompt_tokens_details": "none"}`), Usage{OutputTokens: 3}},
		{"counts that make no sense", body(good, "", `, "usage": {"prompt_tokens": -1, "completion_tokens": 1e99}`), Usage{}},
		{"counts as a list", body(good, "", `, "usage": []`), Usage{}},
		{"counts as null", body(good, "", `, "usage": null`), Usage{}},
		{"fields of the choice", body(good, `, "index": "0", "finish_reason": 5, "logprobs": "x"`, ""), Usage{}},
		{"fields of the message", body(good+`, "refusal": false, "tool_calls": {}, "annotations": 5`, "", ""), Usage{}},
		{"a part without text", body(`"content": [{"type": "image_url", "text": 5}, 7, {"type": "text", "text": "fine"}]`, "", ""), Usage{}},
		{"a part whose text is null", body(`"content": [{"type": "text", "text": null}, {"type": "text", "text": "fine"}]`, "", ""), Usage{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := providertest.New(t)
			s.Always(providertest.Answer{Body: tt.body})
			got, err := model(t, apis[0].config(s), "m").Complete(t.Context(), request())
			require.NoError(t, err)
			require.Equal(t, Completion{Text: "fine", Usage: tt.usage}, got)
		})
	}
	message := func(block, top string) string {
		return `{"type": "message", "content": [{"type": "text", "text": "fine"` + block + `}]` + top + `}`
	}
	for _, tt := range []struct {
		name, body string
		usage      Usage
	}{
		{"nothing else", message("", ""), Usage{}},
		{"no type of the message", `{"content": [{"type": "text", "text": "fine"}]}`, Usage{}},
		{"fields of the message", message("", `, "id": 17, "model": 5, "role": [], "stop_reason": 5, "stop_sequence": {}, "container": "x"`), Usage{}},
		{"fields of the block", message(`, "citations": "none"`, ""), Usage{}},
		{"other blocks", `{"type": "message", "content": [7, {"type": "text", "text": null}, {"type": "tool_use", "text": "no"}, {"type": "new", "text": 5}, {"type": "text", "text": "fine"}]}`, Usage{}},
		{"counts", message("", `, "usage": {"input_tokens": 12, "output_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5}`), Usage{InputTokens: 21, OutputTokens: 3, CachedTokens: 4}},
		{"counts with a fraction", message("", `, "usage": {"input_tokens": 12.0, "output_tokens": 3.9}`), Usage{InputTokens: 12, OutputTokens: 3}},
		{"counts as text", message("", `, "usage": {"input_tokens": "12", "output_tokens": 3, "cache_read_input_tokens": null, "server_tool_use": 1}`), Usage{OutputTokens: 3}},
		{"counts that make no sense", message("", `, "usage": {"input_tokens": -1, "output_tokens": 1e99}`), Usage{}},
		{"counts as a list", message("", `, "usage": []`), Usage{}},
	} {
		t.Run("anthropic, "+tt.name, func(t *testing.T) {
			s := providertest.New(t)
			s.Always(providertest.Answer{Body: tt.body})
			got, err := model(t, apis[1].config(s), "m").Complete(t.Context(), request())
			require.NoError(t, err)
			require.Equal(t, Completion{Text: "fine", Usage: tt.usage}, got)
		})
	}
	t.Run("anthropic, bytes that are not UTF-8", func(t *testing.T) {
		s := providertest.New(t)
		s.Always(providertest.Answer{Body: "{\"type\": \"message\", \"content\": [{\"type\": \"text\", \"text\": \"a\xffb\"}]}"})
		got, err := model(t, apis[1].config(s), "m").Complete(t.Context(), request())
		require.NoError(t, err)
		require.Equal(t, "a\ufffdb", got.Text)
	})
	t.Run("bytes that are not UTF-8", func(t *testing.T) {
		s := providertest.New(t)
		s.Always(providertest.Answer{Body: body("\"content\": \"a\xffb\"", "", "")})
		got, err := model(t, apis[0].config(s), "m").Complete(t.Context(), request())
		require.NoError(t, err)
		require.Equal(t, "a\ufffdb", got.Text)
	})
}

func TestCompleteDeadline(t *testing.T) {
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := m.Complete(ctx, request())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, s.Count(), 1, "no retries; on a slow machine not even the request")
	})
}

func TestCompleteWithoutAServer(t *testing.T) {
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Close()
		_, err := m.Complete(t.Context(), request())
		require.ErrorContains(t, err, "refused")
		require.NotContains(t, err.Error(), secret)
	})
}

func TestCompleteLearnsWhatIsRefused(t *testing.T) {
	tests := []struct {
		name, only string
		refuse     func(fields map[string]any) string // the message, "" to accept
		learned    map[string]any                     // in the accepted request; nil: absent
		refused    int
	}{
		{
			"json_schema", "openai",
			func(f map[string]any) string {
				if format, _ := f["response_format"].(map[string]any); format["type"] == "json_schema" {
					return "response_format.type must be one of json_object, text"
				}
				return ""
			},
			map[string]any{"response_format": map[string]any{"type": "json_object"}, "max_tokens": 400.0},
			1,
		},
		{
			"response_format", "openai",
			func(f map[string]any) string {
				if f["response_format"] != nil {
					return "Unknown parameter: 'response_format'"
				}
				return ""
			},
			map[string]any{"response_format": nil},
			2,
		},
		{
			"max_tokens", "openai",
			func(f map[string]any) string {
				if f["max_tokens"] != nil {
					return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
				}
				return ""
			},
			map[string]any{"max_tokens": nil, "max_completion_tokens": 400.0},
			1,
		},
		{
			"output_config", "anthropic",
			func(f map[string]any) string {
				if f["output_config"] != nil {
					return "output_config.format: Extra inputs are not permitted"
				}
				return ""
			},
			map[string]any{"output_config": nil},
			1,
		},
		{
			"thinking", "anthropic",
			func(f map[string]any) string {
				if f["thinking"] != nil {
					return `"thinking.type.disabled" is not supported for this model.`
				}
				return ""
			},
			map[string]any{"thinking": nil, "max_tokens": 2048.0},
			1,
		},
		{
			"temperature", "",
			func(f map[string]any) string {
				if f["temperature"] != nil {
					return "`temperature` is deprecated for this model."
				}
				return ""
			},
			map[string]any{"temperature": nil},
			1,
		},
		{
			"one after the other", "",
			func(f map[string]any) string {
				if f["temperature"] != nil {
					return "temperature is not supported"
				}
				if f["response_format"] != nil || f["output_config"] != nil {
					return "structured outputs are not supported"
				}
				return ""
			},
			map[string]any{"temperature": nil, "response_format": nil, "output_config": nil},
			-1,
		},
		{
			"without saying what", "",
			func(f map[string]any) string {
				if f["response_format"] != nil || f["output_config"] != nil {
					return "Bad Request"
				}
				return ""
			},
			map[string]any{"temperature": nil, "response_format": nil, "output_config": nil, "thinking": nil},
			1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
				if tt.only != "" && tt.only != a.name {
					return
				}
				s.Handle(func(r providertest.Request) providertest.Answer {
					if message := tt.refuse(r.Fields); message != "" {
						return providertest.Answer{Status: 400, Message: message}
					}
					return providertest.Answer{Text: "fine"}
				})
				got, err := m.Complete(t.Context(), request())
				require.NoError(t, err)
				require.Equal(t, "fine", got.Text)
				first := s.Count()
				if tt.refused >= 0 {
					require.Equal(t, tt.refused+1, first)
				}
				asked := s.Requests()[first-1].Fields
				for name, want := range tt.learned {
					if want == nil {
						require.NotContains(t, asked, name)
					} else {
						require.Equal(t, want, asked[name], name)
					}
				}
				_, err = m.Complete(t.Context(), request())
				require.NoError(t, err)
				require.Equal(t, first+1, s.Count(), "what was learned is remembered")
			})
		})
	}
}

func TestCompleteRefusedForGood(t *testing.T) {
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Status: 400, Message: "no"})
		_, err := m.Complete(t.Context(), request())
		require.ErrorContains(t, err, "HTTP status 400 Bad Request: no")
		require.LessOrEqual(t, s.Count(), 2)

		s.Always(providertest.Answer{Text: "x"})
		_, err = m.Complete(t.Context(), request())
		require.NoError(t, err)
		asked := s.Requests()[s.Count()-1].Fields
		require.Contains(t, asked, "temperature", "a refusal that nothing cured teaches nothing")
	})
}

func TestCompleteDoesNotRetryOtherErrors(t *testing.T) {
	for _, message := range []string{"Your credit balance is too low", "API key not valid", "The model `x` does not exist", "maximum context length exceeded"} {
		eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
			s.Always(providertest.Answer{Status: 400, Message: message})
			_, err := m.Complete(t.Context(), request())
			require.ErrorContains(t, err, message)
			require.Equal(t, 1, s.Count())
		})
	}
}

func TestCompleteMakesRoomForThinking(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
		finish := "length"
		if a.name == "anthropic" {
			finish = "max_tokens"
		}
		s.Script(providertest.Answer{Finish: finish})
		s.Always(providertest.Answer{Text: "fine"})
		got, err := m.Complete(t.Context(), request())
		require.ErrorIs(t, err, errTruncated)
		require.Equal(t, 20, got.Usage.OutputTokens, "what it cost is known all the same")
		_, err = m.Complete(t.Context(), request())
		require.NoError(t, err)
		require.InDelta(t, 2048, s.Requests()[1].Fields["max_tokens"], 0)
	})
}

// toServer sends every request to a test server, whatever its address.
type toServer struct {
	host string
	next http.RoundTripper
}

func (r *toServer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "http", r.host
	return r.next.RoundTrip(req)
}

func TestCompleteOpenAIReasoningModels(t *testing.T) {
	s := providertest.New(t)
	s.Always(providertest.Answer{Text: "x"})
	r, err := New(nil, Options{
		Getenv:    func(string) string { return secret },
		Transport: &toServer{host: strings.TrimPrefix(s.AnthropicURL(), "http://"), next: transport(t)},
	})
	require.NoError(t, err)
	tests := []struct {
		ref            string
		want, unwanted map[string]any
	}{
		{"openai/gpt-4o-mini", map[string]any{"max_completion_tokens": 400.0, "temperature": 0.1}, map[string]any{"max_tokens": 1, "reasoning_effort": 1}},
		{"openai/gpt-5-nano", map[string]any{"max_completion_tokens": 2048.0, "reasoning_effort": "low"}, map[string]any{"max_tokens": 1, "temperature": 1}},
		{"openai/o4-mini", map[string]any{"max_completion_tokens": 2048.0, "reasoning_effort": "low"}, map[string]any{"max_tokens": 1, "temperature": 1}},
		{"openai/gpt-6-sol", map[string]any{"max_completion_tokens": 2048.0, "reasoning_effort": "low"}, map[string]any{"max_tokens": 1, "temperature": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			before := s.Count()
			m, err := r.Resolve(tt.ref)
			require.NoError(t, err)
			_, err = m.Complete(t.Context(), request())
			require.NoError(t, err)
			require.Equal(t, before+1, s.Count(), "known models cost no refusal")
			asked := s.Requests()[before].Fields
			for name, want := range tt.want {
				require.Equal(t, want, asked[name], name)
			}
			for name := range tt.unwanted {
				require.NotContains(t, asked, name)
			}
		})
	}
	t.Run("another server's model of such a name", func(t *testing.T) {
		m := model(t, apis[0].config(s), "gpt-5-nano")
		before := s.Count()
		_, err := m.Complete(t.Context(), request())
		require.NoError(t, err)
		require.Equal(t, before+1, s.Count())
		asked := s.Requests()[before].Fields
		require.InDelta(t, 2048, asked["max_completion_tokens"], 0)
		for _, name := range []string{"max_tokens", "temperature", "reasoning_effort"} {
			require.NotContains(t, asked, name)
		}
	})
}

func TestCompleteIgnoresTheEnvironmentOfOtherClients(t *testing.T) {
	decoy := providertest.New(t)
	t.Setenv("ANTHROPIC_BASE_URL", decoy.AnthropicURL())
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "stray-token")
	t.Setenv("ANTHROPIC_API_KEY", "stray-key")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Stray: 1")
	t.Setenv("ANTHROPIC_PROFILE", "stray")
	t.Setenv("OPENAI_API_KEY", "stray-openai")
	t.Setenv("OPENAI_BASE_URL", decoy.OpenAIURL())
	eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: "x"})
		_, err := m.Complete(t.Context(), request())
		require.NoError(t, err)
		require.Zero(t, decoy.Count())
		for name, values := range s.Requests()[0].Header {
			require.NotContains(t, strings.ToLower(name+strings.Join(values, " ")), "stray")
		}
		c := a.config(s)
		c.APIKeyEnv = ""
		_, err = model(t, c, "m").Complete(t.Context(), request())
		require.NoError(t, err)
		require.Empty(t, s.Requests()[1].Header.Get("Authorization"))
		require.Empty(t, s.Requests()[1].Header.Get("X-Api-Key"))
	})
}

func TestCompleteKeepsConnections(t *testing.T) {
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: "x"})
		for range 5 {
			_, err := m.Complete(t.Context(), request())
			require.NoError(t, err)
		}
		s.Always(providertest.Answer{Status: 500, Message: "x"})
		_, err := m.Complete(t.Context(), request())
		require.Error(t, err)
		require.Equal(t, 1, s.Connections())
	})
}

func TestNewTransportSpeaksHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	tr := NewTransport()
	t.Cleanup(tr.CloseIdleConnections)
	tr.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", string(body))
}

func TestCompleteConcurrently(t *testing.T) {
	eachAPI(t, func(t *testing.T, _ api, s *providertest.Server, m Completer) {
		s.Handle(func(r providertest.Request) providertest.Answer {
			if r.Fields["temperature"] != nil {
				return providertest.Answer{Status: 400, Message: "temperature is not supported"}
			}
			return providertest.Answer{Text: r.User}
		})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				req := request()
				req.User = strconv.Itoa(i)
				got, err := m.Complete(t.Context(), req)
				assert.NoError(t, err)
				assert.Equal(t, req.User, got.Text)
			})
		}
		all.Wait()
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"absent", http.Header{}, 0},
		{"seconds", http.Header{"Retry-After": {"2"}}, 2 * time.Second},
		{"fraction", http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{"milliseconds win", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"150"}}, 150 * time.Millisecond},
		{"date", http.Header{"Retry-After": {"Mon, 18 May 2026 12:00:30 GMT"}}, 30 * time.Second},
		{"date in the past", http.Header{"Retry-After": {"Mon, 18 May 2026 11:00:30 GMT"}}, 0},
		{"negative", http.Header{"Retry-After": {"-5"}}, 0},
		{"not a number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"absurd", http.Header{"Retry-After": {"1e300"}}, 0},
		{"garbage", http.Header{"Retry-After": {"soon"}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, retryAfter(tt.header, now))
		})
	}
}

func FuzzErrorMessage(f *testing.F) {
	f.Add([]byte(`{"error": {"message": "x"}}`))
	f.Add([]byte(`[{"error": "x"}]`))
	f.Add([]byte("\xff<html>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := text.OneLine(errorMessage(body), 300)
		require.NotContains(t, got, "\n")
		require.LessOrEqual(t, len([]rune(got)), 300)
		reportsError(body)
	})
}

func BenchmarkComplete(b *testing.B) {
	for _, a := range apis {
		b.Run(a.name, func(b *testing.B) {
			s := providertest.New(b)
			s.Always(providertest.Answer{Text: `{"a": "b"}`})
			m := model(b, a.config(s), "m")
			req := request()
			req.System = strings.Repeat("The catalogue is long. ", 500)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Complete(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCompleteGivesPartOfAnAnswer(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
		finish := "length"
		if a.name == "anthropic" {
			finish = "max_tokens"
		}
		s.Script(providertest.Answer{Text: "SKIP, because the", Finish: finish}, providertest.Answer{Text: " ", Finish: finish})
		req := request()
		req.Partial = true
		got, err := m.Complete(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, "SKIP, because the", got.Text)
		require.Equal(t, 20, got.Usage.OutputTokens)
		_, err = m.Complete(t.Context(), req)
		require.ErrorIs(t, err, errTruncated, "nothing of it is there")
	})
}

func TestWholeObjectAtTheLengthLimitIsAnAnswer(t *testing.T) {
	finish := map[string]string{"openai": "length", "anthropic": "max_tokens"}
	eachAPI(t, func(t *testing.T, a api, s *providertest.Server, m Completer) {
		s.Always(providertest.Answer{Text: `{"a": "b"}` + "\n", Finish: finish[a.name]})
		got, err := m.Complete(t.Context(), request())
		require.NoError(t, err)
		require.JSONEq(t, `{"a": "b"}`, got.Text)
		free := request()
		free.Schema = nil
		_, err = m.Complete(t.Context(), free)
		require.ErrorIs(t, err, errTruncated, "free text may go on after it")
	})
}
