package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirmable fails without a terminal to ask on, unless yes is set.
func (inv *invocation) confirmable(yes bool) error {
	if yes || isTerminal(inv.stdin) {
		return nil
	}
	return errors.New("nothing was changed: standard input is not a terminal, add --yes")
}

// confirm asks on a terminal, unless yes is set.
func (inv *invocation) confirm(question string, yes bool) error {
	if err := inv.confirmable(yes); yes || err != nil {
		return err
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
