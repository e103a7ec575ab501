package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"intenthint/intents"
)

type lintCmd struct {
	Dir    string `arg:"" optional:"" type:"path" help:"The directory of intent files (default: HINT_INTENTS_DIR, else the built-in definitions)."`
	Advise bool   `help:"Also show which intents have few examples, and which are mistaken for each other: the local classifier is asked about each example without having seen it, nor the others of a part: 2 % of the examples, up to 10 % of more than 5,000."`
}

func (c *lintCmd) Run(inv *invocation) error {
	dir := cmp.Or(c.Dir, inv.cfg.IntentsDir)
	fsys, err := intentsFS(dir)
	if err != nil {
		return err
	}
	faults := intents.Lint(fsys)
	for _, f := range faults {
		f.File = filepath.Join(dir, f.File)
		if _, err := fmt.Fprintln(inv.stdout, f); err != nil {
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
	if len(files) == 0 {
		return fmt.Errorf("no usable intent file in %s", dir)
	}
	catalog := intents.CatalogOf(files)
	_, err = fmt.Fprintf(inv.stderr, "%s in %s, no errors\n", count(len(catalog.Enabled()), "intent"), cmp.Or(dir, "the built-in definitions"))
	if err != nil || !c.Advise {
		return err
	}
	return inv.advise(catalog)
}

// intentsFS returns the intent files of a directory; "" means the built-in ones.
func intentsFS(dir string) (fs.FS, error) {
	if dir == "" {
		return intents.BundledFS(), nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	return os.DirFS(dir), nil
}
