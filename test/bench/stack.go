package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
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

// layout is what a consumer makes without other settings.
var layout = bus.Layout{
	Prefix: prefix, QueueGroup: subjects.DefaultQueueGroup, Stream: subjects.DefaultStream,
	MaxAge: 336 * time.Hour, MaxBytes: 1 << 30,
}

// prepare builds the consumer.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.temp, err = os.MkdirTemp(b.dir, "intenthint-bench-"); err != nil {
		return err
	}
	if b.consumer == "" {
		b.say("building the consumer")
		if err := b.build(ctx); err != nil {
			return err
		}
	} else if b.consumer, err = filepath.Abs(b.consumer); err != nil {
		return err
	}
	return nil
}

func (b *bench) clean() {
	if b.temp != "" {
		_ = os.RemoveAll(b.temp)
	}
}

// profiledMain takes the place of cmd/consumer/main.go for -profile.
//
//go:embed profiled.go.txt
var profiledMain string

// profileVariable tells a consumer that was built for -profile where to write.
const profileVariable = "BENCH_PROFILE"

// build builds the consumer, and with -profile one that writes a profile of its
// whole life.
func (b *bench) build(ctx context.Context) error {
	b.consumer = filepath.Join(b.temp, "consumer")
	args := []string{"build", "-o", b.consumer}
	if b.profile != "" {
		if err := os.MkdirAll(b.profile, 0o700); err != nil {
			return err
		}
		source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "intenthint/cmd/consumer").Output()
		if err != nil {
			return fmt.Errorf("find the consumer: %w", err)
		}
		with := filepath.Join(b.temp, "profiled.go")
		overlay := filepath.Join(b.temp, "overlay.json")
		replace := map[string]any{"Replace": map[string]string{filepath.Join(strings.TrimSpace(string(source)), "main.go"): with}}
		if err := errors.Join(os.WriteFile(with, []byte(profiledMain), 0o600), os.WriteFile(overlay, marshal(replace), 0o600)); err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	build := exec.CommandContext(ctx, "go", append(args, "intenthint/cmd/consumer")...) //nolint:gosec // a fixed command
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the consumer: %w", err)
	}
	return nil
}

// startConsumer starts a consumer on a data directory, at a server or, without
// a URL, with one of its own that syncs as said. env are more settings.
func (b *bench) startConsumer(ctx context.Context, data, url, sync string, env ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, b.consumer, "run") //nolint:gosec // the binary just built
	cmd.Dir = b.temp
	cmd.Env = append(env, "HINT_DATA_DIR="+data, "HINT_NATS_PORT=-1", "HINT_HTTP_ADDR=off", "HINT_LOG_FORMAT=json")
	switch {
	case url != "":
		cmd.Env = append(cmd.Env, "HINT_NATS_URL="+url)
	case sync != syncAlways:
		conf := filepath.Join(b.temp, "nats-"+sync+".conf")
		if err := os.WriteFile(conf, []byte(natsConf(sync)), 0o600); err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, "HINT_NATS_CONF="+conf)
	}
	if b.profile != "" {
		b.directories++
		path, err := filepath.Abs(filepath.Join(b.profile, fmt.Sprintf("%s-%d.pprof", filepath.Base(data), b.directories)))
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, profileVariable+"="+path)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return launch(ctx, cmd)
}

// startRole starts this program in a role.
func (b *bench) startRole(ctx context.Context, role string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, b.self, append([]string{role}, args...)...) //nolint:gosec // this program itself
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return launch(ctx, cmd)
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

// startStack starts a server on the data directory and so many consumers at it,
// or one consumer with a server of its own.
func (b *bench) startStack(ctx context.Context, data, where, sync string, consumers int, env ...string) (s *stack, err error) {
	s = &stack{}
	defer func() {
		if err != nil {
			s.stop()
			s = nil
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
		c, err := b.startConsumer(ctx, data, url, sync, env...)
		if err != nil {
			return s, err
		}
		s.consumers = append(s.consumers, c)
		url = c.url
	}
	return s, s.connect(url)
}

func (s *stack) connect(url string) (err error) {
	if s.nc, err = nats.Connect(url); err != nil {
		return err
	}
	s.js, err = jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(1024))
	return err
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

// processorTime is that of all consumers.
func (s *stack) processorTime() (sum time.Duration) {
	for _, c := range s.consumers {
		sum += c.processorTime()
	}
	return sum
}

// publish stores a workload in the stream.
func (s *stack) publish(ctx context.Context, w workload) error {
	stream, err := s.js.Stream(ctx, layout.Stream)
	if err != nil {
		return err
	}
	before := stream.CachedInfo().State.LastSeq
	err = w.each(func(m *nats.Msg) error {
		_, err := s.js.PublishMsgAsync(m, jetstream.WithStallWait(time.Minute))
		return err
	})
	if err != nil {
		return err
	}
	select {
	case <-s.js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	info, err := stream.Info(ctx)
	if err == nil && info.State.LastSeq-before != uint64(w.count()) {
		err = fmt.Errorf("%d of %d events were stored", info.State.LastSeq-before, w.count())
	}
	return err
}

// patience is how long nothing may happen.
const patience = time.Minute

// applied waits until the events up to a sequence number of the stream have
// been acknowledged.
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
			return fmt.Errorf("events are not applied any more: %d of %d, %d in work", floor, last, info.NumAckPending)
		}
		if err := sleep(ctx, 3*time.Millisecond); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
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

// stored makes a data directory with events that no consumer has seen. The
// durable is paused, so that consumers can start before they have to work.
func (b *bench) stored(ctx context.Context, name string, w workload) (data string, err error) {
	data = b.dataDirectory(name)
	s := &stack{}
	defer s.stop()
	if s.server, err = b.startRole(ctx, "serve-nats", data, syncDefault); err != nil {
		return "", err
	}
	if err := s.connect(s.server.url); err != nil {
		return "", err
	}
	if _, err := bus.Provision(ctx, s.js, layout); err != nil {
		return "", err
	}
	if _, err := s.js.PauseConsumer(ctx, layout.Stream, layout.QueueGroup, time.Now().Add(24*time.Hour)); err != nil {
		return "", err
	}
	b.say("storing %d events of %d sessions", w.count(), w.sessions)
	return data, s.publish(ctx, w)
}

// work is what it took to get through stored events.
type work struct {
	events          int
	wall, processor time.Duration
}

func (w work) rate() float64 { return float64(w.events) / w.wall.Seconds() }

// catchUp lets the consumers go at the stored events and waits until they are
// through.
func (s *stack) catchUp(ctx context.Context) (work, error) {
	last, err := s.lastEvent(ctx)
	if err != nil {
		return work{}, err
	}
	used, began := s.processorTime(), time.Now()
	if _, err := s.js.ResumeConsumer(ctx, layout.Stream, layout.QueueGroup); err != nil {
		return work{}, err
	}
	// A durable that goes on looks for its messages when the next heartbeat is
	// due, or at once when there is a new one.
	if _, err := s.js.PublishMsg(ctx, workload{name: "last"}.turn(0, 0)[0]); err != nil {
		return work{}, err
	}
	if err := s.applied(ctx, last+1); err != nil {
		return work{}, err
	}
	return work{events: int(last) + 1, wall: time.Since(began), processor: s.processorTime() - used}, nil
}

// sampleAcks makes the server tell of every acknowledgement how long the
// consumers took for it, and returns what to call for the times so far.
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
