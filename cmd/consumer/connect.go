package main

import (
	"intenthint/internal/app"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
)

// openForReading connects to the running system, or to its store if it is not
// running.
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
