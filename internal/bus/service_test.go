package bus

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/subjects"
)

// endpointOf answers the requests of a hook.
func endpointOf(hook string, bound Bound, answer func(context.Context, Request) Reply) Endpoint {
	return Endpoint{
		Name: hook, Subject: testLayout().Prefix.RequestsOf(hook), Bound: bound,
		Answer: func(ctx context.Context, r Request, reply func(Reply)) { reply(answer(ctx, r)) },
		Overloaded: func(r Request) Reply {
			return Reply{Body: r.Data, Header: nats.Header{subjects.HeaderSkip: {"overloaded"}}}
		},
	}
}

func startEndpoints(t *testing.T, b *Bus, endpoints ...Endpoint) *Service {
	t.Helper()
	s, err := StartService(t.Context(), b.NC, ServiceOptions{Layout: testLayout(), Name: "intent-hint", Version: "1.2.3", Metrics: NewMetrics(prometheus.NewRegistry()), Log: quiet}, endpoints...)
	require.NoError(t, err)
	require.NoError(t, b.Subscribed(t.Context()))
	return s
}

func startService(t *testing.T, b *Bus, answer func(context.Context, Request) Reply) *Service {
	t.Helper()
	return startEndpoints(t, b, endpointOf("before_prompt_build", Bound{}, answer))
}

func TestUnhandledHooksHaveNoResponder(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	startService(t, b, func(context.Context, Request) Reply { return Reply{Body: []byte("{}")} })
	nc := client(t, b)
	_, err := nc.Request("openclaw.request.before_tool_call.main", nil, time.Minute)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	_, err = nc.Request("openclaw.request.before_prompt_build.main", nil, time.Minute)
	require.NoError(t, err)
}

func TestGoroutinesAnswerAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := &endpoint{waiting: make(chan func())}
		busy, answered := make(chan struct{}), 0
		for range 3 * maxIdle {
			e.start(ctx, func() { <-busy; answered++ })
		}
		synctest.Wait()
		require.Zero(t, e.idle.Load(), "each has a goroutine, although none is idle")
		for range 3 * maxIdle {
			busy <- struct{}{}
			synctest.Wait()
		}
		require.Equal(t, 3*maxIdle, answered)
		require.EqualValues(t, maxIdle, e.idle.Load())

		e.start(ctx, func() { <-busy })
		synctest.Wait()
		require.EqualValues(t, maxIdle-1, e.idle.Load(), "on an idle goroutine")
		busy <- struct{}{}
		cancel() // synctest fails if a goroutine is left
	})
}

// Each endpoint has its own bound.
func TestSlowEndpointDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	gate := make(chan struct{})
	s := startEndpoints(t, b,
		endpointOf("before_dispatch", Bound{Requests: 3, Bytes: 1 << 20, PerCaller: 3, PerCallerBytes: 1 << 20}, func(context.Context, Request) Reply { <-gate; return Reply{Body: []byte("slow")} }),
		endpointOf("before_prompt_build", Bound{}, func(context.Context, Request) Reply { return Reply{Body: []byte("quick")} }))
	nc := client(t, b)
	inbox := nats.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	require.NoError(t, err)
	for range 4 {
		require.NoError(t, nc.PublishRequest("openclaw.request.before_dispatch.main", inbox, []byte("asked")))
	}
	refused, err := answers.NextMsg(time.Minute)
	require.NoError(t, err)
	require.Equal(t, "overloaded", refused.Header.Get(subjects.HeaderSkip))
	require.Equal(t, "asked", string(refused.Data))
	for range 100 {
		reply, err := nc.Request("openclaw.request.before_prompt_build.main", nil, time.Minute)
		require.NoError(t, err)
		require.Equal(t, "quick", string(reply.Data))
	}
	require.Equal(t, 3, s.endpoints["before_dispatch"].stats().Inflight)
	require.InDelta(t, 3, testutil.ToFloat64(s.endpoints["before_dispatch"].inProgress), 0)
	require.InDelta(t, 1, testutil.ToFloat64(s.endpoints["before_dispatch"].refused), 0)
	require.Zero(t, testutil.ToFloat64(s.endpoints["before_prompt_build"].refused))
	close(gate)
	for range 3 {
		reply, err := answers.NextMsg(time.Minute)
		require.NoError(t, err)
		require.Equal(t, "slow", string(reply.Data))
	}
	require.NoError(t, s.Stop(t.Context()))
}

