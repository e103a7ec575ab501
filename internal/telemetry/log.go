// Package telemetry is what an operator sees of a running program: logs,
// metrics and the HTTP endpoints /healthz, /readyz and /metrics (contract §9).
package telemetry

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"intenthint/internal/panics"
)

// Formats of HINT_LOG_FORMAT.
const (
	FormatAuto = "auto"
	FormatText = "text"
	FormatJSON = "json"
)

// NewLogger returns a logger that writes records of at least the given level to
// w; with a [slog.LevelVar] the level can be changed later. Format auto is text
// on a terminal and JSON elsewhere. Text is coloured only on a terminal, and
// not if NO_COLOR is set or TERM is dumb.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	onTerminal := isTerminal(w)
	if format == FormatJSON || format != FormatText && !onTerminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: withStack}))
	}
	timeFormat := time.TimeOnly
	if !onTerminal {
		// Text in a file needs the date.
		timeFormat = "2006-01-02T15:04:05.000Z07:00"
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, ReplaceAttr: withStack, TimeFormat: timeFormat, NoColor: !onTerminal || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"}))
}

// withStack adds the stack of a panic to its error.
func withStack(_ []string, a slog.Attr) slog.Attr {
	err, ok := a.Value.Any().(error)
	if !ok {
		return a
	}
	if p, ok := errors.AsType[*panics.Error](err); ok {
		return slog.String(a.Key, err.Error()+"\n"+string(p.Stack))
	}
	return a
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
