package main

import (
	"errors"
	"os"
	"strings"

	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/subjects"
)

// layoutOf names the streams and the durable.
func layoutOf(cfg *config.Config) bus.Layout {
	return bus.Layout{
		Prefix:     subjects.Prefix(cfg.Bus.Prefix),
		QueueGroup: cfg.Bus.QueueGroup,
		Stream:     cfg.Bus.Stream,
		MaxAge:     cfg.Bus.StreamMaxAge,
		MaxBytes:   cfg.Bus.StreamMaxBytes,
		Replicas:   cfg.Bus.StreamReplicas,
	}
}

// busOptions say where the bus of the configuration is.
func busOptions(cfg *config.Config) bus.Options {
	return bus.Options{
		URL: strings.Join(cfg.Bus.URLs, ","),
		Identity: bus.Identity{
			Creds: cfg.Bus.Creds, NKey: cfg.Bus.NKey,
			CA: cfg.Bus.CA, Cert: cfg.Bus.Cert, Key: cfg.Bus.Key,
			InboxPrefix: cfg.Bus.InboxPrefix,
		},
		Embedded: embeddedOptions(cfg),
	}
}

func embeddedOptions(cfg *config.Config) bus.EmbeddedOptions {
	return bus.EmbeddedOptions{ConfFile: confFile(cfg), Port: cfg.Bus.Port, DataDir: cfg.DataDir, AllowOpen: cfg.AllowOpen}
}

// confFile is the configuration file of the embedded server: "" for the copy
// built in, when the default file is not there.
func confFile(cfg *config.Config) string {
	if _, err := os.Stat(cfg.Bus.Conf); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return cfg.Bus.Conf
}

// openForReading connects to the running system, or to its store when nobody
// runs it.
func openForReading(inv *invocation) (*bus.Bus, error) {
	o, err := runningSystem(inv)
	if err != nil {
		return nil, err
	}
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

// runningSystem says where the system of this configuration runs: at the
// configured servers, else where the process that uses the data directory says
// that it listens, else nowhere (no URL), and then it may be started here.
func runningSystem(inv *invocation) (bus.Options, error) {
	o := busOptions(inv.cfg)
	o.Name = "intenthint command"
	if o.URL != "" {
		return o, nil
	}
	url, err := bus.LocalURL(o.Embedded)
	if err != nil {
		return o, err
	}
	o.URL = url
	return o, nil
}
