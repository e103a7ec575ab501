package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/batch"
	"intenthint/internal/porttest"
	"intenthint/subjects"
)

var quiet = slog.New(slog.DiscardHandler)

func testLayout() Layout {
	return Layout{Prefix: subjects.DefaultPrefix, QueueGroup: subjects.DefaultQueueGroup, Stream: subjects.DefaultStream, MaxAge: time.Hour, MaxBytes: 64 << 20}
}

// openTest starts an embedded server on a free port.
func openTest(t testing.TB) *Bus {
	t.Helper()
	b, err := Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func provisionTest(t testing.TB, b *Bus) Provisioned {
	t.Helper()
	p, err := Provision(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	return p
}

// freePort returns a port nobody listens on.
func TestFiveProcessesStartedAtOnceShareOneServer(t *testing.T) {
	dir, port := t.TempDir(), porttest.Free(t)
	buses := make([]*Bus, 5)
	var started sync.WaitGroup
	for i := range buses {
		started.Go(func() {
			b, err := Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: port, DataDir: dir}, Log: quiet})
			if err == nil {
				_, err = Provision(t.Context(), b.JS, testLayout())
			}
			if err != nil {
				t.Error(err)
				return
			}
			buses[i] = b
		})
	}
	started.Wait()
	servers := 0
	for _, b := range buses {
		require.NotNil(t, b)
		if b.Embedded() {
			servers++
			defer b.Close()
		} else {
			b.Close()
		}
	}
	require.Equal(t, 1, servers)
}

func TestOpenRefuses(t *testing.T) {
	t.Run("an address taken by something that is not NATS", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
				_ = c.Close()
			}
		}()
		_, err = Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: l.Addr().(*net.TCPAddr).Port, DataDir: t.TempDir()}, Log: quiet})
		require.ErrorIs(t, err, ErrNotNATS)
	})
	t.Run("a data directory that another server uses", func(t *testing.T) {
		dir := t.TempDir()
		b, err := Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: server.RANDOM_PORT, DataDir: dir}, Log: quiet})
		require.NoError(t, err)
		defer b.Close()
		_, err = Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: porttest.Free(t), DataDir: dir}, Log: quiet})
		require.ErrorIs(t, err, ErrDataDirInUse)
		require.ErrorContains(t, err, b.URL())
	})
	t.Run("a broken configuration file", func(t *testing.T) {
		conf := filepath.Join(t.TempDir(), "nats.conf")
		require.NoError(t, os.WriteFile(conf, []byte("listen: {"), 0o600))
		_, err := Open(t.Context(), Options{Embedded: EmbeddedOptions{ConfFile: conf, DataDir: t.TempDir()}, Log: quiet})
		require.ErrorIs(t, err, ErrConf)
	})
	t.Run("an external server that is not there", func(t *testing.T) {
		_, err := Open(t.Context(), Options{URL: "nats://user:secret@127.0.0.1:" + strconv.Itoa(porttest.Free(t)), Log: quiet})
		require.ErrorIs(t, err, ErrUnreachable)
		require.NotContains(t, err.Error(), "secret")
	})
}

