package main

import (
	"errors"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/bus"
	"intenthint/triage"
	"intenthint/triage/state"
)

// errTriageOff reports that the settings do not enable the triage gate.
var errTriageOff = errors.New(`the triage gate is off; HINT_TRIAGE='{"enabled": true}' turns it on`)

// openTriage connects as [cli.OpenForReading] does, and opens the shared state of
// the triage gates.
func openTriage(inv *cli.Invocation) (*bus.Bus, *state.Store, error) {
	if !triage.Declared.In(inv.Config.Parts).Enabled {
		return nil, nil, errTriageOff
	}
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return nil, nil, err
	}
	return b, state.Of(app.Layout(inv.Config), b.JS), nil
}