// A gateway at its own bound leaves room for the others.
func TestBoundPerCaller(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	gate := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(2)
	s := startEndpoints(t, b, endpointOf("before_prompt_build", Bound{Requests: 10, Bytes: 1 << 20, PerCaller: 2, PerCallerBytes: 1 << 20}, func(_ context.Context, r Request) Reply {
		if string(r.Data) == "noisy" {
			begun.Done()
			<-gate
		}
		return Reply{Body: []byte("{}")}
	}))
	noisy, calm := client(t, b), client(t, b)
	inbox := noisy.NewRespInbox()
	answers, err := noisy.SubscribeSync(inbox)
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, noisy.PublishRequest("openclaw.request.before_prompt_build.main", inbox, []byte("noisy")))
	}
	begun.Wait()
	for range 3 {
		refused, err := answers.NextMsg(time.Minute)
		require.NoError(t, err)
		require.Equal(t, "overloaded", refused.Header.Get(subjects.HeaderSkip))
	}
	for range 20 {
		reply, err := calm.Request("openclaw.request.before_prompt_build.main", []byte("calm"), time.Minute)
		require.NoError(t, err)
		require.Empty(t, reply.Header.Get(subjects.HeaderSkip))
	}
	close(gate)
	require.NoError(t, s.Stop(t.Context()))
}

// from is the caller that a row names: a connection, or USER/CONNECTION.
func from(name string) caller {
	if user, conn, told := strings.Cut(name, "/"); told {
		return caller{user + conn, user}
	}
	return caller{conn: name}
}

func TestGate(t *testing.T) {
	t.Parallel()
	bound := Bound{Requests: 3, Bytes: 100, PerCaller: 2, PerCallerBytes: 60}
	type entry struct {
		caller string
		bytes  int
		want   bool
	}
	for _, row := range []struct {
		name    string
		entries []entry
	}{
		{"a caller's requests", []entry{{"a", 1, true}, {"a", 1, true}, {"a", 1, false}, {"b", 1, true}}},
		{"all requests", []entry{{"a", 1, true}, {"a", 1, true}, {"b", 1, true}, {"c", 1, false}}},
		{"a caller's bytes", []entry{{"a", 50, true}, {"a", 20, false}, {"b", 50, true}}},
		{"all bytes", []entry{{"a", 60, true}, {"b", 30, true}, {"c", 20, false}, {"c", 10, true}}},
		{"a single large request", []entry{{"a", 1000, true}, {"b", 1, false}}},
		{"a user's requests", []entry{{"u/1", 1, true}, {"u/2", 1, true}, {"u/3", 1, false}, {"v/1", 1, true}}},
		{"a user's bytes", []entry{{"u/1", 50, true}, {"u/2", 20, false}, {"u/2", 10, true}, {"v/1", 40, true}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := newGate(bound)
			for _, e := range row.entries {
				require.Equal(t, e.want, g.enter(from(e.caller), e.bytes), e)
			}
			for _, e := range row.entries {
				if e.want {
					g.leave(from(e.caller), e.bytes)
				}
			}
			require.Zero(t, g.all)
			require.Empty(t, g.callers)
			require.Empty(t, g.users)
		})
	}
}

// Requests wait in the client's buffer and for their answer. Other services and
// subscriptions of the connection continue.
func TestStopAnswersPendingRequests(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	gate := make(chan struct{})
	s := startService(t, b, func(context.Context, Request) Reply {
		<-gate
		return Reply{Body: []byte("{}")}
	})
	more := startEndpoints(t, b, endpointOf("before_dispatch", Bound{}, func(context.Context, Request) Reply { return Reply{Body: []byte("other")} }))
	nc := client(t, b)
	const n = 200
	answers := make(chan *nats.Msg, n)
	inbox := nats.NewInbox()
	_, err := nc.ChanSubscribe(inbox, answers)
	require.NoError(t, err)
	for range n {
		require.NoError(t, nc.PublishRequest("openclaw.request.before_prompt_build.main", inbox, nil))
	}
	require.NoError(t, nc.Flush())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	// The service takes no more requests, and Stop waits for the pending ones.
	require.Eventually(t, s.svc.Stopped, time.Minute, time.Millisecond)
	late, err := b.NC.Subscribe("somebody.else", func(m *nats.Msg) { _ = m.Respond(nil) })
	require.NoError(t, err)
	require.NoError(t, b.NC.Flush())
	_, err = nc.Request("somebody.else", nil, time.Minute)
	require.NoError(t, err)
	require.NoError(t, late.Unsubscribe())
	require.Empty(t, stopped)
	close(gate)
	require.NoError(t, <-stopped)
	require.NoError(t, b.NC.Flush())
	for range n {
		select {
		case <-answers:
		case <-time.After(time.Minute):
			t.Fatal("a request was not answered")
		}
	}
	_, err = nc.Request("openclaw.request.before_prompt_build.main", nil, time.Minute)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	reply, err := nc.Request("openclaw.request.before_dispatch.main", nil, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "other", string(reply.Data))
	require.NoError(t, more.Stop(t.Context()))
}

