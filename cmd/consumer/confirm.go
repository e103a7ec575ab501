package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirm asks on a terminal. Without a terminal it fails unless yes is set.
func (inv *invocation) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(inv.stdin) {
		return errors.New("nothing was changed: standard input is not a terminal, add --yes")
	}
	answer := make(chan error, 1)
	go func() { answer <- ask(inv.stdin, inv.stderr, question) }()
	select {
	case err := <-answer:
		return err
	case <-inv.ctx.Done():
		return inv.ctx.Err()
	}
}

// ask asks a question; only "y" or "yes" confirms.
func ask(in io.Reader, out io.Writer, question string) error {
	_, _ = fmt.Fprintf(out, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	default:
		return errors.New("nothing was changed")
	}
}
