package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress is a bar on a terminal. Without a terminal it shows nothing, or lines.
type Progress struct {
	out   io.Writer // nil for nothing
	lines bool
	Label string // shown after the bar
	next  time.Time
}

const (
	progressWidth = 30                     // columns of the bar
	progressEvery = 100 * time.Millisecond // between two drawings: smooth for an eye
	lineEvery     = 5 * time.Second        // between two lines, for logs and patient people
)

// NewProgressLines is NewProgress for work that may take long: without a terminal, a
// line is written every five seconds.
func NewProgressLines(out io.Writer) *Progress {
	if IsTerminal(out) {
		return NewProgress(out)
	}
	return &Progress{out: out, lines: true}
}

// NewProgress returns a bar that is drawn on out.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return &Progress{out: out}
}

// Show draws the bar, at most every [progressEvery].
func (p *Progress) Show(done, total int) {
	now := time.Now()
	switch {
	case p.out == nil || now.Before(p.next):
	case p.lines:
		p.next = now.Add(lineEvery)
		_, _ = fmt.Fprintf(p.out, "%s: %d of %d\n", p.Label, done, total)
	default:
		p.next = now.Add(progressEvery)
		_, _ = fmt.Fprint(p.out, "\r", progressBar(done, total), " ", p.Label, "\x1b[K")
	}
}

// Clear removes the bar.
func (p *Progress) Clear() {
	if p.out != nil && !p.lines {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.next = time.Time{}
	}
}

func progressBar(done, total int) string {
	filled := progressWidth * done / max(total, 1)
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("=", filled), strings.Repeat(" ", progressWidth-filled), done, total)
}
