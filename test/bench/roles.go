package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// roles are what children of this program do instead of measuring. Each ends
// with its context.
var roles = map[string]func(ctx context.Context, args []string) error{
	"serve-nats": serveNATS,
	"echo":       serveEcho,
	"drain":      drainEvents,
}

// runRole plays a role until it is interrupted or its standard input ends.
func runRole(ctx context.Context, role func(context.Context, []string) error, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return role(ctx, args)
}

// Settings of sync_interval.
const (
	syncAlways  = "always"
	syncDefault = "default"
)

// natsConf is the configuration that the consumer has built in, without its
// sync_interval for the server's default.
func natsConf(sync string) string {
	if sync == syncAlways {
		return intenthint.NATSConf
	}
	var out strings.Builder
	for line := range strings.Lines(intenthint.NATSConf) {
		if !strings.HasPrefix(strings.TrimSpace(line), "sync_interval") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// serveNATS is a NATS server: args are the store's directory and when it syncs.
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
		return errors.New("the NATS server did not start")
	}
	if err := sayReady(ns.ClientURL()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

const echoSubject = "bench.echo"

// serveEcho answers every request with the body that a hint has about: args is
// the server.
func serveEcho(ctx context.Context, args []string) error {
	nc, err := nats.Connect(args[0])
	if err != nil {
		return err
	}
	defer nc.Close()
	body := bytes.Repeat([]byte("x"), 2200)
	service, err := micro.AddService(nc, micro.Config{
		Name: "echo", Version: "1.0.0",
		Endpoint: &micro.EndpointConfig{Subject: echoSubject, Handler: micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(body) })},
	})
	if err != nil {
		return err
	}
	defer service.Stop() //nolint:errcheck // the process ends
	if err := nc.Flush(); err != nil {
		return err
	}
	if err := sayReady(args[0]); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// drainEvents is the floor of event ingestion: it fetches, decodes and
// acknowledges, and keeps nothing. args is the server.
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
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	if err := sayReady(args[0]); err != nil {
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
