package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/subjects"
)

// bench is one run of this program.
type bench struct {
	settings
	say func(format string, args ...any)

	self        string // this program, for its roles
	temp        string // everything is below it
	directories int
}

// layout is the consumer's default.
var layout = bus.Layout{
	Prefix: prefix, QueueGroup: subjects.DefaultQueueGroup, Stream: subjects.DefaultStream,
	MaxAge: 336 * time.Hour, MaxBytes: 1 << 30,
}

// prepare makes the temporary directory and, unless a binary is given, builds
// the consumer into it.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.temp, err = os.MkdirTemp(b.dir, "intenthint-bench-"); err != nil {
		return err
	}
	if b.consumer != "" {
		b.consumer, err = filepath.Abs(b.consumer)
		return err
	}
	b.say("building the consumer")
	b.consumer = filepath.Join(b.temp, "consumer")
	product, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "intenthint").Output()
	if err != nil {
		return fmt.Errorf("finding the consumer's module: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.consumer, "./cmd/consumer") //nolint:gosec // a fixed command
	build.Dir, build.Stderr = strings.TrimSpace(string(product)), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the consumer: %w", err)
	}
	return nil
}

// startConsumer starts a consumer on a data directory. Without a URL it runs a
// NATS server of its own. env are more settings.
func (b *bench) startConsumer(ctx context.Context, data, url string, env ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, b.consumer, "run") //nolint:gosec // the binary just built
	cmd.Dir = b.temp
	cmd.Env = append(env, "HINT_DATA_DIR="+data, "HINT_NATS_PORT=-1", "HINT_NATS_URL="+url, "HINT_HTTP_ADDR=off", "HINT_AUTH=off", "HINT_LOG_FORMAT=json", "HINT_REPEAT=always")
	return launch(ctx, cmd)
}

// startRole starts this program in a role.
func (b *bench) startRole(ctx context.Context, role string, args ...string) (*process, error) {
	return launch(ctx, exec.CommandContext(ctx, b.self, append([]string{role}, args...)...)) //nolint:gosec // this program itself
}

// stack is a NATS server, and consumers.
type stack struct {
	nc *nats.Conn
	js jetstream.JetStream
	// server is nil when it is the consumer's own.
	server    *process
	consumers []*process
}

// Where the NATS server runs.
const (
	ownServer   = "its own"
	otherServer = "external"
)

// startStack starts a server on the data directory and consumers that use it, or
// one consumer with a server of its own, which syncs always.
func (b *bench) startStack(ctx context.Context, data, where, sync string, consumers int, env ...string) (s *stack, err error) {
	s = &stack{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	url := ""
	if where == otherServer {
		if s.server, err = b.startRole(ctx, "serve-nats", data, sync); err != nil {
			return s, err
		}
		url = s.server.url
	}
	for range consumers {
		c, err := b.startConsumer(ctx, data, url, env...)
		if err != nil {
			return s, err
		}
		s.consumers = append(s.consumers, c)
		url = c.url
	}
	if s.nc, err = nats.Connect(url); err != nil {
		return s, err
	}
	s.js, err = jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(1024))
	return s, err
}

func (s *stack) stop() {
	if s.nc != nil {
		s.nc.Close()
	}
	for _, c := range s.consumers {
		c.stop()
	}
	if s.server != nil {
		s.server.stop()
	}
}

// processorTime is the sum over all consumers.
func (s *stack) processorTime() (sum time.Duration) {
	for _, c := range s.consumers {
		sum += c.processorTime()
	}
	return sum
}

// patience is the maximum without progress.
const patience = time.Minute

