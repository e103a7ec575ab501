package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress is a bar on a terminal. Without a terminal it shows nothing.
type Progress struct {
	out   io.Writer // nil without a terminal
	Label string    // shown after the bar
	next  time.Time
}

const (
	progressWidth = 30                     // columns of the bar
	progressEvery = 100 * time.Millisecond // between two drawings: smooth for an eye
)

// NewProgress returns a bar that is drawn on out.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return &Progress{out: out}
}

// Show draws the bar, at most every [progressEvery].
func (p *Progress) Show(done, total int) {
	if p.out == nil {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		_, _ = fmt.Fprint(p.out, "\r", progressBar(done, total), " ", p.Label, "\x1b[K")
	}
}

// Clear removes the bar.
func (p *Progress) Clear() {
	if p.out != nil {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.next = time.Time{}
	}
}

func progressBar(done, total int) string {
	filled := progressWidth * done / max(total, 1)
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("=", filled), strings.Repeat(" ", progressWidth-filled), done, total)
}
