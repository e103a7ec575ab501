package main

import (
	"testing"

	"intenthint/internal/app/apptest"
	"intenthint/internal/config"
)

// system is a whole consumer in this process and a gateway that talks to it.
type system struct {
	*apptest.System
	t *testing.T
}

func start(t *testing.T, settings map[string]string) *system {
	return &system{apptest.Start(t, settings), t}
}

func launch(t *testing.T, cfg *config.Config) *system { return &system{apptest.Launch(t, cfg), t} }
