package table

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"intenthint/knowhub/experience"
)

// Experiences are the experiences to write; [index.Index] has them.
type Experiences interface {
	// All returns all experiences, in no order.
	All() []*experience.Experience
	// Get returns the experience with an id; ok is false if there is none.
	Get(id string) (e experience.Experience, ok bool)
	// Knows reports whether an id has, or had, an experience.
	Knows(id string) bool
}

// Options configure a [Table].
type Options struct {
	// Path is the file.
	Path        string
	Experiences Experiences
	// Ready reports whether the experiences are complete. Before, nothing is written.
	Ready func() bool
	Log   *slog.Logger

	// For tests: how often changes are written; 0 means a second.
	Pause time.Duration
}

// Table keeps the file in step with the experiences. It is safe for concurrent use.
type Table struct {
	o    Options
	lock *flock.Flock // held by the process that writes

	written os.FileInfo // the file as it was last written, nil for none; for Run alone

	mu      sync.Mutex // guards what follows
	changed map[string]bool
	fault   error
}

const (
	// writePause is how often changes are written.
	writePause = time.Second
	// retryPause is how long a failed write is left alone: the next one writes all.
	retryPause = 5 * time.Second
	// endTime bounds how long the last write may take.
	endTime = 5 * time.Second
)

// New returns a table that is written once [Table.Run] is called.
func New(o Options) *Table {
	return &Table{o: o, lock: flock.New(o.Path+".lock", flock.SetPermissions(0o600)), changed: map[string]bool{}}
}

// Changed has the row of an experience written again, or removed.
func (t *Table) Changed(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[id] = true
}

// Renew has all rows written again.
func (t *Table) Renew() { t.Changed(allRows) }

// allRows stands for all ids in changed.
const allRows = ""

// Fault returns why the file cannot be written, nil if it can.
func (t *Table) Fault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fault
}

// Run writes the table until ctx ends, and then once more what has changed.
func (t *Table) Run(ctx context.Context) {
	defer func() { _ = t.lock.Close() }()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
			defer cancel()
			t.step(last)
			return
		case <-next.C:
			next.Reset(t.step(ctx))
		}
	}
}

// step writes what has changed. It returns the pause before the next step.
func (t *Table) step(ctx context.Context) time.Duration {
	err := t.write(ctx)
	if err != nil && ctx.Err() != nil {
		t.written = nil
		return 0
	}
	t.mu.Lock()
	known := t.fault != nil
	t.fault = err
	t.mu.Unlock()
	if err == nil {
		return cmp.Or(t.o.Pause, writePause)
	}
	t.written = nil
	if !known {
		t.o.Log.Warn("table of experiences not written, will retry", "file", t.o.Path, "error", err)
	}
	return retryPause
}

func (t *Table) write(ctx context.Context) error {
	if !t.o.Ready() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(t.o.Path), 0o750); err != nil {
		return fmt.Errorf("table of experiences: %w", err)
	}
	mine, err := t.lock.TryLock()
	if err != nil {
		return fmt.Errorf("table of experiences: lock: %w", err)
	}
	t.mu.Lock()
	changed := t.changed
	t.changed = map[string]bool{}
	t.mu.Unlock()
	switch {
	case !mine: // whoever gets the lock writes all
		return nil
	case changed[allRows] || t.written == nil:
		t.nameMissing(ctx)
		err = t.replace(ctx)
	case !t.untouched():
		err = t.replace(ctx)
	case len(changed) > 0:
		err = t.update(ctx, slices.Collect(maps.Keys(changed)))
	default:
		return nil
	}
	if err == nil {
		t.written, err = os.Stat(t.o.Path)
	}
	if err != nil {
		return fmt.Errorf("table of experiences %s: %w", t.o.Path, err)
	}
	return nil
}

// nameMissing logs how many experiences of the file are gone without a trace, as after a
// purge of the bucket's stream: a deletion leaves a marker. The file is about to be
// replaced.
func (t *Table) nameMissing(ctx context.Context) {
	missing := 0
	// A file that cannot be read says nothing.
	_ = eachID(ctx, t.o.Path, func(id string) {
		if !t.o.Experiences.Knows(id) {
			missing++
		}
	})
	if missing > 0 {
		t.o.Log.Warn("experiences are missing that the bucket held before", "missing", missing, "held", len(t.o.Experiences.All()), "file", t.o.Path)
	}
}

// untouched reports whether the file is as it was last written.
func (t *Table) untouched() bool {
	now, err := os.Stat(t.o.Path)
	return err == nil && os.SameFile(now, t.written) && now.Size() == t.written.Size() && now.ModTime().Equal(t.written.ModTime())
}
