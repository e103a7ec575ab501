package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
)

// ErrNoSystem reports that there is no system to read or change.
var ErrNoSystem = errors.New("no system here")

// OpenForReading connects to the running system, or to its store if it is not
// running. If there is neither, or the server has nothing of a system, the error
// wraps [ErrNoSystem], and nothing is created.
func OpenForReading(inv *Invocation) (*bus.Bus, error) {
	o, err := RunningSystem(inv)
	if errors.Is(err, natsserver.ErrStranger) {
		return nil, fmt.Errorf("%w: %w", ErrNoSystem, err)
	}
	if err != nil {
		return nil, err
	}
	if o.URL == "" && !o.Embedded.Stored() {
		return nil, fmt.Errorf("%w: no NATS server is running, and %s holds no NATS data; set HINT_NATS_URL, set HINT_DATA_DIR to a consumer's data directory, or start a consumer with `consumer run`",
			ErrNoSystem, inv.Config.DataDir)
	}
	b, err := open(inv, o)
	if err != nil {
		return nil, err
	}
	if !hasSystem(inv, b) {
		b.Close()
		return nil, fmt.Errorf("%w: the server has no stream %s; check HINT_STREAM and HINT_NATS_URL, or start a consumer with `consumer run`",
			ErrNoSystem, inv.Config.Bus.Stream)
	}
	return b, nil
}

// hasSystem reports whether the server has the event stream, or a bucket that
// people keep without it. What the NATS user may not look at is taken to exist.
func hasSystem(inv *Invocation, b *bus.Bus) bool {
	names := []string{inv.Config.Bus.Stream}
	for _, bucket := range app.KeptBuckets(inv.Config) {
		names = append(names, bus.BucketStream(bucket))
	}
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := bus.FindStream(inv.Ctx, b.JS, name)
		return !errors.Is(err, jetstream.ErrStreamNotFound)
	})
}

// OpenOrStart connects like [OpenForReading], but starts a system if none exists.
func OpenOrStart(inv *Invocation) (*bus.Bus, error) {
	o, err := RunningSystem(inv)
	if err != nil {
		return nil, err
	}
	return open(inv, o)
}

func open(inv *Invocation, o bus.Options) (*bus.Bus, error) {
	o.Log = inv.Quiet()
	b, err := bus.Open(inv.Ctx, o)
	if err != nil {
		return nil, err
	}
	if err := b.CheckJetStream(inv.Ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// RunningSystem returns the address of the system of this configuration: the
// configured servers, else the address published by the process that uses the
// data directory. Without a URL no system is running, and one may be started
// here.
func RunningSystem(inv *Invocation) (bus.Options, error) {
	o := app.BusOptions(inv.Config)
	o.Name = "intenthint command"
	if o.URL != "" {
		return o, nil
	}
	url, err := natsserver.LocalURL(o.Embedded)
	if err != nil {
		return o, err
	}
	o.URL, o.Local = url, url != ""
	return o, nil
}
