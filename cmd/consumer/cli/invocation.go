// Package cli is what the commands of the command line share: their inputs and
// outputs, the connection to the running system, questions and progress.
package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"intenthint/config"
	"intenthint/internal/telemetry"
)

// Invocation holds the inputs and outputs of a command.
type Invocation struct {
	Ctx            context.Context //nolint:containedctx // the life of one command
	Config         *config.Config
	Warnings       []config.Warning
	Version        string // of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// ErrReported ends a command with exit code 1 after it has printed the reason.
var ErrReported = errors.New("failed")

// UsageError ends a command with exit code 2: the settings or arguments do not
// allow it to run.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Logger returns the log of a command, on standard error, and its adjustable
// level.
func (inv *Invocation) Logger() (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(inv.Config.Log.Level)
	return telemetry.NewLogger(inv.Stderr, inv.Config.Log.Format, level), level
}

// Quiet returns a log of warnings and errors, for interactive commands.
func (inv *Invocation) Quiet() *slog.Logger {
	return telemetry.NewLogger(inv.Stderr, inv.Config.Log.Format, max(inv.Config.Log.Level, slog.LevelWarn))
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
