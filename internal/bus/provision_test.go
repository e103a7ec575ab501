package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/internal/retry"
	"intenthint/subjects"
)

func TestCheckRequests(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		subjects []string
		silent   bool
		found    bool
	}{
		{"of one agent", []string{"openclaw.request.*.main"}, false, true},
		{"of everything", []string{"openclaw.>"}, false, true},
		{"that does not acknowledge", []string{"openclaw.request.>"}, true, false},
		{"of something else", []string{"openclaw.requests.>", "other.request.>"}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, l := openTest(t), testLayout()
			_, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AUDIT", Subjects: row.subjects, NoAck: row.silent})
			require.NoError(t, err)
			err = CheckRequests(t.Context(), b.JS, l)
			if !row.found {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errUnusable)
			require.ErrorContains(t, err, "stream AUDIT")
			require.ErrorContains(t, err, "openclaw.request.>")
		})
	}
}

func TestProvisionKeepsExistingResources(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	own := l.eventStream()
	own.MaxAge = 42 * time.Minute
	own.Description = "made by hand"
	_, err := b.JS.CreateStream(t.Context(), own)
	require.NoError(t, err)
	_, err = b.JS.CreateConsumer(t.Context(), l.Stream, jetstream.ConsumerConfig{Durable: l.QueueGroup, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 3 * time.Second, MaxDeliver: 7})
	require.NoError(t, err)

	_, err = Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	info, err := eventsOf(t, b.JS).Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, 42*time.Minute, info.Config.MaxAge)
	require.Equal(t, "made by hand", info.Config.Description)
	durable, err := b.JS.Consumer(t.Context(), l.Stream, l.QueueGroup)
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, durable.CachedInfo().Config.AckWait)
	require.Equal(t, 7, durable.CachedInfo().Config.MaxDeliver)
}

func TestProvisionRejectsUnusableResources(t *testing.T) {
	t.Parallel()
	durable := jetstream.ConsumerConfig{Durable: "intent-hint", AckPolicy: jetstream.AckExplicitPolicy}
	for _, row := range []struct {
		name   string
		stream func(*jetstream.StreamConfig)
		push   bool
		change func(*jetstream.ConsumerConfig)
		says   string
	}{
		{"a stream of other subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"other.>"} }, false, nil, "no messages of openclaw.event.> are stored"},
		{"a stream that captures requests", func(c *jetstream.StreamConfig) { c.Subjects = []string{"openclaw.event.>", "openclaw.request.agent.>"} }, false, nil, "requests would be answered by the stream"},
		{"a stream that does not acknowledge", func(c *jetstream.StreamConfig) { c.NoAck = true }, false, nil, "not acknowledged"},
		{"a push consumer", nil, true, nil, "events cannot be pulled"},
		{"a durable without acknowledgements", nil, false, func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckNonePolicy }, "before they are"},
		{"a durable that acknowledges all before", nil, false, func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckAllPolicy }, "before they are"},
		{"a durable without bodies", nil, false, func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true }, "without their bodies"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, l := openTest(t), testLayout()
			cfg := jetstream.StreamConfig{Name: l.Stream, Subjects: []string{"openclaw.event.>"}}
			if row.stream != nil {
				row.stream(&cfg)
			}
			s, err := b.JS.CreateStream(t.Context(), cfg)
			require.NoError(t, err)
			own := durable
			if row.change != nil {
				row.change(&own)
			}
			if row.push {
				own.DeliverSubject = "somewhere"
				_, err = s.CreatePushConsumer(t.Context(), own)
			} else {
				_, err = s.CreateConsumer(t.Context(), own)
			}
			require.NoError(t, err)
			_, err = Provision(t.Context(), b.JS, l)
			require.ErrorIs(t, err, errUnusable)
			require.ErrorContains(t, err, row.says)
			require.False(t, Temporary(err))
		})
	}
}

func TestProvisionWarnings(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	_, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: l.Stream, Subjects: []string{"openclaw.event.agent_end.>"}, Retention: jetstream.InterestPolicy, MaxMsgs: 5, Description: "made by hand",
	})
	require.NoError(t, err)
	_, err = b.JS.CreateConsumer(t.Context(), l.Stream, jetstream.ConsumerConfig{
		Durable: l.QueueGroup, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 7, AckWait: time.Minute,
	})
	require.NoError(t, err)
	warnings, err := Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	require.Len(t, warnings, 3)
	require.Contains(t, warnings[0], "only part of openclaw.event.> is stored")
	require.Contains(t, warnings[1], "retention is Interest instead of Limits")
	require.Contains(t, warnings[2], "durable intent-hint: max_deliver is 7 instead of unlimited")

	warnings, err = Provision(t.Context(), openTest(t).JS, l)
	require.NoError(t, err)
	require.Empty(t, warnings, "new resources are in order")
}

