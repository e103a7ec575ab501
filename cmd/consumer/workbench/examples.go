package workbench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/intents"
)

// addExamples are the flags of commands that add examples to intent files: they
// show the diff, ask, and write.
type addExamples struct {
	Intents string `placeholder:"DIR" help:"The directory of intent files (default: HINT_INTENTS_DIR, else the built-in definitions)."`
	Out     string `placeholder:"DIR" help:"Write all intent files, with the new examples, to this new or empty directory instead of changing them in place."`
	Yes     bool   `short:"y" help:"Write without asking."`
	DryRun  bool   `help:"Only show what would be written."`
	JSON    bool   `name:"json" help:"Print one JSON object instead of the diff. Never asks, so it needs --yes or --dry-run."`
}

// Validate is called by kong.
func (c *addExamples) Validate() error {
	if c.Yes && c.DryRun {
		return errors.New("--yes and --dry-run cannot be used together")
	}
	return nil
}

// confirmable returns an error if the changes could not be confirmed later.
func (c *addExamples) confirmable(inv *cli.Invocation) error {
	switch {
	case c.DryRun:
		return nil
	case c.JSON && !c.Yes:
		return errors.New("nothing was changed: --json never asks, add --yes or --dry-run")
	default:
		return inv.Confirmable(c.Yes)
	}
}

// source is the origin of the intents.
type source struct {
	dir     string // "" for the built-in definitions
	fsys    fs.FS
	files   []intents.File
	catalog *intents.Catalog
}

// source reads the intents. It fails if the examples could not be written.
func (c *addExamples) source(inv *cli.Invocation) (*source, error) {
	dir := cmp.Or(c.Intents, inv.Config.IntentsDir)
	if dir == "" && c.Out == "" && !c.DryRun {
		return nil, cli.UsageError("the built-in definitions cannot be changed: use --out DIR to write them with the new examples to a directory, set HINT_INTENTS_DIR or --intents to your own directory, or use --dry-run")
	}
	if err := mustBeEmpty(c.Out); err != nil {
		return nil, err
	}
	return openSource(inv, dir)
}

// openSource reads the intents of a directory, "" for the built-in definitions.
func openSource(inv *cli.Invocation, dir string) (*source, error) {
	s := &source{dir: dir}
	var err error
	if s.fsys, err = IntentsFS(s.dir); err != nil {
		return nil, err
	}
	files, faults, err := intents.Load(s.fsys)
	if err != nil {
		return nil, err
	}
	for _, f := range faults {
		if f.Severity > intents.Notice {
			f.File = filepath.Join(s.dir, f.File)
			_, _ = fmt.Fprintln(inv.Stderr, f)
		}
	}
	s.files, s.catalog = files, intents.CatalogOf(files)
	if len(s.catalog.Enabled()) == 0 {
		return nil, fmt.Errorf("no enabled intents in %s", s.dir)
	}
	return s, nil
}

func mustBeEmpty(dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("--out: %s is not empty", dir)
	}
	return nil
}

// addition is the examples to add to the file of examples of one intent.
type addition struct {
	Intent string   `json:"intent"`
	File   string   `json:"file"`
	Added  []string `json:"added"`

	intentFile    string
	before, after []byte // the file of examples; nil for none
}

// open reads the file of examples of an intent, and checks that examples can be
// added to it.
func (s *source) open(in intents.Intent) (addition, error) {
	a := addition{Intent: in.ID, File: intents.ExamplesName(in.File), Added: []string{}, intentFile: in.File}
	var err error
	a.before, err = intents.ReadExamples(s.fsys, a.File)
	a.after = a.before
	return a, err
}

// add adds examples to the file content as it was read.
func (a *addition) add(examples []string) error {
	after, err := intents.AppendExamples(a.before, examples)
	if err != nil {
		return fmt.Errorf("%s: %w", a.File, err)
	}
	a.Added, a.after = cli.OrEmpty(examples), after
	return nil
}

// printDiff prints what would change.
func (c *addExamples) printDiff(inv *cli.Invocation, s *source, additions []addition) error {
	for _, a := range additions {
		diff := s.diff(a.File, cmp.Or(c.Out, s.dir), a.before, a.after)
		if _, err := io.WriteString(inv.Stdout, diff); err != nil {
			return err
		}
	}
	return nil
}