func TestAnyPortJoinsTheServerOfTheDataDirectory(t *testing.T) {
	o := Options{Embedded: EmbeddedOptions{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet}
	first, err := Open(t.Context(), o)
	require.NoError(t, err)
	defer first.Close()
	second, err := Open(t.Context(), o)
	require.NoError(t, err)
	defer second.Close()
	require.True(t, first.Embedded())
	require.False(t, second.Embedded())
	require.Contains(t, first.URL(), second.URL())
}

func TestOpenWaitsForAnExternalServer(t *testing.T) {
	port := porttest.Free(t)
	opened := make(chan *Bus, 1)
	go func() {
		b, err := Open(t.Context(), Options{URL: "nats://127.0.0.1:" + strconv.Itoa(port), Wait: true, Log: quiet})
		if err != nil {
			t.Error(err)
		}
		opened <- b
	}()
	select {
	case <-opened:
		t.Fatal("opened without a server")
	case <-time.After(150 * time.Millisecond):
	}
	srv, err := Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: port, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	defer srv.Close()
	b := <-opened
	require.False(t, b.Embedded())
	b.Close()
}

func TestServerWithoutJetStreamIsAClearError(t *testing.T) {
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	go ns.Start()
	require.True(t, ns.ReadyForConnections(10*time.Second))
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	b, err := Open(t.Context(), Options{URL: ns.ClientURL(), Log: quiet})
	require.NoError(t, err)
	defer b.Close()
	require.ErrorIs(t, b.CheckJetStream(t.Context()), ErrNoJetStream)
}

func TestLocalURLFindsAServerOnAFreePort(t *testing.T) {
	dir := t.TempDir()
	o := EmbeddedOptions{Port: server.RANDOM_PORT, DataDir: dir}
	url, err := LocalURL(o)
	require.NoError(t, err)
	require.Empty(t, url)
	b, err := Open(t.Context(), Options{Embedded: o, Log: quiet})
	require.NoError(t, err)
	url, err = LocalURL(o)
	require.NoError(t, err)
	require.Equal(t, b.URL(), url)
	b.Close()
	url, err = LocalURL(o)
	require.NoError(t, err)
	require.Empty(t, url)
}

func TestProvisionLeavesAloneWhatExists(t *testing.T) {
	b := openTest(t)
	l := testLayout()
	own := l.eventStream()
	own.MaxAge = 42 * time.Minute
	own.Description = "made by hand"
	_, err := b.JS.CreateStream(t.Context(), own)
	require.NoError(t, err)
	_, err = b.JS.CreateConsumer(t.Context(), l.Stream, jetstream.ConsumerConfig{Durable: l.QueueGroup, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 3 * time.Second, MaxDeliver: 7})
	require.NoError(t, err)

	p := provisionTest(t, b)
	info, err := p.Events.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, 42*time.Minute, info.Config.MaxAge)
	require.Equal(t, "made by hand", info.Config.Description)
	durable, err := p.Durable.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, durable.Config.AckWait)
	require.Equal(t, 7, durable.Config.MaxDeliver)
}

func TestShippedConfigurationIsWhatItSays(t *testing.T) {
	opts, err := EmbeddedOptions{DataDir: "data"}.parse()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", opts.Host)
	require.Equal(t, 4222, opts.Port)
	require.True(t, opts.SyncAlways)
	require.EqualValues(t, 8<<20, opts.MaxPayload)
	require.Zero(t, opts.HTTPPort)
	file, err := EmbeddedOptions{ConfFile: "../../nats.conf", DataDir: "data"}.parse()
	require.NoError(t, err)
	require.Equal(t, opts.Port, file.Port)
}

func startService(t *testing.T, b *Bus, answer func(context.Context, Request) Reply) *Service {
	t.Helper()
	s, err := StartService(t.Context(), b.NC, ServiceOptions{Layout: testLayout(), Version: "1.2.3", Log: quiet}, func(ctx context.Context, r Request, reply func(Reply)) {
		reply(answer(ctx, r))
	})
	require.NoError(t, err)
	return s
}

func client(t testing.TB, b *Bus) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func TestAnAnswerIsNoOrder(t *testing.T) {
	b := openTest(t)
	p := provisionTest(t, b)
	asked := make(chan struct{}, 10)
	s := startService(t, b, func(context.Context, Request) Reply {
		asked <- struct{}{}
		return Reply{Body: []byte("{}")}
	})
	nc := client(t, b)
	for _, reply := range []string{"$JS.API.STREAM.DELETE." + p.Events.CachedInfo().Config.Name, "openclaw.event.agent_end.main.s"} {
		require.NoError(t, nc.PublishRequest("openclaw.request.before_prompt_build.main", reply, []byte("{}")))
		<-asked
	}
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, b.NC.Flush())
	info, err := p.Events.Info(t.Context())
	require.NoError(t, err, "it was not deleted")
	require.Zero(t, info.State.Msgs)
}

func TestServiceAnswers(t *testing.T) {
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

	reply, err = nc.Request("openclaw.request.before_prompt_build.main", []byte("bad"), 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, "400", reply.Header.Get(subjects.HeaderErrorCode))
	require.Equal(t, "hook is missing", reply.Header.Get(subjects.HeaderError))
	require.Equal(t, "{}", string(reply.Data))

	reply, err = nc.Request("$SRV.PING.intent-hint", nil, 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(reply.Data), `"1.2.3"`)
	reply, err = nc.Request("$SRV.STATS.intent-hint", nil, 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(reply.Data), `"num_requests":2`)
	require.Contains(t, string(reply.Data), `"errors":1`)
}

