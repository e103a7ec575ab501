package main

import (
	"fmt"
	"os"
	"path/filepath"

	"intenthint/intents"
)

type lintCmd struct {
	Dir string `arg:"" optional:"" type:"path" help:"The directory of intent files (default: HINT_INTENTS_DIR, else the definitions built in)."`
}

func (c *lintCmd) Run(inv *invocation) error {
	dir := c.Dir
	if dir == "" {
		dir = inv.cfg.IntentsDir
	}
	fsys, name := intents.BundledFS(), "the built-in definitions"
	if dir != "" {
		if info, err := os.Stat(dir); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		fsys, name = os.DirFS(dir), dir
	}
	faults := intents.Lint(fsys)
	for _, f := range faults {
		line := f.String()
		if dir != "" {
			f.File = filepath.Join(dir, f.File)
			line = f.String()
		}
		if _, err := fmt.Fprintln(inv.stdout, line); err != nil {
			return err
		}
	}
	if intents.HasErrors(faults) {
		return errSaid
	}
	files, _, err := intents.Load(fsys)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(inv.stderr, "%d intents in %s, no errors\n", len(intents.CatalogOf(files).Enabled()), name)
	return err
}