func TestStopEndsWithContext(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	gate, begun := make(chan struct{}), make(chan struct{})
	s := startService(t, b, func(context.Context, Request) Reply { close(begun); <-gate; return Reply{Body: []byte("{}")} })
	require.NoError(t, client(t, b).PublishRequest("openclaw.request.before_prompt_build.main", "inbox", nil))
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Stop(ctx), context.Canceled)
	close(gate)
}

func TestRepliesGoToInboxesOnly(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	asked := make(chan struct{}, 10)
	s := startService(t, b, func(context.Context, Request) Reply {
		asked <- struct{}{}
		return Reply{Body: []byte("{}")}
	})
	nc := client(t, b)
	for _, reply := range []string{"$JS.API.STREAM.DELETE." + stream.CachedInfo().Config.Name, "openclaw.event.agent_end.main.s"} {
		require.NoError(t, nc.PublishRequest("openclaw.request.before_prompt_build.main", reply, []byte("{}")))
		<-asked
	}
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, b.NC.Flush())
	info, err := stream.Info(t.Context())
	require.NoError(t, err, "the stream was deleted")
	require.Zero(t, info.State.Msgs)
}

func TestServiceAnswers(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	requests := make(chan Request, 8)
	startService(t, b, func(_ context.Context, r Request) Reply {
		requests <- r
		if string(r.Data) == "bad" {
			return Reply{Body: []byte("{}"), Code: 400, Error: "hook is missing"}
		}
		return Reply{Body: []byte(`{"prependContext":"x"}`), Header: nats.Header{subjects.HeaderIntent: {"CHAT"}}}
	})
	nc := client(t, b)

	msg := nats.NewMsg("openclaw.request.before_prompt_build.main")
	msg.Data = []byte("{}")
	msg.Header.Set(subjects.HeaderTimeoutMs, "1500")
	msg.Header.Set(subjects.HeaderTraceparent, "00-abc-def-01")
	reply, err := nc.RequestMsg(msg, 5*time.Second)
	require.NoError(t, err)
	require.JSONEq(t, `{"prependContext":"x"}`, string(reply.Data))
	require.Equal(t, "CHAT", reply.Header.Get(subjects.HeaderIntent))
	got := <-requests
	require.Equal(t, 1500*time.Millisecond, got.Timeout)
	require.Equal(t, "00-abc-def-01", got.Traceparent)
	require.Empty(t, got.Version)
	require.NotContains(t, reply.Header, subjects.HeaderVersion, "only who tells its own version is told this one")
	for _, body := range []string{"{}", "bad"} {
		versioned := nats.NewMsg(msg.Subject)
		versioned.Data = []byte(body)
		versioned.Header.Set(subjects.HeaderVersion, "1.1.0")
		reply, err = nc.RequestMsg(versioned, 5*time.Second)
		require.NoError(t, err)
		require.Equal(t, "1.2.3", reply.Header.Get(subjects.HeaderVersion))
		require.Equal(t, "1.1.0", (<-requests).Version)
	}

	reply, err = nc.Request("openclaw.request.before_prompt_build.main", []byte("bad"), 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, "400", reply.Header.Get(subjects.HeaderErrorCode))
	require.Equal(t, "hook is missing", reply.Header.Get(subjects.HeaderError))
	require.Equal(t, "{}", string(reply.Data))
	require.NotEmpty(t, got.Caller)
	require.Equal(t, got.Caller, (<-requests).Caller)
	_, err = client(t, b).Request("openclaw.request.before_prompt_build.main", nil, 5*time.Second)
	require.NoError(t, err)
	require.NotEqual(t, got.Caller, (<-requests).Caller)

	reply, err = nc.Request("$SRV.PING.intent-hint", nil, 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(reply.Data), `"1.2.3"`)
	// A request is counted after its answer was sent.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		reply, err := nc.Request("$SRV.STATS.intent-hint", nil, 5*time.Second)
		require.NoError(c, err)
		require.Contains(c, string(reply.Data), `"num_requests":5`)
		require.Contains(c, string(reply.Data), `"errors":2`)
	}, time.Minute, time.Millisecond)
}