func TestARequestThatComesAloneIsAnsweredWhereItArrives(t *testing.T) {
	b := openTest(t)
	var (
		immediate atomic.Bool
		gate      = make(chan struct{})
		handedOn  = make(chan bool, 200)
	)
	s, err := StartService(t.Context(), b.NC, ServiceOptions{Layout: testLayout(), Version: "1.2.3", Log: quiet, Immediate: immediate.Load},
		func(_ context.Context, r Request, reply func(Reply)) {
			handedOn <- bytes.Contains(debug.Stack(), []byte("internal/fair."))
			if r.Subject == "openclaw.request.x.waits" {
				<-gate
			}
			reply(Reply{Body: []byte("{}")})
		})
	require.NoError(t, err)
	nc := client(t, b)
	idle := func() {
		require.Eventually(t, func() bool { return s.Stats().Inflight == 0 }, time.Minute, time.Millisecond)
	}
	ask := func(data []byte) bool {
		_, err := nc.Request("openclaw.request.x.y", data, time.Minute)
		require.NoError(t, err)
		return <-handedOn
	}
	require.True(t, ask(nil), "what may wait for a model")
	immediate.Store(true)
	idle()
	require.False(t, ask(nil), "alone")
	idle()
	require.True(t, ask(make([]byte, largestAlone+1)), "large")

	inbox := nats.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	require.NoError(t, err)
	immediate.Store(false)
	require.NoError(t, nc.PublishRequest("openclaw.request.x.waits", inbox, nil))
	require.True(t, <-handedOn)
	immediate.Store(true)
	require.True(t, ask(nil), "beside another")
	gate <- struct{}{}

	// What has come meanwhile is handed on.
	_, err = answers.NextMsg(time.Minute)
	require.NoError(t, err)
	idle()
	require.NoError(t, nc.PublishRequest("openclaw.request.x.waits", inbox, nil))
	require.False(t, <-handedOn)
	for range cap(handedOn) {
		require.NoError(t, nc.PublishRequest("openclaw.request.x.y", inbox, nil))
	}
	require.NoError(t, nc.Flush())
	gate <- struct{}{}
	some := false
	for range cap(handedOn) {
		some = <-handedOn || some
	}
	require.True(t, some)
}

func TestGatewaysTakeTurnsAndTooMuchIsRefused(t *testing.T) {
	b := openTest(t)
	gate := make(chan struct{})
	var (
		mu     sync.Mutex
		served []string
	)
	s, err := StartService(t.Context(), b.NC, ServiceOptions{
		Layout: testLayout(), Version: "1.2.3", Log: quiet,
		Overloaded: func(r Request) Reply {
			return Reply{Body: r.Data, Header: nats.Header{subjects.HeaderSkip: {"overloaded"}}}
		},
	}, func(_ context.Context, r Request, reply func(Reply)) {
		<-gate
		mu.Lock()
		served = append(served, string(r.Data))
		mu.Unlock()
		reply(Reply{Body: []byte("{}")})
	})
	require.NoError(t, err)
	const line = 1024
	noisy, calm := client(t, b), client(t, b)
	refused := make(chan *nats.Msg, 16)
	answered := make(chan *nats.Msg, 2*line)
	inbox := noisy.NewRespInbox()
	_, err = noisy.Subscribe(inbox, func(m *nats.Msg) {
		if m.Header.Get(subjects.HeaderSkip) != "" {
			refused <- m
		} else {
			answered <- m
		}
	})
	require.NoError(t, err)
	for range places() + line + 1 {
		require.NoError(t, noisy.PublishRequest("openclaw.request.x.y", inbox, []byte("noisy")))
	}
	m := <-refused // the last: places and line are full
	require.Equal(t, "noisy", string(m.Data))
	require.Empty(t, answered)
	answer := make(chan error, 1)
	go func() {
		_, err := calm.Request("openclaw.request.x.y", []byte("calm"), time.Minute)
		answer <- err
	}()
	require.Eventually(t, func() bool { return s.Stats().Inflight == int64(places()+line+1) }, time.Minute, time.Millisecond, "its line is its own")
	close(gate)
	require.NoError(t, <-answer)
	for range places() + line {
		<-answered
	}
	mu.Lock()
	defer mu.Unlock()
	require.Less(t, slices.Index(served, "calm"), line, "not behind all of them")
}