func TestProvisionCreatesDurableOfEachSink(t *testing.T) {
	t.Parallel()
	b, l := openTest(t), testLayout()
	l.More = []Durable{{Name: "groups", Hooks: []string{"message_received", "message_sent"}, Description: "of groups"}}
	warnings, err := Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	require.Empty(t, warnings)
	plan, err := Plan(t.Context(), b.JS, l)
	require.NoError(t, err)
	require.Len(t, plan, 4)
	for _, target := range plan {
		require.True(t, target.InOrder(), "%+v", target)
	}
	c, err := b.JS.Consumer(t.Context(), l.Stream, "groups")
	require.NoError(t, err)
	require.Equal(t, []string{"openclaw.event.message_received.>", "openclaw.event.message_sent.>"}, c.CachedInfo().Config.FilterSubjects)
	require.Equal(t, AckWait, c.CachedInfo().Config.AckWait)
}

// Each process asks for another age.
func TestConcurrentProvisioning(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		replicas int
		servers  func(*testing.T) []*server.Server
	}{
		{"one server", 1, func(t *testing.T) []*server.Server {
			return []*server.Server{natstest.Start(t, nil)}
		}},
		{"three servers, three replicas", 3, func(t *testing.T) []*server.Server {
			nodes := natstest.Cluster(t, nil)
			return nodes[:]
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if testing.Short() && row.replicas > 1 {
				t.Skip("starts a cluster")
			}
			servers := row.servers(t)
			ages := map[time.Duration]bool{}
			var (
				mu      sync.Mutex
				started sync.WaitGroup
			)
			for i := range 12 {
				js := natstest.JetStream(t, servers[i%len(servers)])
				l := testLayout()
				l.Replicas, l.MaxAge = row.replicas, time.Duration(i+1)*time.Hour
				started.Go(func() {
					if err := provisionPatiently(t.Context(), js, l); err != nil {
						t.Error(err)
						return
					}
					stream, err := js.Stream(t.Context(), l.Stream)
					if err != nil {
						t.Error(err)
						return
					}
					have := stream.CachedInfo().Config
					mu.Lock()
					defer mu.Unlock()
					ages[have.MaxAge] = true
					if have.Replicas != row.replicas {
						t.Errorf("%d replicas", have.Replicas)
					}
				})
			}
			started.Wait()
			require.Len(t, ages, 1, "only the first creates the stream")
		})
	}
}

// provisionPatiently retries temporary errors as a consumer process does.
func provisionPatiently(ctx context.Context, js jetstream.JetStream, l Layout) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return retry.Policy{Backoff: remoteRetry, Temporary: Temporary}.Do(ctx, func(ctx context.Context) error {
		_, err := Provision(ctx, js, l)
		return err
	})
}

func TestProvisionWithoutPermissions(t *testing.T) {
	t.Parallel()
	least := &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.CONSUMER.INFO.OPENCLAW_EVENTS.intent-hint", "$JS.API.CONSUMER.MSG.NEXT.OPENCLAW_EVENTS.intent-hint", "$JS.ACK.>", "openclaw.dlq.>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
	blind := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}}}
	looks := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>"}}}
	deaf := &server.Permissions{Subscribe: &server.SubjectPermission{Allow: []string{"mine.>"}}}
	ns := natstest.Start(t, &server.Options{JetStream: true, Users: []*server.User{
		{Username: "operator", Password: "p"},
		{Username: "least", Password: "p", Permissions: least},
		{Username: "blind", Password: "p", Permissions: blind},
		{Username: "looks", Password: "p", Permissions: looks},
		{Username: "deaf", Password: "p", Permissions: deaf},
	}})
	as := func(user string) jetstream.JetStream {
		return natstest.JetStream(t, ns, nats.UserInfo(user, "p"))
	}
	l := testLayout()
	// A call that runs into its timeout ends with another error.
	t.Run("missing stream", func(t *testing.T) {
		_, err := Provision(t.Context(), as("looks"), l)
		require.ErrorIs(t, err, ErrDenied)
		require.ErrorContains(t, err, "create stream OPENCLAW_EVENTS")
		require.ErrorContains(t, err, "$JS.API.STREAM.CREATE.OPENCLAW_EVENTS")
		require.False(t, Temporary(err))
	})
	_, err := Provision(t.Context(), as("operator"), l)
	require.NoError(t, err)
	t.Run("sufficient permissions", func(t *testing.T) {
		js := as("least")
		warnings, err := Provision(t.Context(), js, l)
		require.NoError(t, err)
		require.Len(t, warnings, 2)
		require.Contains(t, warnings[0], ErrDenied.Error())
		require.Contains(t, warnings[0], "$JS.API.STREAM.INFO.OPENCLAW_EVENTS")
		require.ErrorIs(t, RecentEvents(t.Context(), js, l, time.Now().Add(-time.Minute), subjects.HookTurnBegun, func([]byte) {}), ErrDenied)
		_, err = Call(t.Context(), js.Conn(), js.AccountInfo)
		require.ErrorIs(t, err, ErrDenied)
		require.NoError(t, (&Bus{NC: js.Conn(), JS: js}).CheckJetStream(t.Context()))
	})
	for user, subject := range map[string]string{"blind": "$JS.API.CONSUMER.INFO.OPENCLAW_EVENTS.intent-hint", "deaf": "_INBOX."} {
		t.Run("insufficient permissions: "+user, func(t *testing.T) {
			js := as(user)
			_, err := Call(t.Context(), js.Conn(), js.AccountInfo)
			require.ErrorIs(t, err, ErrDenied)
			require.NoError(t, (&Bus{NC: js.Conn(), JS: js}).CheckJetStream(t.Context()))
			_, err = Provision(t.Context(), js, l)
			require.ErrorIs(t, err, ErrDenied)
			require.ErrorContains(t, err, subject)
			require.False(t, Temporary(err))
		})
	}
}

