//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestStreamsExistAtTheFirstPing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{
		"HINT_SUBJECT_PREFIX": "acme.claw", "HINT_QUEUE_GROUP": "routers", "HINT_STREAM": "ACME",
		"HINT_STREAM_MAX_AGE": "24h", "HINT_STREAM_MAX_BYTES": "64MiB",
	})
	s.serve(1, 1)
	g := s.gateway()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for name, subject := range map[string]string{"ACME": "acme.claw.event.>", "ACME_DLQ": "acme.claw.dlq.>"} {
		stream, err := g.js.Stream(ctx, name)
		require.NoError(t, err)
		config := stream.CachedInfo().Config
		require.Equal(t, []string{subject}, config.Subjects, "no stream captures requests")
		require.Equal(t, 24*time.Hour, config.MaxAge)
		require.Equal(t, int64(64<<20), config.MaxBytes)
	}
	durable, err := g.js.Consumer(ctx, "ACME", "routers")
	require.NoError(t, err)
	require.Equal(t, jetstream.AckExplicitPolicy, durable.CachedInfo().Config.AckPolicy)

	// Requests and events use the other names.
	acme := func(m *nats.Msg) *nats.Msg {
		m.Subject = strings.Replace(m.Subject, "openclaw.", "acme.claw.", 1)
		return m
	}
	r, err := g.nc.RequestMsg(acme(turn{session: "s1", run: "r1", prompt: "Hello there."}.message()), 3*time.Second)
	require.NoError(t, err)
	require.NotEmpty(t, r.Header.Get("Hint-Intent"))
	s.showsRun("s1", "r1", visible())
	g.store(acme(toolCall("s1", "r1", "call-1", "read", time.Now().UnixMilli()).message()))
	s.shows("s1", visible(), "the call", func(d document) bool { return len(d.Current.ToolCalls) == 1 })
}

func TestExistingStreamsAreNotChanged(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t)
	e.start()
	g := s.gateway()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	stream, err := g.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "OPENCLAW_EVENTS", Subjects: []string{"openclaw.event.>"}, MaxMsgs: 1234, Description: "an operator's own",
	})
	require.NoError(t, err)
	durable, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "intent-hint", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 42 * time.Second,
	})
	require.NoError(t, err)
	// Events from before the first start are applied too.
	now := time.Now().UnixMilli()
	g.publish(toolCall("s1", "r1", "early", "read", now+1))

	s.serve(1, 1)
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there.", ts: now})
	s.shows("s1", visible(), "the early call", func(d document) bool { return len(d.Current.ToolCalls) == 1 })
	info, err := stream.Info(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(1234), info.Config.MaxMsgs)
	require.Equal(t, "an operator's own", info.Config.Description)
	held, err := durable.Info(ctx)
	require.NoError(t, err)
	require.Equal(t, 42*time.Second, held.Config.AckWait)
}

func TestSignalsThatEndAProcess(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("SIGHUP is ignored in this terminal")
			}
			p := newSystem(t).serve(1, 1)[0]
			require.NoError(t, p.cmd.Process.Signal(sig))
			require.Zero(t, p.wait(patient), "as good as SIGTERM:\n%s", p.stderr.tail())
			require.True(t, p.logged(`"msg":"stopped"`))
		})
	}
}

func TestClosedLogPipe(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	cmd, stdout, stderr := s.command()
	cmd.Stderr = write
	p := launch(t, cmd, stdout, stderr)
	require.NoError(t, write.Close())
	s.ready(1, p)
	g := s.gateway()
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there.", ts: time.Now().UnixMilli()})
	s.shows("s1", visible(), "the turn", func(document) bool { return true })
	p.terminate()
	require.Zero(t, p.wait(patient))
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_NATS_PORT": "-1"})
	p := s.start()
	p.logs(`"msg":"ready"`)
	port := regexp.MustCompile(`nats://127\.0\.0\.1:(\d+)`).FindStringSubmatch(p.stderr.String())
	require.NotNil(t, port, "the port is in the log")
	// Other commands find it through the data directory.
	r := s.run("ask", "--session", "s1", "hello there")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "<intention_hint_plugin>")
	s.shows("s1", visible(), "the turn", func(document) bool { return true })
	require.Len(t, ping("nats://127.0.0.1:"+port[1], 10, 300*time.Millisecond), 1)
	p.stop()
}