func TestARequestIsNamedAfterItsConnection(t *testing.T) {
	for _, row := range []struct{ name, reply, want string }{
		{"one inbox for all", "_INBOX.conn.token", "_INBOX.conn"},
		{"an inbox each", "_INBOX.token", "_INBOX"},
		{"a prefix of its own", "_INBOX_gw.conn.token", "_INBOX_gw.conn"},
		{"one token", "inbox", ""},
		{"nobody waits", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, requester(row.reply)) })
	}
}

func TestAnAnswerThatIsTooLargeIsSaidToBe(t *testing.T) {
	b := openTest(t)
	s := startService(t, b, func(context.Context, Request) Reply { return Reply{Body: make([]byte, b.NC.MaxPayload()+1)} })
	reply, err := client(t, b).Request("openclaw.request.x.y", nil, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "{}", string(reply.Data))
	require.Equal(t, "500", reply.Header.Get(subjects.HeaderErrorCode))
	require.Contains(t, reply.Header.Get(subjects.HeaderError), "max_payload")
	require.EqualValues(t, 1, s.Stats().Errors)
}

func TestTimeoutHeader(t *testing.T) {
	for _, row := range []struct {
		name, header string
		want         time.Duration
	}{
		{"absent", "", 0},
		{"whole", "250", 250 * time.Millisecond},
		{"fraction", "1.5", 1500 * time.Microsecond},
		{"zero says nothing", "0", 0},
		{"negative says nothing", "-5", 0},
		{"text says nothing", "soon", 0},
		{"not a number", "NaN", 0},
		{"absurd is a day", "1e300", 24 * time.Hour},
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

func TestStopAnswersEveryRequestThatWasTaken(t *testing.T) {
	b := openTest(t)
	gate := make(chan struct{})
	s := startService(t, b, func(context.Context, Request) Reply {
		<-gate
		return Reply{Body: []byte("{}")}
	})
	nc := client(t, b)
	const n = 200
	answers := make(chan *nats.Msg, n)
	inbox := nats.NewInbox()
	_, err := nc.ChanSubscribe(inbox, answers)
	require.NoError(t, err)
	for range n {
		require.NoError(t, nc.PublishRequest("openclaw.request.x.y", inbox, nil))
	}
	require.NoError(t, nc.Flush())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	select {
	case <-stopped: //nolint:errcheck // it must not have come
		t.Fatal("stopped with requests in work")
	case <-time.After(50 * time.Millisecond):
	}
	close(gate)
	require.NoError(t, <-stopped)
	require.NoError(t, b.NC.Flush())
	for range n {
		select {
		case <-answers:
		case <-time.After(5 * time.Second):
			t.Fatal("a request was not answered")
		}
	}
	_, err = nc.Request("openclaw.request.x.y", nil, time.Second)
	require.ErrorIs(t, err, nats.ErrNoResponders)
}

// counts is an observer of events.
type counts struct {
	mu                                         sync.Mutex
	applied, ignored, redelivered, deadLetters int
	retried                                    int
}

func (c *counts) add(p *int, n int) { c.mu.Lock(); *p += n; c.mu.Unlock() }

func (c *counts) EventApplied(string) { c.add(&c.applied, 1) }
func (c *counts) EventIgnored(string) { c.add(&c.ignored, 1) }
func (c *counts) Redelivery(string)   { c.add(&c.redelivered, 1) }
func (c *counts) DeadLetter(string)   { c.add(&c.deadLetters, 1) }
func (c *counts) Lag(uint64, int)     {}
func (c *counts) PublishRetry()       { c.add(&c.retried, 1) }

func (c *counts) get(p *int) int { c.mu.Lock(); defer c.mu.Unlock(); return *p }

func decodeText(_, _ string, data []byte) (Event[string], error) {
	text := string(data)
	switch {
	case strings.HasPrefix(text, "garbage"):
		return Event[string]{}, errors.New("message is not valid JSON:\nline two")
	case text == "ignored":
		return Event[string]{Hook: "llm_output"}, nil
	}
	session, _, _ := strings.Cut(text, "/")
	return Event[string]{Session: session, Fact: text, Hook: "after_tool_call"}, nil
}

func TestEventsAreAppliedInGroupsAndAcknowledged(t *testing.T) {
	b := openTest(t)
	p := provisionTest(t, b)
	var (
		mu  sync.Mutex
		got = map[string]int{}
		c   counts
	)
	ev, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply: func(_ context.Context, facts []string) error {
			mu.Lock()
			defer mu.Unlock()
			session, _, _ := strings.Cut(facts[0], "/")
			for _, f := range facts {
				if !strings.HasPrefix(f, session+"/") {
					return fmt.Errorf("facts of two sessions in one call: %q", facts)
				}
				got[f]++
			}
			return nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	for i := range 300 {
		_, err := b.JS.PublishAsync("openclaw.event.after_tool_call.main.s", fmt.Appendf(nil, "s%d/%d", i%7, i))
		require.NoError(t, err)
	}
	_, err = b.JS.Publish(t.Context(), "openclaw.event.llm_output.main.s", []byte("ignored"))
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 300 && c.get(&c.ignored) == 1 && c.get(&c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
	require.Len(t, got, 300)
	require.NoError(t, b.NC.Flush())
	require.Eventually(t, func() bool {
		info, err := p.Durable.Info(t.Context())
		return err == nil && info.NumAckPending == 0 && info.NumPending == 0
	}, time.Minute, 5*time.Millisecond)

	letters := lettersOf(t, b, Selection{})
	require.Len(t, letters, 1)
	require.Equal(t, "agent_end", letters[0].Hook)
	require.Equal(t, "message is not valid JSON: line two", letters[0].Reason)
	require.Equal(t, "openclaw.event.agent_end.main.s", letters[0].Subject)
	require.Equal(t, "garbage", string(letters[0].Body))
}

func TestDeadLetterOfAnUnknownHookHasTheAbsentToken(t *testing.T) {
	b := openTest(t)
	p := provisionTest(t, b)
	var c counts
	_, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.=zz.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	m, err := p.DeadLetters.GetLastMsgForSubject(t.Context(), "openclaw.dlq._")
	require.NoError(t, err)
	require.Equal(t, "garbage", string(m.Data))
}

func TestSlowEventsOfADurableWithLittleTimeAreNotGivenAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the seconds of a slow store")
	}
	b := openTest(t)
	p := provisionTest(t, b)
	cfg := testLayout().durable()
	cfg.AckWait = time.Second
	_, err := p.Events.UpdateConsumer(t.Context(), cfg)
	require.NoError(t, err)
	var c counts
	_, err = StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply: func(context.Context, []string) error {
			time.Sleep(3 * time.Second)
			return nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/slow"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, 5*time.Millisecond)
	require.Zero(t, c.get(&c.redelivered))
}

func TestWhatPanicsWhenItIsDecodedIsADeadLetter(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	var c counts
	_, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: func(string, string, []byte) (Event[string], error) { panic("no code was ready for it") },
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, "panic: no code was ready for it", lettersOf(t, b, Selection{})[0].Reason)
}

func TestALoopThatIsStuckIsNotHealthy(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	decoding, goOn := make(chan struct{}), make(chan struct{})
	var c counts
	e, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: func(string, string, []byte) (Event[string], error) {
			close(decoding)
			<-goOn
			return Event[string]{}, nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.NoError(t, e.Check(t.Context()))
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	<-decoding
	e.pulse.beat(time.Now().Add(-stuckTime)) // as if it had taken so long
	require.ErrorContains(t, e.Check(t.Context()), "has been decoded for 30s")
	close(goOn)
	require.Eventually(t, func() bool { return e.Check(t.Context()) == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, e.Stop(t.Context()))
	require.Zero(t, e.pulse.last.Load(), "what has ended is not stuck")
}

func TestDeadLettersThatCannotBeKeptDelayNobody(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	require.NoError(t, b.JS.DeleteStream(t.Context(), testLayout().DeadLetterStream()))
	const ill = 2 * pullMessages
	for range ill {
		_, err := b.JS.PublishAsync("openclaw.event.agent_end.main.s", []byte("garbage"))
		require.NoError(t, err)
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/well"))
	require.NoError(t, err)
	var c counts
	_, err = StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, time.Millisecond)
	require.Less(t, c.get(&c.deadLetters), ill/2, "it did not wait for them")
	// The stream is made again, and then they are kept.
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == ill }, time.Minute, 5*time.Millisecond)
	require.Len(t, lettersOf(t, b, Selection{}), ill)
}

func TestAPoisonedEventDelaysNobodyAndAloneIsADeadLetter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the seconds of five growing pauses")
	}
	for name, fail := range map[string]func() error{
		"fails":  func() error { return errors.New("is a directory") },
		"panics": func() error { panic("is a directory") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPoison(t, fail)
		})
	}
}

