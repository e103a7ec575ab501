package intents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"intenthint/internal/watch"
)

// Directory is a directory of intent files and the catalogue made from them.
// [Directory.Watch] keeps it up to date; [Directory.Catalog] is safe for
// concurrent use meanwhile.
type Directory struct {
	path    string
	log     *slog.Logger
	current atomic.Pointer[Catalog]

	// The following fields belong to the watching goroutine.
	seen    listing // the listing that the files below were made from
	files   map[string]*watchedFile
	inForce []File  // the files that made the current catalogue
	shared  []Fault // the latest warnings about keywords of two intents
	orphans []Fault // and about files of examples without an intent file
	missing bool    // the directory could not be read at the last attempt
	onFault func(Fault)
	poll    time.Duration // for tests; 0 for the default
}

// watchedFile is what is known of one file.
type watchedFile struct {
	content
	good *File  // the last version that conformed to contract §7 (see [parse]), or nil
	dupe string // the last warning about it, if another file has its id
}

// listing is the state of a directory when it was read.
type listing struct {
	files map[string]content
	err   error // why the directory could not be read
}

// content is the content of a file.
type content struct {
	data   string
	failed string // why the file could not be read
}

// Equal implements the state of [watch.Watch].
func (l listing) Equal(other listing) bool {
	if l.err != nil || other.err != nil {
		return l.err != nil && other.err != nil && l.err.Error() == other.err.Error()
	}
	return maps.Equal(l.files, other.files)
}

// OpenDirectory reads the intent files of a directory. Files that violate
// contract §7 are logged as warnings; a directory that cannot be read is an
// error.
func OpenDirectory(path string, log *slog.Logger) (*Directory, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("intents directory %s: %w", path, err)
	}
	d := &Directory{path: abs, log: log, seen: look(abs), onFault: func(Fault) {}}
	if d.seen.err != nil {
		return nil, d.seen.err
	}
	d.take(d.seen)
	d.inForce = d.usable()
	d.current.Store(CatalogOf(d.inForce))
	return d, nil
}

// Catalog returns the current catalogue.
func (d *Directory) Catalog() *Catalog { return d.current.Load() }

// Watch follows changes of the directory until ctx is done, and calls onChange
// (which may be nil) with each new catalogue, one call at a time. An edit that
// changes no intent makes no new catalogue. A file broken by an edit keeps its
// last good version; a deleted file is removed; while the directory itself is
// unreadable, nothing changes. onFault (which may also be nil) is called with
// the faults of a changed file.
func (d *Directory) Watch(ctx context.Context, onChange func(*Catalog), onFault func(Fault)) {
	if onFault != nil {
		d.onFault = onFault
	}
	watch.Watch[listing]{
		Path: d.path, Log: d.log, Poll: d.poll,
		Look:    func() listing { return look(d.path) },
		Changed: func(now listing) { d.refresh(ctx, now, onChange) },
	}.Run(ctx, d.seen)
}

// refresh applies the changes in the directory.
func (d *Directory) refresh(ctx context.Context, now listing, onChange func(*Catalog)) {
	if now.err != nil {
		if !d.missing {
			d.missing = true
			// The intents in use stay.
			d.log.WarnContext(ctx, "intents directory unreadable", slog.String("dir", d.path), slog.Any("error", now.err))
		}
		return
	}
	if d.missing {
		d.missing = false
		d.log.InfoContext(ctx, "intents directory readable again", slog.String("dir", d.path))
	}
	d.take(now)
	files := d.usable()
	if slices.EqualFunc(files, d.inForce, sameIntent) {
		return
	}
	d.inForce = files
	catalog := CatalogOf(files)
	d.current.Store(catalog)
	if onChange != nil {
		onChange(catalog)
	}
}

func sameIntent(a, b File) bool {
	return a.Name == b.Name && a.Enabled == b.Enabled &&
		a.Intent.ID == b.Intent.ID && a.Intent.Name == b.Intent.Name && a.Intent.Prompt == b.Intent.Prompt &&
		a.Intent.Domain == b.Intent.Domain && a.Intent.Complexity == b.Intent.Complexity && a.Intent.Fastpath.Hint == b.Intent.Fastpath.Hint &&
		slices.Equal(a.Intent.Fastpath.Keywords, b.Intent.Fastpath.Keywords) &&
		slices.Equal(a.Intent.Triggers, b.Intent.Triggers) && slices.Equal(a.Intent.Examples, b.Intent.Examples)
}

