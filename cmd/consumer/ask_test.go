package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/internal/porttest"
)

func TestASignalEndsAnUnansweredAsk(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	other, err := b.Another(t.Context(), "silent")
	require.NoError(t, err)
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = other.NC.Subscribe("silent", func(*nats.Msg) { cancel() })
	require.NoError(t, err)
	require.NoError(t, other.NC.Flush())
	inv := &cli.Invocation{Ctx: ctx, Config: &config.Config{Classifier: config.Classifier{Timeout: time.Hour}}}
	_, _, err = exchange(inv, b.NC, nats.NewMsg("silent"), false)
	require.ErrorIs(t, err, context.Canceled)
}

// A server that belongs to another command may go away at any time.
func TestAskDoesNotWaitOnALostConnection(t *testing.T) {
	t.Parallel()
	port, dir := porttest.Free(t), t.TempDir()
	serve := func() *bus.Bus {
		b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: port, DataDir: dir}, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		return b
	}
	first := serve()
	nc, err := nats.Connect("nats://127.0.0.1:"+strconv.Itoa(port), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	defer nc.Close()
	inv := &cli.Invocation{Ctx: t.Context(), Config: &config.Config{Classifier: config.Classifier{Timeout: time.Hour}}}
	ask := func(stay bool) <-chan error {
		heard, err := first.NC.SubscribeSync("question")
		require.NoError(t, err)
		require.NoError(t, first.NC.Flush())
		done := make(chan error, 1)
		go func() {
			_, _, err := exchange(inv, nc, nats.NewMsg("question"), stay)
			done <- err
		}()
		_, err = heard.NextMsgWithContext(t.Context())
		require.NoError(t, err)
		first.Close()
		return done
	}
	require.ErrorIs(t, <-ask(false), errGone)

	first = serve()
	require.Eventually(t, nc.IsConnected, time.Minute, time.Millisecond)
	done := ask(true)
	second := serve()
	defer second.Close()
	_, err = second.NC.Subscribe("question", func(m *nats.Msg) { _ = m.Respond(nil) })
	require.NoError(t, err)
	require.NoError(t, <-done, "asked again")
}

func TestAskSummary(t *testing.T) {
	t.Parallel()
	sure := 0.97
	for _, row := range []struct {
		name string
		a    asked
		want string
	}{
		{"a hint", asked{Intent: "CHAT", Confidence: &sure, Source: "local", ElapsedMs: 0.25, RoundTripMs: 1, SessionID: "s"}, "\nCHAT 0.97 from local in 0.250 ms (round trip 1.000 ms), session s\n"},
		{"of a model", asked{Intent: "CHAT", Source: "llm", Model: "mine/small", SessionKey: "k:1"}, "\nCHAT from mine/small in 0.000 ms (round trip 0.000 ms), session k:1\n"},
		{"held out", asked{Intent: "CHAT", Confidence: &sure, Source: "local", Skip: "holdout", SessionID: "s"}, "\nCHAT 0.97 from local in 0.000 ms (round trip 0.000 ms), session s\n"},
		{"no hint", asked{Skip: "agent_disabled", SessionID: "s"}, "in 0.000 ms (round trip 0.000 ms), session s\n"},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, string(row.a.summary())) })
	}
}

// A command that may not find its server must not become another system.
func TestAskStartsNothingInThePlaceOfAServer(t *testing.T) {
	t.Parallel()
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = mute.Close() })
	port := mute.Addr().(*net.TCPAddr).Port
	for _, row := range []struct {
		name string
		bus  config.Bus
		says string
	}{
		{"nobody at the configured server", config.Bus{URLs: []string{"nats://127.0.0.1:" + strconv.Itoa(porttest.Free(t))}}, "unreachable"},
		{"a program that does not answer at the configured server", config.Bus{URLs: []string{"nats://" + mute.Addr().String()}}, "does not answer as a NATS server"},
		{"a program that does not answer at the usual address", config.Bus{Port: port}, "HINT_NATS_PORT"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			cfg := &config.Config{Bus: row.bus, DataDir: dir}
			began := time.Now()
			err := (&askCmd{Text: []string{"hello"}}).Run(&cli.Invocation{Ctx: t.Context(), Config: cfg, Stdout: io.Discard, Stderr: io.Discard})
			require.ErrorContains(t, err, row.says)
			require.Less(t, time.Since(began), 10*time.Second, "five, and this machine's")
			require.NoDirExists(t, dir)
		})
	}
}
