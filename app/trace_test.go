package app_test

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"intenthint/app/apptest"
	"intenthint/payload"
	"intenthint/subjects"
)

// collector is an OpenTelemetry collector that keeps what it gets.
type collector struct {
	mu      sync.Mutex
	headers http.Header
	spans   []*tracepb.Span
	service map[string]string
	raw     []byte
}

func newCollector(t *testing.T) (*collector, string) {
	t.Helper()
	c := &collector{service: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &data) != nil {
			http.Error(w, "no traces", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers = r.Header
		c.raw = append(c.raw, body...)
		for _, of := range data.GetResourceSpans() {
			for _, a := range of.GetResource().GetAttributes() {
				c.service[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, scope := range of.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	return c, server.URL
}

// named returns the spans with a name.
func (c *collector) named(name string) (list []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.GetName() == name {
			list = append(list, s)
		}
	}
	return list
}

func attributesOf(s *tracepb.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.GetAttributes() {
		out[a.GetKey()] = a.GetValue().GetStringValue()
		if a.GetValue().GetStringValue() == "" {
			out[a.GetKey()] = strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
	}
	return out
}

// The spans of a turn are in the gateway's trace: the request, the model within it, and
// the turn's event in its session file; and the events that the gateway sends.
func TestTracesOfATurn(t *testing.T) {
	c, url := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=one%20two, x-other=3")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	s, _ := apptest.WithModel(t, nil)

	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	traceparent := "00-" + trace + "-" + parent + "-01"
	ask := func(env payload.Envelope, header string) *nats.Msg {
		body, err := json.Marshal(env)
		require.NoError(t, err)
		m := nats.NewMsg("openclaw.request." + env.Hook + ".main")
		m.Data = body
		if header != "" {
			m.Header.Set(subjects.HeaderTraceparent, header)
		}
		reply, err := s.Gateway.RequestMsg(m, time.Minute)
		require.NoError(t, err)
		return reply
	}
	reply := ask(s.Prompt("s1", "r1", "a very private message"), traceparent)
	require.Equal(t, "CHAT", reply.Header.Get(subjects.HeaderIntent))
	require.Equal(t, traceparent, reply.Header.Get(subjects.HeaderTraceparent))

	end, err := json.Marshal(map[string]any{
		"hook": "agent_end", "id": "e1", "ts": 1763680000500,
		"event": map[string]any{"runId": "r1", "success": true, "messages": []any{}}, "ctx": map[string]any{"runId": "r1", "sessionId": "s1", "agentId": "main"},
	})
	require.NoError(t, err)
	told := nats.NewMsg("openclaw.event.agent_end.main.s1")
	told.Data = end
	told.Header.Set(subjects.HeaderTraceparent, traceparent)
	_, err = s.JS.PublishMsg(t.Context(), told)
	require.NoError(t, err)

	s.Eventually("the spans of the turn", func() bool {
		return len(c.named("before_prompt_build")) == 1 && len(c.named("model")) == 1 && len(c.named("apply turn_begun")) == 1 && len(c.named("apply agent_end")) == 1
	})
	request := c.named("before_prompt_build")[0]
	require.Equal(t, []string{trace, parent}, []string{hex.EncodeToString(request.GetTraceId()), hex.EncodeToString(request.GetParentSpanId())})
	require.Equal(t, tracepb.Span_SPAN_KIND_SERVER, request.GetKind())
	about := attributesOf(request)
	require.Equal(t, []string{"CHAT", "llm", "0.90"}, []string{about["hint.intent"], about["hint.source"], about["hint.confidence"]})
	for _, name := range []string{"model", "apply turn_begun"} {
		child := c.named(name)[0]
		require.Equal(t, request.GetTraceId(), child.GetTraceId(), name)
		require.Equal(t, request.GetSpanId(), child.GetParentSpanId(), name)
	}
	require.Equal(t, "mock/small", attributesOf(c.named("model")[0])["gen_ai.request.model"])
	require.GreaterOrEqual(t, c.named("model")[0].GetStartTimeUnixNano(), request.GetStartTimeUnixNano())
	require.Equal(t, parent, hex.EncodeToString(c.named("apply agent_end")[0].GetParentSpanId()))
	require.Equal(t, "sessions", attributesOf(c.named("apply agent_end")[0])["sink"])

	// A gateway that does not sample has its way; a request without a context begins a trace.
	ask(s.Prompt("s1", "r2", "hello"), "00-"+trace+"-"+parent+"-00")
	ask(s.Prompt("s1", "r3", "hello again"), "")
	s.Eventually("the trace of its own", func() bool { return len(c.named("before_prompt_build")) == 2 })
	require.Empty(t, c.named("before_prompt_build")[1].GetParentSpanId())

	c.mu.Lock()
	defer c.mu.Unlock()
	require.Equal(t, []string{"one two", "3"}, []string{c.headers.Get("X-Key"), c.headers.Get("X-Other")})
	require.Equal(t, []string{"intenthint", "0.0.0", "test"}, []string{c.service["service.name"], c.service["service.version"], c.service["deployment.environment.name"]})
	require.NotContains(t, string(c.raw), "private message")
	require.NotContains(t, string(c.raw), "direct:s1")
}

// The last spans are sent when the process stops, and a collector that is away costs a
// warning.
func TestTracesAtTheEnd(t *testing.T) {
	c, url := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url+"/v1/traces")
	s := apptest.Start(t, nil)
	s.Ask(s.Prompt("s1", "r1", "hello there"), time.Minute)
	require.Empty(t, c.named("before_prompt_build"), "a batch waits for five seconds")
	require.NoError(t, s.Stop())
	require.Len(t, c.named("before_prompt_build"), 1)

	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
	away := apptest.Start(t, nil)
	away.Ask(away.Prompt("s1", "r1", "hello there"), time.Minute)
	require.NoError(t, away.Stop())
	require.Contains(t, away.Log.String(), "traces not delivered")

	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	wrong := apptest.Start(t, nil)
	wrong.Ask(wrong.Prompt("s1", "r1", "hello there"), time.Minute)
	require.Contains(t, wrong.Log.String(), "only http/protobuf is supported")
}