// The stand-ins are a server that refuses the field of atomic batches and one that
// ignores it.
func TestOlderServers(t *testing.T) {
	t.Parallel()
	t.Run("strict", func(t *testing.T) {
		js := natstest.JetStream(t, natstest.Start(t, &server.Options{}))
		var asked atomic.Int32
		_, err := js.Conn().Subscribe("$JS.API.STREAM.CREATE.OPENCLAW_EVENTS", func(m *nats.Msg) {
			var cfg map[string]any
			_ = json.Unmarshal(m.Data, &cfg)
			asked.Add(1)
			if _, there := cfg["allow_atomic"]; there {
				_ = m.Respond([]byte(`{"error":{"code":400,"err_code":10025,"description":"invalid JSON: json: unknown field \"allow_atomic\""}}`))
				return
			}
			_ = m.Respond(fmt.Appendf(nil, `{"config":%s}`, m.Data))
		})
		require.NoError(t, err)
		l := testLayout()
		require.NoError(t, l.resource(l.eventStream()).create(t.Context(), js))
		require.EqualValues(t, 2, asked.Load())
	})
	t.Run("tolerant", func(t *testing.T) {
		js := natstest.JetStream(t, natstest.Start(t, &server.Options{}))
		l := testLayout()
		have := l.eventStream()
		have.AllowAtomicPublish = false
		level := 1
		for subject, answer := range map[string]func() any{
			"$JS.API.STREAM.INFO.OPENCLAW_EVENTS": func() any { return map[string]any{"config": have} },
			"$JS.API.INFO":                        func() any { return map[string]any{"api": map[string]any{"level": level}} },
		} {
			_, err := js.Conn().Subscribe(subject, func(m *nats.Msg) {
				body, _ := json.Marshal(answer())
				_ = m.Respond(body)
			})
			require.NoError(t, err)
		}
		target, err := l.resource(l.eventStream()).look(t.Context(), js)
		require.NoError(t, err)
		require.True(t, target.InOrder(), "the server does not know the field: %+v", target.Differences)
		level = atomicPublishLevel
		target, err = l.resource(l.eventStream()).look(t.Context(), js)
		require.NoError(t, err)
		require.Len(t, target.Differences, 1)
		require.Equal(t, "allow_atomic", target.Differences[0].Field)
	})
	t.Run("current", func(t *testing.T) {
		b := openTest(t)
		info, err := provisionTest(t, b).Info(t.Context())
		require.NoError(t, err)
		require.True(t, info.Config.AllowAtomicPublish)
		require.True(t, atomicPublish(t.Context(), b.JS))
	})
}

func TestMaxAgeBoundsDuplicateWindow(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	l.MaxAge = time.Second
	_, err := Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	require.Equal(t, time.Second, eventsOf(t, b.JS).CachedInfo().Config.Duplicates)
}

func TestTooManyReplicasAreTemporaryInCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	js := natstest.JetStream(t, natstest.Cluster(t, nil)[0])
	l := testLayout()
	l.Replicas = 5
	_, err := Provision(t.Context(), js, l)
	require.Error(t, err)
	require.True(t, Temporary(err), err)

	l.Replicas = 2
	_, err = Provision(t.Context(), openTest(t).JS, l)
	require.ErrorContains(t, err, "HINT_STREAM_REPLICAS=2 needs a cluster")
	require.False(t, Temporary(err), "a single server does not become a cluster")
}

func TestSubjectsOfAnotherStreamNameIt(t *testing.T) {
	t.Parallel()
	js := openTest(t).JS
	l := testLayout()
	_, err := Provision(t.Context(), js, l)
	require.NoError(t, err)
	l.Stream = "SECOND"
	_, err = Provision(t.Context(), js, l)
	require.ErrorContains(t, err, `stream "OPENCLAW_EVENTS"; use it with HINT_STREAM`)
	require.False(t, Temporary(err))
}

// A stream reserves its whole size when it is created.
func TestInsufficientStorageNamesTheSetting(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(conf, []byte("listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"here\", max_file_store: 32MB }\n"), 0o600))
	b, err := Open(t.Context(), Options{Embedded: natsserver.Options{ConfFile: conf, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	defer b.Close()
	l := testLayout()
	_, err = Provision(t.Context(), b.JS, l)
	require.ErrorContains(t, err, "insufficient storage")
	require.ErrorContains(t, err, "it reserves 67108864 bytes; HINT_STREAM_MAX_BYTES lowers that")
	require.False(t, Temporary(err))
	l.MaxBytes = 8 << 20
	_, err = Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
}
