package intents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Times of a watch.
const (
	// settle is how long a directory must be quiet before it is read, and
	// settleAtMost how long a reading is put off when it never is.
	settle       = 100 * time.Millisecond
	settleAtMost = time.Second
	// pollEvery is the safety net for file systems without notifications and
	// for directories whose parents were moved; pollAlone serves when there
	// are no notifications at all.
	pollEvery = 5 * time.Second
	pollAlone = time.Second
)

// Directory is a directory of intent files and the catalogue that they make.
// [Directory.Watch] keeps it up to date; [Directory.Catalog] is safe for
// concurrent use meanwhile.
type Directory struct {
	path    string
	log     *slog.Logger
	current atomic.Pointer[Catalog]

	// What follows belongs to the goroutine that watches.
	files   map[string]*watchedFile
	inForce []File // the files that made the current catalogue
	missing bool   // the directory could not be read the last time
	onFault func(Fault)
	poll    time.Duration
}

// watchedFile is what is known of one file.
type watchedFile struct {
	sum    [sha256.Size]byte
	failed string // why it could not be read; sum counts when it is ""
	good   *File  // the last version that held to contract §7, or nil
	dupe   string // the warning given for it last, when another file has its id
}

// OpenDirectory reads the intent files of a directory. Files that do not hold to
// contract §7 are logged as warnings; a directory that cannot be read is an
// error.
func OpenDirectory(path string, log *slog.Logger) (*Directory, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("intents directory %s: %w", path, err)
	}
	d := &Directory{path: abs, log: log, files: map[string]*watchedFile{}, poll: pollEvery, onFault: func(Fault) {}}
	if _, err := d.read(); err != nil {
		return nil, err
	}
	d.inForce = d.usable()
	d.current.Store(CatalogOf(d.inForce))
	return d, nil
}

// Catalog returns the catalogue of now.
func (d *Directory) Catalog() *Catalog { return d.current.Load() }

// Watch follows changes of the directory until ctx is done, and calls onChange
// (which may be nil) with each new catalogue, one call at a time. An edit that
// changes no intent makes no new catalogue. A file that is broken by an edit
// keeps its last good version, a deleted one goes, and while the directory
// itself is away everything stays as it was. onFault (which may be nil as well)
// is told what is wrong with a file that has changed.
func (d *Directory) Watch(ctx context.Context, onChange func(*Catalog), onFault func(Fault)) {
	if onFault != nil {
		d.onFault = onFault
	}
	w := newNotifier(d.path)
	defer w.close()
	poll := d.poll
	if w.err != nil {
		d.log.WarnContext(ctx, "file watch failed, polling the intents directory",
			slog.String("dir", d.path), slog.Any("error", w.err))
		poll = min(poll, pollAlone)
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()

	// Something may have happened between OpenDirectory and here.
	d.refresh(ctx, onChange)

	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	var firstUnread time.Time // zero when there is nothing to read
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-w.events():
			switch {
			case !ok:
				w.close()
				continue
			case !w.concerns(event):
				continue
			}
			now := time.Now()
			if firstUnread.IsZero() {
				firstUnread = now
			}
			quiet.Reset(max(0, min(settle, settleAtMost-now.Sub(firstUnread))))
		case err, ok := <-w.errors():
			if !ok {
				w.close()
				continue
			}
			// Events were lost; reading the directory makes up for them.
			d.log.DebugContext(ctx, "file watch lost events", slog.String("dir", d.path), slog.Any("error", err))
			quiet.Reset(settle)
		case <-quiet.C:
			firstUnread = time.Time{}
			d.refresh(ctx, onChange)
		case <-ticker.C:
			if d.refresh(ctx, onChange) || w.incomplete() {
				// The notifications have missed something: they may be those of
				// a directory that is no longer at this path.
				_ = w.rearm()
				quiet.Reset(settle)
			}
		}
	}
}