func testPoison(t *testing.T, fail func() error) {
	t.Helper()
	b := openTest(t)
	p := provisionTest(t, b)
	// They wait in the stream before anybody reads it, so they come together.
	for i := range 20 {
		for _, session := range []string{"ill", "well"} {
			_, err := b.JS.PublishAsync("openclaw.event.after_tool_call.main.s", fmt.Appendf(nil, "%s/%d", session, i))
			require.NoError(t, err)
		}
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("ill/poison"))
	require.NoError(t, err)
	var (
		c      counts
		shared atomic.Bool
	)
	_, err = StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply: func(_ context.Context, facts []string) error {
			if slices.Contains(facts, "ill/poison") {
				shared.CompareAndSwap(false, len(facts) > 1)
				return fail()
			}
			return nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 40 }, time.Minute, 5*time.Millisecond)
	require.True(t, shared.Load(), "the poison had company")
	require.Zero(t, c.get(&c.redelivered), "the others did not wait for another delivery")
	require.Zero(t, c.get(&c.deadLetters))
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == 1 }, time.Minute, 50*time.Millisecond)
	m, err := p.DeadLetters.GetLastMsgForSubject(t.Context(), "openclaw.dlq.after_tool_call")
	require.NoError(t, err)
	require.Contains(t, m.Header.Get(subjects.HeaderDLQReason), "is a directory")
	require.Equal(t, "ill/poison", string(m.Data))
	require.Equal(t, 40, c.get(&c.applied))
}

