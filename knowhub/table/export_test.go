package table

import (
	"context"
	"log/slog"
)

// Writer writes at once.
type Writer struct{ *Table }

// NewWriter returns a writer of experiences.
func NewWriter(path string, x Experiences, ready func() bool) Writer {
	return Writer{New(Options{Path: path, Experiences: x, Ready: ready, Log: slog.New(slog.DiscardHandler)})}
}

// Write writes what has changed.
func (w Writer) Write(ctx context.Context) error { return w.write(ctx) }

// Unlock lets others write.
func (w Writer) Unlock() error { return w.lock.Close() }
