package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/panics"
)

// terminal is a writer that is a terminal and keeps what is written.
type terminal struct {
	bytes.Buffer
	fd uintptr
}

func (t *terminal) Fd() uintptr { return t.fd }

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo terminals here:", err)
	}
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return &terminal{fd: f.Fd()}
}

func TestLogsIncludeTheStackOfAPanic(t *testing.T) {
	err := fmt.Errorf("call failed: %w", panics.Catch(func() error { return explode() }))
	for _, format := range []string{FormatJSON, FormatText} {
		var out bytes.Buffer
		NewLogger(&out, format, slog.LevelInfo).Error("a model", "error", err, "other", io.EOF)
		require.Contains(t, out.String(), "call failed: panic: boom")
		require.Contains(t, out.String(), "telemetry.explode")
		require.Contains(t, out.String(), "EOF")
	}
}

func explode() error { panic("boom") }

func TestLogFormats(t *testing.T) {
	const escape = "\x1b["
	for _, tc := range []struct {
		row, format          string
		terminal             bool
		noColor, term        string
		json, text, coloured bool
	}{
		{row: "auto to a file", format: FormatAuto, json: true},
		{row: "auto to a terminal", format: FormatAuto, terminal: true, term: "xterm", text: true, coloured: true},
		{row: "auto to a terminal with NO_COLOR", format: FormatAuto, terminal: true, term: "xterm", noColor: "1", text: true},
		{row: "auto to a dumb terminal", format: FormatAuto, terminal: true, term: "dumb", text: true},
		{row: "text to a file", format: FormatText, term: "xterm", text: true},
		{row: "text to a terminal", format: FormatText, terminal: true, term: "xterm", text: true, coloured: true},
		{row: "json to a terminal", format: FormatJSON, terminal: true, term: "xterm", json: true},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Setenv("NO_COLOR", tc.noColor)
			t.Setenv("TERM", tc.term)
			var (
				w   io.Writer
				out *bytes.Buffer
			)
			if tc.terminal {
				tty := openTerminal(t)
				w, out = tty, &tty.Buffer
			} else {
				out = new(bytes.Buffer)
				w = out
			}
			NewLogger(w, tc.format, slog.LevelInfo).Info("hello", slog.String("who", "world"))
			var record map[string]any
			require.Equal(t, tc.json, json.Unmarshal(out.Bytes(), &record) == nil, out)
			if tc.json {
				require.Equal(t, "hello", record["msg"])
				_, err := time.Parse(time.RFC3339Nano, record["time"].(string))
				require.NoError(t, err)
			}
			require.Contains(t, out.String(), "world")
			require.Equal(t, tc.coloured, bytes.Contains(out.Bytes(), []byte(escape)), out)
		})
	}
}

func TestLogLevelCanChange(t *testing.T) {
	for _, format := range []string{FormatText, FormatJSON} {
		t.Run(format, func(t *testing.T) {
			var (
				out   bytes.Buffer
				level slog.LevelVar
			)
			log := NewLogger(&out, format, &level)
			log.Debug("before")
			require.Empty(t, out.String())
			level.Set(slog.LevelDebug)
			log.Debug("after")
			require.Contains(t, out.String(), "after")
		})
	}
}
