package workbench

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"intenthint/cmd/consumer/cli"
	"intenthint/intents"
)

// Lint is `consumer intents lint`.
type Lint struct {
	Dir    string `arg:"" optional:"" type:"path" help:"The directory of intent files (default: HINT_INTENTS_DIR, else the built-in definitions)."`
	Advise bool   `help:"Also show which intents have few examples, and which are mistaken for each other: the local classifier is asked about each example without having seen it, nor the others of a part: 2 % of the examples, up to 10 % of more than 5,000."`
}

// Run is called by kong.
func (c *Lint) Run(inv *cli.Invocation) error {
	dir := cmp.Or(c.Dir, inv.Config.IntentsDir)
	fsys, err := IntentsFS(dir)
	if err != nil {
		return err
	}
	faults := intents.Lint(fsys)
	for _, f := range faults {
		f.File = filepath.Join(dir, f.File)
		if _, err := fmt.Fprintln(inv.Stdout, f); err != nil {
			return err
		}
	}
	if intents.HasErrors(faults) {
		return cli.ErrReported
	}
	files, _, err := intents.Load(fsys)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no usable intent file in %s", dir)
	}
	catalog := intents.CatalogOf(files)
	_, err = fmt.Fprintf(inv.Stderr, "%s in %s, no errors\n", cli.Count(len(catalog.Enabled()), "intent"), cmp.Or(dir, "the built-in definitions"))
	if err == nil && !c.Advise {
		err = printFew(inv.Stderr, catalog)
	}
	if err != nil || !c.Advise {
		return err
	}
	return advise(inv, catalog)
}

// printFew names in one line the intents that have too few examples, with how many
// they have.
func printFew(out io.Writer, catalog *intents.Catalog) error {
	var few []string
	for _, in := range catalog.Enabled() {
		if n := len(in.Examples); n < intents.FewExamples {
			few = append(few, fmt.Sprintf("%s %d", in.ID, n))
		}
	}
	if len(few) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s with fewer than %d examples, so hints are fewer and less sure: %s\n",
		cli.Count(len(few), "intent"), intents.FewExamples, strings.Join(few, ", "))
	return err
}

// IntentsFS returns the intent files of a directory; "" means the built-in ones.
func IntentsFS(dir string) (fs.FS, error) {
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
