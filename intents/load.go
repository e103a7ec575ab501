package intents

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Load reads every intent file of a directory, with the examples of the file
// beside it, in order of file names. A file that violates contract §7 is left out
// with an [Error]; the others load. Of two files with one id, ignoring case, the
// later name wins with a [Warning]. A keyword of two intents and a file of examples
// without an intent file are [Warning]s too. err is set when the directory cannot
// be read.
func Load(fsys fs.FS) (files []File, faults []Fault, err error) {
	files, faults, overridden, err := load(fsys)
	faults = append(faults, overridden...)
	sortFaults(faults)
	return files, faults, err
}

// load is [Load], with the faults of overridden files returned separately.
func load(fsys fs.FS) (files []File, faults, overridden []Fault, err error) {
	names, err := fileNames(fsys)
	if err != nil {
		return nil, nil, nil, err
	}
	parsed, found := make([]File, len(names)), make([][]Fault, len(names))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		work.Go(func() error {
			parsed[i], found[i] = loadFile(fsys, name)
			return nil // faults are not errors
		})
	}
	_ = work.Wait()
	files = make([]File, 0, len(names))
	for i, file := range parsed {
		faults = append(faults, found[i]...)
		if !HasErrors(found[i]) {
			files = append(files, file)
		}
	}
	files, repeated := assemble(files)
	files, overridden = winners(files)
	return files, slices.Concat(faults, repeated, orphans(names), sharedKeywords(files)), overridden, nil
}

func loadFile(fsys fs.FS, name string) (File, []Fault) {
	data, err := readFile(fsys, name)
	if err != nil {
		return File{}, []Fault{{File: name, Line: 1, Severity: Error, Reason: err.Error()}}
	}
	return parse(name, data)
}

// CatalogOf returns the catalogue of the enabled files.
func CatalogOf(files []File) *Catalog {
	enabled := make([]Intent, 0, len(files))
	for _, f := range files {
		if f.Enabled {
			enabled = append(enabled, f.Intent)
		}
	}
	return NewCatalog(enabled)
}

// winners drops the files whose id a later file has too, with a warning for
// each.
func winners(files []File) ([]File, []Fault) {
	last := make(map[string]int, len(files))
	for i, f := range files {
		last[strings.ToUpper(f.Intent.ID)] = i
	}
	var faults []Fault
	kept := make([]File, 0, len(last))
	for i, f := range files {
		by := last[strings.ToUpper(f.Intent.ID)]
		if by == i {
			kept = append(kept, f)
			continue
		}
		faults = append(faults, Fault{
			File: f.Name, Line: f.idLine, Severity: Warning,
			Reason: fmt.Sprintf("id %s is also the id of %s, which overrides this file", f.Intent.ID, files[by].Name),
		})
	}
	return kept, faults
}

// fileNames lists the intent files and files of examples of a directory, sorted.
func fileNames(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("reading the intents directory: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if (isIntentFile(e.Name()) || isExamplesFile(e.Name())) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// intentSuffix ends the name of an intent file.
const intentSuffix = ".md"

// isIntentFile reports whether a name is *.md, and neither hidden nor an editor's
// temporary file.
func isIntentFile(name string) bool { return isVisible(name, intentSuffix) }

// isExamplesFile reports the same for *.examples.txt.
func isExamplesFile(name string) bool { return isVisible(name, examplesSuffix) }

func isVisible(name, suffix string) bool {
	return strings.HasSuffix(name, suffix) && !strings.ContainsRune(".#~", rune(name[0]))
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = fmt.Errorf("the file is larger than %d bytes", maxFileBytes)
)

// readFile reads a regular file of at most [maxFileBytes]. Its errors are the
// reasons of faults.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > maxFileBytes:
		return nil, errTooLarge
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, reason(err)
	}
	return data, nil
}

func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("reading the file: %w", err)
}
