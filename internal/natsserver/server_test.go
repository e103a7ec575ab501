package natsserver

import (
	"log/slog"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

var quiet = slog.New(slog.DiscardHandler)

func TestLocalURL(t *testing.T) {
	dir := t.TempDir()
	o := Options{Port: server.RANDOM_PORT, DataDir: dir}
	url, err := LocalURL(o)
	require.NoError(t, err)
	require.Empty(t, url)
	s, _, err := Open(t.Context(), o, quiet)
	require.NoError(t, err)
	url, err = LocalURL(o)
	require.NoError(t, err)
	require.Equal(t, s.URL(), url)
	s.Stop()
	url, err = LocalURL(o)
	require.NoError(t, err)
	require.Empty(t, url)
}

func TestShippedConfiguration(t *testing.T) {
	opts, err := Options{DataDir: "data"}.parse()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", opts.Host)
	require.Equal(t, 4222, opts.Port)
	require.True(t, opts.SyncAlways)
	require.EqualValues(t, 8<<20, opts.MaxPayload)
	require.Zero(t, opts.HTTPPort)
	file, err := Options{ConfFile: "../../nats.conf", DataDir: "data"}.parse()
	require.NoError(t, err)
	require.Equal(t, opts.Port, file.Port)
}
