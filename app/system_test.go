package app_test

import (
	"testing"

	"intenthint/app/apptest"
	"intenthint/config"
	"intenthint/internal/natstest"
	"intenthint/model/provider/providertest"
)

func TestMain(m *testing.M) { natstest.Main(m, 2) }

// system is a whole consumer in this process and a gateway that talks to it.
type system struct {
	*apptest.System
	t *testing.T
}

func start(t *testing.T, settings map[string]string) *system {
	return &system{apptest.Start(t, settings), t}
}

func startWith(t *testing.T, cfg *config.Config) *system {
	return &system{apptest.StartWith(t, cfg), t}
}

func withModel(t *testing.T, settings map[string]string) (*system, *providertest.Server) {
	s, model := apptest.WithModel(t, settings)
	return &system{s, t}, model
}
