package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/telemetry"
)

func TestClassifyReadsTheClassifierThatRunLeft(t *testing.T) {
	dir := writeIntents(t)
	data := filepath.Join(t.TempDir(), "data")
	cfg := settle(t, map[string]string{"HINT_INTENTS_DIR": dir, "HINT_DATA_DIR": data})
	classify := func() string {
		var out, failed lockedBuffer
		require.Zero(t, runContext(t.Context(), []string{"classify", "remind me to call Anna"}, &out, &failed), failed.String())
		return out.String()
	}
	require.Contains(t, classify(), "intent")
	require.NoDirExists(t, data, "classify leaves no files")

	log := slog.New(slog.DiscardHandler)
	require.NoError(t, newLive(cfg, telemetry.NewMetrics(version), log, new(slog.LevelVar)).load())
	files, err := filepath.Glob(filepath.Join(data, "cache", "classifier-*.bin"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	// The time of the file tells that it was read.
	require.NoError(t, os.Chtimes(files[0], longAgo, longAgo))
	require.Contains(t, classify(), "intent")
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.True(t, info.ModTime().After(longAgo))
}

var longAgo = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
