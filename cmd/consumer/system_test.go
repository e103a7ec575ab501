package main

import (
	"context"
	"io"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/internal/natstest"
	"intenthint/store"
)

func TestMain(m *testing.M) { natstest.Main(m, 2) }

// environment is what commands read their settings from, in place of the
// environment of the process, which all tests share.
type environment map[string]string

// settle returns the environment of a small system.
func settle(t *testing.T, settings map[string]string) environment {
	t.Helper()
	return apptest.Settings(t, settings)
}

// with returns a copy with another value.
func (e environment) with(name, value string) environment {
	out := maps.Clone(e)
	out[name] = value
	return out
}

func (e environment) config(t *testing.T) *config.Config {
	t.Helper()
	cfg, _, err := config.LoadFrom(e, app.Objects()...)
	require.NoError(t, err)
	return cfg
}

// storeOf opens the session store of a configuration to write to it.
func storeOf(t *testing.T, inv *cli.Invocation) (sessions store.Store, closeStore func()) {
	t.Helper()
	if inv.Config.Store.Kind != config.StoreKV {
		sessions, err := app.OpenStore(inv.Ctx, inv.Config, nil, nil, inv.Quiet())
		require.NoError(t, err)
		return sessions, func() {}
	}
	b, err := cli.OpenOrStart(inv)
	require.NoError(t, err)
	sessions, err = app.OpenStore(inv.Ctx, inv.Config, b.JS, nil, inv.Quiet())
	require.NoError(t, err)
	return sessions, b.Close
}

// run runs a command and returns its exit code.
func (e environment) run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	load := func() (*config.Config, []config.Warning, error) { return config.LoadFrom(e, app.Objects()...) }
	return runContext(ctx, load, args, stdout, stderr)
}

// system is a whole consumer in this process and a gateway that talks to it.
type system struct {
	*apptest.System
	t *testing.T
	// env is that of the consumer.
	env environment
}

func start(t *testing.T, settings map[string]string) *system {
	t.Helper()
	env := settle(t, settings)
	return &system{apptest.StartWith(t, env.config(t)), t, env}
}

// launch starts a system without a gateway.
func launch(t *testing.T, env environment) *system {
	t.Helper()
	return &system{apptest.Launch(t, env.config(t)), t, env}
}
