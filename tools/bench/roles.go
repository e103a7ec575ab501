package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"intenthint"
	"intenthint/payload"
	"intenthint/subjects"
)

// roles are what child processes of this program do instead of measuring. Each
// ends with its context.
var roles = map[string]func(ctx context.Context, args []string) error{
	"serve-nats": serveNATS,
	"echo":       serveEcho,
	"drain":      drainEvents,
}

// Values of sync_interval.
const (
	syncAlways  = "always"
	syncDefault = "default"
)

var syncInterval = regexp.MustCompile(`(?m)^[ \t]*sync_interval.*\n`)

// natsConf is the consumer's built-in configuration, with sync_interval left out
// for the server's default.
func natsConf(sync string) string {
	if sync == syncAlways {
		return intenthint.NATSConf
	}
	return syncInterval.ReplaceAllString(intenthint.NATSConf, "")
}

// serveNATS runs a NATS server. args are its store's directory and its
// sync_interval.
func serveNATS(ctx context.Context, args []string) error {
	opts := &server.Options{}
	if err := opts.ProcessConfigString(natsConf(args[1])); err != nil {
		return err
	}
	opts.Host, opts.Port, opts.StoreDir, opts.NoSigs, opts.NoLog = "127.0.0.1", server.RANDOM_PORT, args[0], true, true
	ns, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	go ns.Start()
	defer func() { ns.Shutdown(); ns.WaitForShutdown() }()
	if !ns.ReadyForConnections(startTime) {
		return errors.New("starting the NATS server: timeout")
	}
	return serveUntil(ctx, ns.ClientURL())
}

// serveUntil reports that the process is ready and waits for its end.
func serveUntil(ctx context.Context, url string) error {
	err := writeReady(url)
	if err == nil {
		<-ctx.Done()
	}
	return err
}

// Subjects of the floors of a hint.
const (
	echoSubject   = "bench.echo"
	storeSubject  = "bench.store"
	storedSubject = "bench.stored"
)

// storedEvent is as large as the event of a turn with a history of 1 kB.
const storedEvent = 3000

// serveEcho answers every request with a body of the size of a hint: to one
// subject at once, to another after it has published an event for which it does
// not wait, at most as many at a time as the consumer. A third subject answers
// when all those events are stored. args is the server's URL.
func serveEcho(ctx context.Context, args []string) error {
	nc, err := nats.Connect(args[0])
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(2048))
	if err != nil {
		return err
	}
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "BENCH", Subjects: []string{"bench.event"}, MaxBytes: 256 << 20, Discard: jetstream.DiscardOld,
	}); err != nil {
		return err
	}
	body, event := bytes.Repeat([]byte("x"), 2200), bytes.Repeat([]byte("x"), storedEvent)
	service, err := micro.AddService(nc, micro.Config{Name: "echo", Version: "1.0.0"})
	if err != nil {
		return err
	}
	for subject, before := range map[string]func() error{
		echoSubject: func() error { return nil },
		storeSubject: func() error {
			_, err := js.PublishAsync("bench.event", event, jetstream.WithStallWait(requestTime))
			return err
		},
		storedSubject: func() error { <-js.PublishAsyncComplete(); return nil },
	} {
		answer := func(r micro.Request) {
			if err := before(); err != nil {
				_ = r.Error("500", err.Error(), nil)
				return
			}
			_ = r.Respond(body)
		}
		name := strings.ReplaceAll(subject, ".", "-")
		if err := service.AddEndpoint(name, micro.HandlerFunc(answer), micro.WithEndpointSubject(subject)); err != nil {
			return err
		}
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	return serveUntil(ctx, args[0])
}

// drainEvents is the floor of event ingestion: it fetches, decodes and
// acknowledges events, and keeps nothing. args is the server's URL.
func drainEvents(ctx context.Context, args []string) error {
	nc, err := nats.Connect(args[0])
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	durable, err := js.Consumer(ctx, subjects.DefaultStream, subjects.DefaultQueueGroup)
	if err != nil {
		return err
	}
	messages, err := durable.Messages(jetstream.PullMaxMessages(512), jetstream.PullExpiry(30*time.Second))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, messages.Stop)
	if err := writeReady(args[0]); err != nil {
		return err
	}
	for {
		m, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		var envelope payload.Envelope
		if err := json.Unmarshal(m.Data(), &envelope); err != nil {
			return fmt.Errorf("event %s: %w", m.Subject(), err)
		}
		if err := m.Ack(); err != nil {
			return err
		}
	}
}