// applied waits until the events up to a sequence number of the stream are
// acknowledged.
func (s *stack) applied(ctx context.Context, last uint64) error {
	durable, err := s.js.Consumer(ctx, layout.Stream, layout.QueueGroup)
	if err != nil {
		return err
	}
	var floor uint64
	for moved := time.Now(); ; {
		info, err := durable.Info(ctx)
		if err != nil {
			return err
		}
		if info.AckFloor.Stream > floor {
			floor, moved = info.AckFloor.Stream, time.Now()
		}
		switch {
		case floor >= last && info.NumPending == 0 && info.NumAckPending == 0:
			return nil
		case time.Since(moved) > patience:
			return fmt.Errorf("no events applied for %s: %d of %d acknowledged, %d in progress", patience, floor, last, info.NumAckPending)
		}
		if err := sleep(ctx, 3*time.Millisecond); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err() // a timer would take some time even so
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// lastEvent is the sequence number of the last event in the stream.
func (s *stack) lastEvent(ctx context.Context) (uint64, error) {
	stream, err := s.js.Stream(ctx, layout.Stream)
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// stored makes a data directory with events that no consumer has applied. The
// durable is paused, so that consumers can start before the measurement does.
func (b *bench) stored(ctx context.Context, w workload) (data string, err error) {
	data = b.dataDirectory(w.name)
	s, err := b.startStack(ctx, data, otherServer, syncDefault, 0)
	if err != nil {
		return "", err
	}
	defer s.stop()
	if _, err := bus.Provision(ctx, s.js, layout); err != nil {
		return "", err
	}
	if _, err := s.js.PauseConsumer(ctx, layout.Stream, layout.QueueGroup, time.Now().Add(24*time.Hour)); err != nil {
		return "", err
	}
	b.say("storing %d events of %d sessions", w.count(), w.sessions)
	err = w.each(func(m *nats.Msg) error {
		_, err := s.js.PublishMsgAsync(m, jetstream.WithStallWait(time.Minute))
		return err
	})
	if err != nil {
		return "", err
	}
	select {
	case <-s.js.PublishAsyncComplete():
	case <-ctx.Done():
		return "", ctx.Err()
	}
	stream, err := s.js.Stream(ctx, layout.Stream)
	if err != nil {
		return "", err
	}
	if stored := stream.CachedInfo().State.Msgs; stored != uint64(w.count()) {
		return "", fmt.Errorf("the stream holds %d of %d events", stored, w.count())
	}
	return data, nil
}

// work is the cost of applying events.
type work struct {
	events          int
	wall, processor time.Duration
}

func (w work) rate() float64 { return float64(w.events) / w.wall.Seconds() }

// each is the part of a time for one event.
func (w work) each(d time.Duration) time.Duration { return d / time.Duration(w.events) }

// catchUp resumes the durable and waits until the stored events are applied.
func (s *stack) catchUp(ctx context.Context) (work, error) {
	last, err := s.lastEvent(ctx)
	if err != nil {
		return work{}, err
	}
	used, began := s.processorTime(), time.Now()
	if _, err := s.js.ResumeConsumer(ctx, layout.Stream, layout.QueueGroup); err != nil {
		return work{}, err
	}
	// A resumed durable delivers from the next heartbeat on, or from the next
	// message.
	if _, err := s.js.PublishMsg(ctx, workload{name: "last"}.event(0, 0, 0)); err != nil {
		return work{}, err
	}
	if err := s.applied(ctx, last+1); err != nil {
		return work{}, err
	}
	return work{events: int(last) + 1, wall: time.Since(began), processor: s.processorTime() - used}, nil
}

// sampleAcks makes the server report the time from each delivery to its
// acknowledgement. The returned function gives the times so far.
func (s *stack) sampleAcks(ctx context.Context) (func() []time.Duration, error) {
	durable, err := s.js.Consumer(ctx, layout.Stream, layout.QueueGroup)
	if err != nil {
		return nil, err
	}
	sub, err := s.nc.SubscribeSync("$JS.EVENT.METRIC.CONSUMER.ACK." + layout.Stream + "." + layout.QueueGroup)
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	cfg := durable.CachedInfo().Config
	cfg.SampleFrequency = "100"
	if _, err := s.js.UpdateConsumer(ctx, layout.Stream, cfg); err != nil {
		return nil, err
	}
	return func() (out []time.Duration) {
		for {
			m, err := sub.NextMsg(100 * time.Millisecond)
			if err != nil {
				return out
			}
			var metric struct {
				AckTime time.Duration `json:"ack_time"` //nolint:tagliatelle // the server's
			}
			if json.Unmarshal(m.Data, &metric) == nil {
				out = append(out, metric.AckTime)
			}
		}
	}, nil
}
