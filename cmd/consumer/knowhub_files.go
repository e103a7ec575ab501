package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"intenthint/cmd/consumer/cli"
	"intenthint/knowhub/experience"
)

type knowhubExportCmd struct {
	chosen
	Rejected bool `help:"Also those that are rejected."`
}

// Help is the longer text of `consumer knowhub export --help`.
func (knowhubExportCmd) Help() string {
	return `Prints experiences as JSON, one per line, newest first. "consumer knowhub import" reads them. Rejected ones are left out, unless --rejected or --status rejected is set.

  consumer knowhub export --status approved > experiences.jsonl

Exit code 1: an experience cannot be read. The others are printed.`
}

func (c *knowhubExportCmd) Run(inv *cli.Invocation) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	found, whole, err := x.all(inv, func(e experience.Experience) bool {
		return c.holds(e) && (e.Status != experience.Rejected || c.Rejected || c.Status == string(experience.Rejected))
	})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(inv.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, e := range found {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil || whole {
		return err
	}
	return cli.ErrReported
}

type knowhubImportCmd struct {
	Pending bool   `help:"Make all of them pending."`
	File    string `arg:"" optional:"" default:"-" help:"JSON, one experience per line; - for standard input."`
}

// Help is the longer text of `consumer knowhub import --help`.
func (knowhubImportCmd) Help() string {
	return `Adds the experiences of a file in the format of "consumer knowhub export"; task, resource and result are enough. Existing experiences are not changed. A status in the file is kept. An experience without a status becomes pending, as does one that looks like a prompt injection, unless a person decided about it.

  consumer knowhub import experiences.jsonl

Exit code 1: a line cannot be read or was not stored. The other lines are added.`
}

// maxImportLine bounds a line: an experience at its bounds, with escapes.
const maxImportLine = 1 << 20

func (c *knowhubImportCmd) Run(inv *cli.Invocation) error {
	in := inv.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // Only read.
		in = f
	}
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	added, known, marked := 0, 0, 0
	var failed []error
	err = eachLine(in, func(n int, line []byte, err error) error {
		created, waits := false, false
		if err == nil {
			created, waits, err = c.add(inv, x, line)
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("line %d: %w", n, err))
		case created:
			added++
			if waits {
				marked++
			}
		default:
			known++
		}
		return inv.Ctx.Err()
	})
	_, _ = fmt.Fprintf(inv.Stdout, "added %s, %d known\n", cli.Count(added, "experience"), known)
	if marked > 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "%d of them pending, whatever the file says: they look like prompt injections (consumer knowhub ls --status pending)\n", marked)
	}
	return errors.Join(append(failed, err)...)
}

// errLongLine reports a line of more than [maxImportLine] bytes.
var errLongLine = fmt.Errorf("a line must not be longer than %d bytes", maxImportLine)

// eachLine calls yield with the lines that are not blank and their numbers, from 1
// on, and with an error for one that is too long. An error of yield ends it. A
// byte order mark (U+FEFF) at the beginning is skipped.
func eachLine(in io.Reader, yield func(n int, line []byte, err error) error) error {
	lines := bufio.NewReaderSize(in, maxImportLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		var long error
		for errors.Is(err, bufio.ErrBufferFull) {
			long = errLongLine
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 || long != nil {
			if err := yield(n, line, long); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// add stores a line. waits reports whether it is pending although the line says
// something else.
func (c *knowhubImportCmd) add(inv *cli.Invocation, x *experiences, line []byte) (created, waits bool, err error) {
	e := experience.Experience{Confidence: 1} // the default, as for submitted experiences
	err = json.Unmarshal(line, &e)
	var typed *json.UnmarshalTypeError
	switch {
	case line[0] != '{':
		return false, false, errors.New("not a JSON object")
	case errors.As(err, &typed):
		return false, false, fmt.Errorf("not an experience: %s must not be a %s", typed.Field, typed.Value)
	case err != nil:
		return false, false, fmt.Errorf("not an experience in JSON: %w", err)
	}
	if e.Status == "" || c.Pending {
		e.Status = experience.Pending
	}
	stored, created, err := x.service.Import(inv.Ctx, e)
	return created, stored.Status != e.Status, err
}