// refresh reads the directory and applies what has changed. It reports
// whether any file has changed.
func (d *Directory) refresh(ctx context.Context, onChange func(*Catalog)) (changed bool) {
	changed, err := d.read()
	if err != nil {
		if !d.missing {
			d.missing = true
			d.log.WarnContext(ctx, "intents directory unreadable, keeping the intents in use",
				slog.String("dir", d.path), slog.Any("error", err))
		}
		return false
	}
	if d.missing {
		d.missing = false
		changed = true
		d.log.InfoContext(ctx, "intents directory readable again", slog.String("dir", d.path))
	}
	if !changed {
		return false
	}
	files := d.usable()
	if slices.EqualFunc(files, d.inForce, sameIntent) {
		return true
	}
	d.inForce = files
	catalog := CatalogOf(files)
	d.current.Store(catalog)
	d.log.InfoContext(ctx, "intents changed", slog.String("dir", d.path), slog.Int("intents", len(catalog.Enabled())))
	if onChange != nil {
		onChange(catalog)
	}
	return true
}

func sameIntent(a, b File) bool {
	return a.Name == b.Name && a.Enabled == b.Enabled &&
		a.Intent.ID == b.Intent.ID && a.Intent.Name == b.Intent.Name && a.Intent.Prompt == b.Intent.Prompt &&
		slices.Equal(a.Intent.Triggers, b.Intent.Triggers) && slices.Equal(a.Intent.Examples, b.Intent.Examples)
}

// read brings d.files up to date and reports whether anything has changed.
func (d *Directory) read() (changed bool, err error) {
	before, err := os.Stat(d.path)
	if err != nil {
		return false, fmt.Errorf("intents directory %s: %w", d.path, err)
	}
	fsys := os.DirFS(d.path)
	names, err := fileNames(fsys)
	if err != nil {
		return false, fmt.Errorf("intents directory %s: %w", d.path, err)
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		data, err := readFile(fsys, name)
		if errors.Is(err, os.ErrNotExist) && !d.isLink(name) {
			continue // deleted since the directory was listed
		}
		there[name] = true
		changed = d.take(name, data, err) || changed
	}
	if after, err := os.Stat(d.path); err != nil || !os.SameFile(before, after) {
		// It was moved away while it was read: what is not there was not
		// deleted.
		return false, fmt.Errorf("intents directory %s: %w", d.path, errMoved)
	}
	for name := range d.files {
		if !there[name] {
			delete(d.files, name)
			changed = true
		}
	}
	return changed, nil
}

// take brings one file up to date, given its content or why that could not be
// read, and reports whether it has changed.
func (d *Directory) take(name string, data []byte, err error) (changed bool) {
	f := d.files[name]
	if f == nil {
		f = &watchedFile{}
		d.files[name] = f
	} else if f.isUnchanged(data, err) {
		return false
	}
	if err != nil {
		f.failed = err.Error()
		d.warn(f, Fault{File: name, Line: 1, Reason: err.Error()})
		return true
	}
	f.failed, f.sum = "", sha256.Sum256(data)
	file, faults := Parse(name, data)
	if !HasErrors(faults) {
		f.good = &file
		return true
	}
	for _, fault := range faults {
		if fault.Severity == Error {
			d.warn(f, fault)
		}
	}
	return true
}

var errMoved = errors.New("directory moved or replaced")

func (f *watchedFile) isUnchanged(data []byte, err error) bool {
	if err != nil {
		return f.failed == err.Error()
	}
	return f.failed == "" && f.sum == sha256.Sum256(data)
}

// isLink reports whether a name is still there, as that of a link to nowhere.
func (d *Directory) isLink(name string) bool {
	_, err := os.Lstat(filepath.Join(d.path, name))
	return err == nil
}

func (d *Directory) warn(f *watchedFile, fault Fault) {
	message := "intent file skipped"
	if f.good != nil {
		message = "intent file broken, keeping its last good version"
	}
	d.onFault(fault)
	d.log.Warn(message, slog.String("file", filepath.Join(d.path, fault.File)), slog.Int("line", fault.Line), slog.String("reason", fault.Reason))
}

// usable returns the last good versions of the files, without those whose id a
// later file has.
func (d *Directory) usable() []File {
	files := make([]File, 0, len(d.files))
	for _, f := range d.files {
		if f.good != nil {
			files = append(files, *f.good)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
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
	return files
}
