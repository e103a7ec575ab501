package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Confirmable fails without a terminal to ask on, unless yes is set.
func (inv *Invocation) Confirmable(yes bool) error {
	if yes || IsTerminal(inv.Stdin) {
		return nil
	}
	return errors.New("nothing was changed: standard input is not a terminal, add --yes")
}

// Confirm asks on a terminal, unless yes is set.
func (inv *Invocation) Confirm(question string, yes bool) error {
	if err := inv.Confirmable(yes); yes || err != nil {
		return err
	}
	answer := make(chan error, 1)
	go func() { answer <- ask(inv.Stdin, inv.Stderr, question) }()
	select {
	case err := <-answer:
		return err
	case <-inv.Ctx.Done():
		return inv.Ctx.Err()
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
