package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/internal/atomicfile"
	"intenthint/store"
)

// exportPattern is the name pattern of temporary files.
const exportPattern = ".tmp-*"

type sessionsExportCmd struct {
	Dir string `arg:"" type:"path" help:"The directory; it is created if missing."`
}

// Help is the longer text of `consumer sessions export --help`.
func (sessionsExportCmd) Help() string {
	return "Writes <token>.json for every session and, if turns were archived, <token>.history.jsonl beside it. A consumer with HINT_STORE=file can use the directory. Files of the same names are replaced, other files are kept."
}

func (c *sessionsExportCmd) Run(inv *cli.Invocation) error {
	sessions, closeStore, err := cli.SessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if inv.Config.Store.Kind == config.StoreFile && sameDir(c.Dir, inv.Config.Store.SessionsDir) {
		return fmt.Errorf("%s is the session directory itself", c.Dir)
	}
	list, err := sessions.List(inv.Ctx)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(inv.Stderr)
	written, withHistory, failed := 0, 0, 0
	for i, summary := range list {
		bar.Show(i, len(list))
		history, err := exportSession(inv.Ctx, sessions, c.Dir, summary)
		switch {
		case inv.Ctx.Err() != nil:
			bar.Clear()
			return fmt.Errorf("stopped after %d of %s: %w", written, cli.Count(len(list), "session"), inv.Ctx.Err())
		case errors.Is(err, store.ErrNotFound): // removed meanwhile
		case err != nil:
			bar.Clear()
			_, _ = fmt.Fprintln(inv.Stderr, "consumer:", err)
			failed++
		default:
			written++
			if history {
				withHistory++
			}
		}
	}
	bar.Clear()
	if _, err := fmt.Fprintf(inv.Stdout, "wrote %s to %s, %d of them with a history\n", cli.Count(written, "session"), c.Dir, withHistory); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("not written: %s", cli.Count(failed, "session"))
	}
	return nil
}

func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// exportSession writes one session and reports whether it has a history. The
// document is read first: a turn that is archived meanwhile is in both files.
func exportSession(ctx context.Context, sessions store.Reader, dir string, summary store.Summary) (history bool, err error) {
	// Look it up by name: its token may be the name of another session.
	name, token := summary.Name(), summary.Token
	document, err := sessions.Get(ctx, name)
	if err != nil {
		return false, err
	}
	turns, err := sessions.Retired(ctx, name)
	if err != nil {
		return false, err
	}
	if len(turns) > 0 {
		var lines bytes.Buffer
		for _, turn := range turns {
			lines.Write(turn)
			lines.WriteByte('\n')
		}
		if err := atomicfile.Write(filepath.Join(dir, token+".history.jsonl"), exportPattern, lines.Bytes(), 0o600); err != nil {
			return false, err
		}
	}
	return len(turns) > 0, atomicfile.Write(filepath.Join(dir, token+".json"), exportPattern, append(bytes.Clone(document), '\n'), 0o600)
}