// look reads the directory.
func look(path string) listing {
	failed := func(err error) listing { return listing{err: fmt.Errorf("intents directory %s: %w", path, err)} }
	before, err := os.Stat(path)
	if err != nil {
		return failed(err)
	}
	fsys := os.DirFS(path)
	names, err := fileNames(fsys)
	if err != nil {
		return failed(err)
	}
	l := listing{files: make(map[string]content, len(names))}
	for _, name := range names {
		data, err := readFile(fsys, name)
		switch {
		case err == nil:
			l.files[name] = content{data: string(data)}
		case !errors.Is(err, os.ErrNotExist) || isLink(filepath.Join(path, name)):
			l.files[name] = content{failed: err.Error()}
		default: // It was deleted after the directory was listed.
		}
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		// The directory was moved while being read: missing files were not
		// deleted.
		return failed(errMoved)
	}
	return l
}

// take brings d.files up to date.
func (d *Directory) take(now listing) {
	files := make(map[string]*watchedFile, len(now.files))
	for _, name := range slices.Sorted(maps.Keys(now.files)) {
		f, known := d.files[name]
		if !known {
			f = &watchedFile{}
		}
		if content := now.files[name]; !known || f.content != content {
			f.content = content
			d.parse(name, f)
		}
		files[name] = f
	}
	d.files = files
}

// parse makes a file's content its last good version, or warns about its
// faults.
func (d *Directory) parse(name string, f *watchedFile) {
	if f.failed != "" {
		d.warn(f, Fault{File: name, Line: 1, Reason: f.failed})
		return
	}
	file, faults := parse(name, []byte(f.data))
	if !HasErrors(faults) {
		f.good = &file
		for _, fault := range faults {
			if fault.Severity == Warning {
				d.log.Warn("intent file accepted with a warning", d.place(fault)...)
			}
		}
		return
	}
	for _, fault := range faults {
		if fault.Severity == Error {
			d.warn(f, fault)
		}
	}
}

var errMoved = errors.New("moved while being read")

// isLink reports whether a name is a dangling symbolic link.
func isLink(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (d *Directory) warn(f *watchedFile, fault Fault) {
	message := "intent file skipped"
	if f.good != nil {
		message = "intent file broken, keeping its last good version"
	}
	d.onFault(fault)
	d.log.Warn(message, d.place(fault)...)
}

// place returns the log attributes of a fault.
func (d *Directory) place(fault Fault) []any {
	return []any{slog.String("file", filepath.Join(d.path, fault.File)), slog.Int("line", fault.Line), slog.String("reason", fault.Reason)}
}

// usable returns the last good versions of the intent files with their examples,
// without those whose id a later file has.
func (d *Directory) usable() []File {
	files := make([]File, 0, len(d.files))
	for _, f := range d.files {
		if f.good != nil {
			files = append(files, *f.good)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	files, _ = assemble(files)
	files, faults := winners(files)
	warned := make(map[string]string, len(faults))
	for _, fault := range faults {
		warned[fault.File] = fault.Reason
	}
	for name, f := range d.files {
		if reason := warned[name]; reason != f.dupe {
			if f.dupe = reason; reason != "" {
				d.log.Warn("intent file overridden", slog.String("file", filepath.Join(d.path, name)),
					slog.Int("line", f.good.idLine), slog.String("reason", reason))
			}
		}
	}
	d.shared = d.warnNew("keyword of two intents", d.shared, sharedKeywords(files))
	d.orphans = d.warnNew("examples file without an intent file", d.orphans, orphans(slices.Sorted(maps.Keys(d.files))))
	return files
}

// warnNew logs the faults that were not there before, and returns all of them.
func (d *Directory) warnNew(message string, before, now []Fault) []Fault {
	for _, fault := range now {
		if !slices.Contains(before, fault) {
			d.log.Warn(message, d.place(fault)...)
		}
	}
	return now
}