// passing is an error of a store that may be well again when it is checked.
type passing struct{ error }

func (passing) Temporary() bool { return true }

func TestAFaultOfTheStoreLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		fault error
		check bool
	}{
		"that is still there when it is looked for": {errors.New("no space left on device"), true},
		"that is over when it is looked for":        {passing{errors.New("no space left on device")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := openTest(t)
			provisionTest(t, b)
			var (
				c    counts
				mu   sync.Mutex
				full = tc.fault
			)
			fault := func() error { mu.Lock(); defer mu.Unlock(); return full }
			ev, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
				Decode: decodeText,
				Apply:  func(context.Context, []string) error { return fault() },
				Check: func(context.Context) error {
					if tc.check {
						return fault()
					}
					return nil
				},
			}, &c, quiet)
			require.NoError(t, err)
			_, err = b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return ev.Check(t.Context()) != nil }, time.Minute, 5*time.Millisecond)
			require.ErrorContains(t, ev.Check(t.Context()), "no space left")
			mu.Lock()
			full = nil
			mu.Unlock()
			require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, 5*time.Millisecond)
			require.NoError(t, ev.Check(t.Context()))
			require.Zero(t, c.get(&c.deadLetters))
		})
	}
}

func TestADurableThatIsDeletedIsMadeAgain(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	var c counts
	ev, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	for _, remove := range []func() error{
		func() error { return b.JS.DeleteConsumer(t.Context(), testLayout().Stream, testLayout().QueueGroup) },
		func() error { return b.JS.DeleteStream(t.Context(), testLayout().Stream) },
	} {
		before := c.get(&c.applied)
		require.NoError(t, remove())
		require.Eventually(t, func() bool {
			_, err := b.JS.Consumer(t.Context(), testLayout().Stream, testLayout().QueueGroup)
			return err == nil
		}, time.Minute, 20*time.Millisecond)
		_, err = b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return c.get(&c.applied) > before }, time.Minute, 5*time.Millisecond)
	}
	require.NoError(t, ev.Stop(t.Context()))
}