// diff returns the diff of a file that gets lines, or is copied to another
// directory with them. before is nil for a new file.
func (s *source) diff(file, to string, before, after []byte) string {
	from := filepath.Join(cmp.Or(s.dir, "built-in"), file)
	if before == nil {
		from = os.DevNull
	}
	return expand.Diff(from, filepath.Join(cmp.Or(to, "built-in"), file), before, after)
}

// errInterrupted reports a signal before anything was written.
var errInterrupted = errors.New("interrupted: nothing was changed")

// write asks for confirmation and writes the files. It returns their names.
func (c *addExamples) write(inv *cli.Invocation, s *source, additions []addition) (written []string, err error) {
	written = []string{}
	if inv.Ctx.Err() != nil {
		return written, errInterrupted
	}
	examples, files := 0, 0
	for _, a := range additions {
		if len(a.Added) > 0 {
			examples += len(a.Added)
			files++
		}
	}
	if examples == 0 || c.DryRun {
		return written, nil
	}
	question := fmt.Sprintf("Add %s to %s in %s?", cli.Count(examples, "example"), cli.Count(files, "file"), cmp.Or(c.Out, s.dir))
	if err := inv.Confirm(question, c.Yes); err != nil && inv.Ctx.Err() == nil {
		return written, err
	}
	if inv.Ctx.Err() != nil {
		return written, errInterrupted
	}
	if c.Out != "" {
		return s.writeCopy(inv, c.Out, additions)
	}
	var errs []error
	for _, a := range additions {
		if len(a.Added) == 0 {
			continue
		}
		path, err := s.append(a)
		if err != nil {
			errs = append(errs, fmt.Errorf("not written: %w", err))
			continue
		}
		written = append(written, path)
	}
	_, _ = fmt.Fprintf(inv.Stderr, "%s written\n", cli.Count(len(written), "file"))
	return written, errors.Join(errs...)
}

// append writes the examples of an addition, and returns the path of the file. A
// new file is as readable as the intent file.
func (s *source) append(a addition) (path string, err error) {
	info, err := os.Stat(filepath.Join(s.dir, a.intentFile))
	if err != nil {
		return "", err
	}
	path = filepath.Join(s.dir, a.File)
	return path, expand.Append(path, a.Added, info.Mode().Perm())
}

// writeCopy writes all files of the source, with the new examples, to another
// directory. After an error it removes the files that it has written.
func (s *source) writeCopy(inv *cli.Invocation, dir string, additions []addition) (written []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as public as the built-in definitions
		return []string{}, err
	}
	extended := map[string][]byte{}
	for _, a := range additions {
		if len(a.Added) > 0 {
			extended[a.File] = a.after
		}
	}
	paths := []string{}
	defer func() {
		if err == nil {
			return
		}
		for _, path := range paths {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	write := func(name string, data []byte) error {
		path := filepath.Join(dir, name)
		if err := createFile(path, bytes.NewReader(data)); err != nil {
			return err
		}
		paths = append(paths, path)
		return nil
	}
	for _, f := range s.files {
		data, examples, err := s.read(f)
		if err != nil {
			return []string{}, err
		}
		if err := write(f.Name, data); err != nil {
			return []string{}, err
		}
		name := intents.ExamplesName(f.Name)
		if more, ok := extended[name]; ok {
			examples = more
		}
		if examples == nil {
			continue
		}
		if err := write(name, examples); err != nil {
			return []string{}, err
		}
	}
	_, _ = fmt.Fprintf(inv.Stderr, "%s written; set HINT_INTENTS_DIR=%s to use them\n", cli.Count(len(paths), "file"), dir)
	return paths, nil
}

// read returns an intent file and its file of examples, nil for none or a broken
// one, whose fault has been shown.
func (s *source) read(f intents.File) (data, examples []byte, err error) {
	data, err = fs.ReadFile(s.fsys, f.Name)
	if more, broken := intents.ReadExamples(s.fsys, intents.ExamplesName(f.Name)); broken == nil {
		examples = more
	}
	return data, examples, err
}

// createFile creates an intent file, which must not exist yet. A file that could
// not be written whole, as on a full disk, is removed.
func createFile(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as public as the built-in definitions
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