func TestRequester(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, reply, want string }{
		{"one inbox for all", "_INBOX.conn.token", "_INBOX.conn"},
		{"an inbox each", "_INBOX.token", "_INBOX"},
		{"custom prefix", "_INBOX_gw.conn.token", "_INBOX_gw.conn"},
		{"one token", "inbox", ""},
		{"no reply subject", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, requester(row.reply)) })
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	const header, shared = "Nats-Request-Info", `{"acc":"GATEWAYS","rtt":1,"user":"gateway","server":"s","id":7,"name":"\"id\":9"}`
	for _, row := range []struct {
		name, reply string
		headers     map[string][]string
		want        caller
	}{
		{"in the server's account", "_INBOX.c.1", nil, caller{conn: "_INBOX.c"}},
		{"made up in that account", "_INBOX.c.1", map[string][]string{header: {shared}}, caller{conn: "_INBOX.c"}},
		{"by an import that shares", "_R_.x.1", map[string][]string{header: {shared}}, caller{"s 7", "GATEWAYS gateway"}},
		{"by an import that does not", "_R_.x.1", map[string][]string{header: {`{"acc":"GATEWAYS","rtt":1}`}}, caller{"_R_.x", "GATEWAYS "}},
		{"with headers made up before the server's", "_R_.x.1", map[string][]string{header: {`{"acc":"X"}`, `{"acc":"Y"}`, shared}}, caller{"s 7", "GATEWAYS gateway"}},
		{"in another case", "_R_.x.1", map[string][]string{"nats-request-info": {`{"acc":"X"}`}, header: {shared}}, caller{"s 7", "GATEWAYS gateway"}},
		{"no JSON", "_R_.x.1", map[string][]string{header: {"x"}}, caller{"_R_.x", " "}},
		{"by an import of an old server", "_R_.x.1", nil, caller{conn: "_R_.x"}},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, callerOf(row.reply, row.headers)) })
	}
}

func TestTooLargeReply(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	s := startService(t, b, func(context.Context, Request) Reply {
		return Reply{Body: make([]byte, b.NC.MaxPayload()+1), Header: nats.Header{subjects.HeaderIntent: {"CODE"}}}
	})
	require.Zero(t, s.endpoints["before_prompt_build"].stats().AverageMs, "a number also without requests")
	reply, err := client(t, b).Request("openclaw.request.before_prompt_build.main", nil, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "{}", string(reply.Data))
	require.Equal(t, "500", reply.Header.Get(subjects.HeaderErrorCode))
	require.Contains(t, reply.Header.Get(subjects.HeaderError), "max_payload")
	require.Equal(t, "CODE", reply.Header.Get(subjects.HeaderIntent))
	// It is counted after it was sent.
	require.Eventually(t, func() bool { return s.endpoints["before_prompt_build"].stats().Errors == 1 }, time.Minute, time.Millisecond)
	require.Positive(t, s.endpoints["before_prompt_build"].stats().AverageMs)
}

func TestTimeoutHeader(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, header string
		want         time.Duration
	}{
		{"absent", "", 0},
		{"whole", "250", 250 * time.Millisecond},
		{"fraction", "1.5", 1500 * time.Microsecond},
		{"used up", "0", time.Nanosecond},
		{"more than used up", "-5", time.Nanosecond},
		{"text", "soon", 0},
		{"not a number", "NaN", 0},
		{"huge is a day", "1e300", 24 * time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := nats.Header{}
			if row.header != "" {
				h.Set(subjects.HeaderTimeoutMs, row.header)
			}
			require.Equal(t, row.want, timeoutOf(h))
		})
	}
}