func TestRunsReachTheOtherProcessesAndLateOnes(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	other := client(t, b)
	learned := make(chan string, 10)
	_, err := StartRuns(other, testLayout(), "b", func(data []byte) { learned <- string(data) })
	require.NoError(t, err)
	require.NoError(t, other.Flush())
	own := make(chan string, 10)
	runs, err := StartRuns(b.NC, testLayout(), "a", func(data []byte) { own <- string(data) })
	require.NoError(t, err)
	require.NoError(t, runs.Broadcast([]byte("hint")))
	require.Equal(t, "hint", <-learned)
	require.NoError(t, b.NC.Flush())
	require.Empty(t, own)

	for i := range 3 {
		_, err := b.JS.Publish(t.Context(), "openclaw.event.turn_begun.main.s", strconv.AppendInt(nil, int64(i), 10))
		require.NoError(t, err)
	}
	var replayed []string
	learn := func(data []byte) { replayed = append(replayed, string(data)) }
	require.NoError(t, LearnRuns(t.Context(), b.JS, testLayout(), time.Now(), learn))
	require.Equal(t, []string{"0", "1", "2"}, replayed)
	replayed = nil
	require.NoError(t, LearnRuns(t.Context(), b.JS, testLayout(), time.Now().Add(time.Hour), learn))
	require.Empty(t, replayed)
}

func TestAStartAfterAFloodLearnsTheNewestRuns(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	const turns, others = learnedEvents/4 + 1, learnedEvents - 10
	publish := func(hook string, from, to int) {
		group := make([]*nats.Msg, 0, 1000)
		for i := from; i < to; i++ {
			group = append(group, &nats.Msg{Subject: "openclaw.event." + hook + ".main.s", Data: strconv.AppendInt(nil, int64(i), 10), Header: nats.Header{}})
			if len(group) == cap(group) || i == to-1 {
				ack, err := batch.Publish(t.Context(), b.NC, group)
				require.NoError(t, err)
				require.Nil(t, ack.Error)
				group = group[:0]
			}
		}
	}
	var replayed []string
	learn := func(data []byte) { replayed = append(replayed, string(data)) }
	publish("turn_begun", 0, turns-1)
	require.NoError(t, LearnRuns(t.Context(), b.JS, testLayout(), time.Now(), learn))
	require.Len(t, replayed, turns-1)
	replayed = nil
	publish("turn_begun", turns-1, turns)
	publish("after_tool_call", 0, others)
	require.NoError(t, LearnRuns(t.Context(), b.JS, testLayout(), time.Now(), learn))
	require.Len(t, replayed, learnedEvents-others)
	require.Equal(t, strconv.Itoa(turns-1), replayed[len(replayed)-1])
}

func TestAClaimIsGivenOnceAndRunsOut(t *testing.T) {
	b := openTest(t)
	a, err := OpenClaims(t.Context(), b.JS, testLayout(), quiet)
	require.NoError(t, err)
	other, err := OpenClaims(t.Context(), b.JS, testLayout(), quiet)
	require.NoError(t, err)
	now := time.Now()
	require.True(t, a.Claim(t.Context(), "s\x00r", now, now.Add(time.Second)).IsZero())
	require.False(t, other.Claim(t.Context(), "s\x00r", now, now.Add(time.Second)).IsZero())
	require.True(t, other.Claim(t.Context(), "s\x00r", now.Add(2*time.Second), now.Add(3*time.Second)).IsZero(), "the promise ran out")
	require.False(t, a.Claim(t.Context(), "s\x00r", now.Add(2*time.Second), now.Add(3*time.Second)).IsZero())
	other.Release(t.Context(), "s\x00r")
	require.True(t, a.Claim(t.Context(), "s\x00r", now, now.Add(time.Second)).IsZero())
}

func TestRedactHidesSecrets(t *testing.T) {
	require.Equal(t, "nats://xxxxx@h:1,nats://h2:2", redact("nats://u:p@h:1, nats://h2:2"))
}

// The process whose server is joined may end between the look for a server and
// the connection to it.
func TestAServerThatEndsBeforeItIsJoinedIsReplaced(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
		_ = l.Close()
	}()
	b, err := Open(t.Context(), Options{Embedded: EmbeddedOptions{Port: l.Addr().(*net.TCPAddr).Port, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	defer b.Close()
	require.True(t, b.Embedded())
}
