package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
)

// errNoSystem reports that there is no system to read or change.
var errNoSystem = errors.New("no system here")

// openForReading connects to the running system, or to its store if it is not
// running. If there is neither, or the server has nothing of a system, the error
// wraps [errNoSystem], and nothing is created.
func openForReading(inv *invocation) (*bus.Bus, error) {
	o, err := runningSystem(inv)
	if err != nil {
		return nil, err
	}
	if o.URL == "" && !o.Embedded.Stored() {
		return nil, fmt.Errorf("%w: no NATS server is running, and %s holds no NATS data; set HINT_NATS_URL, set HINT_DATA_DIR to a consumer's data directory, or start a consumer with `consumer run`",
			errNoSystem, inv.cfg.DataDir)
	}
	b, err := open(inv, o)
	if err != nil {
		return nil, err
	}
	if !hasSystem(inv, b) {
		b.Close()
		return nil, fmt.Errorf("%w: the server has no stream %s; check HINT_STREAM and HINT_NATS_URL, or start a consumer with `consumer run`",
			errNoSystem, inv.cfg.Bus.Stream)
	}
	return b, nil
}

// hasSystem reports whether the server has the event stream, or a bucket that
// people keep without it. What the NATS user may not look at is taken to exist.
func hasSystem(inv *invocation, b *bus.Bus) bool {
	names := []string{inv.cfg.Bus.Stream}
	for _, bucket := range app.KeptBuckets(inv.cfg) {
		names = append(names, bus.BucketStream(bucket))
	}
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := bus.FindStream(inv.ctx, b.JS, name)
		return !errors.Is(err, jetstream.ErrStreamNotFound)
	})
}

// openOrStart connects like [openForReading], but starts a system if none exists.
func openOrStart(inv *invocation) (*bus.Bus, error) {
	o, err := runningSystem(inv)
	if err != nil {
		return nil, err
	}
	return open(inv, o)
}

func open(inv *invocation, o bus.Options) (*bus.Bus, error) {
	o.Log = inv.quiet()
	b, err := bus.Open(inv.ctx, o)
	if err != nil {
		return nil, err
	}
	if err := b.CheckJetStream(inv.ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// runningSystem returns the address of the system of this configuration: the
// configured servers, else the address published by the process that uses the
// data directory. Without a URL no system is running, and one may be started
// here.
func runningSystem(inv *invocation) (bus.Options, error) {
	o := app.BusOptions(inv.cfg)
	o.Name = "intenthint command"
	if o.URL != "" {
		return o, nil
	}
	url, err := natsserver.LocalURL(o.Embedded)
	if err != nil {
		return o, err
	}
	o.URL = url
	return o, nil
}
