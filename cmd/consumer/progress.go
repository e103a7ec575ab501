package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress is a bar on a terminal. Without a terminal it shows nothing.
type progress struct {
	out   io.Writer // nil without a terminal
	label string    // shown after the bar
	next  time.Time
}

const (
	progressWidth = 30
	progressEvery = 100 * time.Millisecond
)

func newProgress(out io.Writer) *progress {
	if !isTerminal(out) {
		out = nil
	}
	return &progress{out: out}
}

func (p *progress) show(done, total int) {
	if p.out == nil {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		_, _ = fmt.Fprint(p.out, "\r", progressBar(done, total), " ", p.label, "\x1b[K")
	}
}

func (p *progress) clear() {
	if p.out != nil {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.next = time.Time{}
	}
}

func progressBar(done, total int) string {
	filled := progressWidth * done / max(total, 1)
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("=", filled), strings.Repeat(" ", progressWidth-filled), done, total)
}
