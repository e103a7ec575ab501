package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/natsserver"
)

func TestASignalEndsAnAskThatNobodyAnswers(t *testing.T) {
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	nc := b.NC
	ctx, cancel := context.WithCancel(t.Context())
	_, err = nc.Subscribe("silent", func(*nats.Msg) { cancel() })
	require.NoError(t, err)
	inv := &invocation{ctx: ctx, cfg: &config.Config{Classifier: config.Classifier{Timeout: time.Hour}}}
	_, _, err = exchange(inv, nc, nats.NewMsg("silent"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheLineBelowAHint(t *testing.T) {
	sure := 0.97
	for _, row := range []struct {
		name string
		a    asked
		want string
	}{
		{"a hint", asked{Intent: "CHAT", Confidence: &sure, Source: "local", ElapsedMs: 0.25, RoundTripMs: 1, SessionID: "s"}, "\nCHAT 0.97 from local in 0.250 ms (round trip 1.000 ms), session s\n"},
		{"of a model", asked{Intent: "CHAT", Source: "llm", Model: "mine/small", SessionKey: "k:1"}, "\nCHAT from mine/small in 0.000 ms (round trip 0.000 ms), session k:1\n"},
		{"no hint", asked{Skip: "agent_disabled", SessionID: "s"}, "in 0.000 ms (round trip 0.000 ms), session s\n"},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, string(row.a.summary())) })
	}
}
