package file

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"intenthint/store"
)

// archive is the .history.jsonl of one session during one Apply. The file is
// checked only when a fact needs it, and read only when it has changed.
type archive struct {
	ctx   context.Context //nolint:containedctx // an archive lives as long as the Apply call
	store *Store
	token string
	index *index
	// oldest is when the oldest turn of the document began.
	oldest store.Key
	// lost reports whether the file was damaged and was set aside.
	lost bool
}

// index holds the positions of the turns in a .history.jsonl.
type index struct {
	info  os.FileInfo // nil: no such file
	size  int64       // bytes read so far
	byRun map[string]*line
	order []*line // by the beginning of the turn
	// reason is why the file cannot be read in full; nil if it can.
	reason error
}

// line is the last line of a run.
type line struct {
	run    string
	begin  store.Key
	offset int64
	length int
}

// Run implements [store.Archive].
func (a *archive) Run(run string) (json.RawMessage, error) {
	if err := a.refresh(); err != nil {
		return nil, err
	}
	return a.read(a.index.byRun[run])
}

// Before implements [store.Archive].
func (a *archive) Before(key store.Key) (json.RawMessage, error) {
	if err := a.refresh(); err != nil {
		return nil, err
	}
	i := a.index.search(key)
	if i == 0 {
		return nil, nil
	}
	return a.read(a.index.order[i-1])
}

func newIndex() *index { return &index{byRun: map[string]*line{}} }

// bytes estimates the memory that the index takes.
func (x *index) bytes() int64 { return int64(256 * (len(x.order) + 1)) }

// search returns the position of the first turn that did not begin before key.
func (x *index) search(key store.Key) int {
	i, _ := slices.BinarySearchFunc(x.order, key, func(l *line, k store.Key) int { return l.begin.Compare(k) })
	return i
}

func (x *index) add(l *line) {
	if old := x.byRun[l.run]; old != nil {
		x.order = slices.DeleteFunc(x.order, func(o *line) bool { return o == old })
	}
	x.byRun[l.run] = l
	x.order = slices.Insert(x.order, x.search(l.begin), l)
}

func (a *archive) path() string { return a.store.path(a.token, historySuffix) }

func (a *archive) read(l *line) (json.RawMessage, error) {
	if l == nil {
		return nil, nil
	}
	f, err := os.Open(a.path())
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	raw := make([]byte, l.length)
	if _, err := f.ReadAt(raw, l.offset); err != nil {
		return nil, err
	}
	return raw, nil
}

// refresh brings the index up to date with the file, once per Apply: the
// session is locked.
func (a *archive) refresh() error {
	if a.index != nil {
		return nil
	}
	info, err := stat(a.path())
	if err != nil {
		return err
	}
	x, ok := a.store.indexes.Get(a.token)
	switch {
	case ok && same(x.info, info):
	case ok && info != nil && x.info != nil && os.SameFile(x.info, info) && info.Size() > x.size:
		if err = a.scan(x, info); err == nil && x.reason == nil {
			break
		}
		// The file may have been changed other than by appending.
		fallthrough
	default:
		x = newIndex()
		if info != nil {
			err = a.scan(x, info)
		}
	}
	if err == nil && x.reason != nil {
		x, err = a.mend(x)
	}
	if err != nil {
		a.store.indexes.Remove(a.token)
		return err
	}
	a.index = x
	if x.info != nil {
		a.store.indexes.Put(a.token, x, x.bytes())
	}
	return nil
}

// scan reads the lines that are not in the index yet.
func (a *archive) scan(x *index, info os.FileInfo) error {
	f, err := os.Open(a.path())
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	x.info = info
	return x.scan(f)
}

func (x *index) scan(f *os.File) error {
	if x.size > 0 {
		var end [1]byte
		if _, err := f.ReadAt(end[:], x.size-1); err != nil || end[0] != '\n' {
			x.spoilt(errNoEnd) // the last line read has no end any more
			return err
		}
	}
	if _, err := f.Seek(x.size, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		raw, err := r.ReadBytes('\n')
		if len(raw) > 0 {
			x.take(raw)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if x.size == 0 {
		x.spoilt(errEmpty)
	}
	return nil
}

// take adds the next line of the file.
func (x *index) take(raw []byte) {
	offset := x.size
	x.size += int64(len(raw))
	if raw[len(raw)-1] != '\n' {
		x.spoilt(errNoEnd)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return
	}
	t, err := store.DecodeTurn(raw)
	if err != nil {
		x.spoilt(fmt.Errorf("at byte %d: %w", offset, err))
		return
	}
	x.add(&line{run: t.RunID, begin: t.Begin, offset: offset, length: len(raw)})
}

// spoilt records why the file cannot be read in full.
func (x *index) spoilt(reason error) { x.reason = cmp.Or(x.reason, reason) }

// mend replaces a damaged file by its readable turns. If the last line of a run
// is unreadable, an earlier one counts; facts that have since moved to a later
// turn are removed from it.
func (a *archive) mend(x *index) (*index, error) {
	a.lost = true
	var lines []byte
	for i, l := range x.order {
		raw, err := a.read(l)
		if err == nil && i+1 < len(x.order) {
			raw, err = store.CutTurn(raw, x.order[i+1].begin)
		}
		if err == nil && l.begin.Before(a.oldest) {
			raw, err = store.CutTurn(raw, a.oldest)
		}
		if err != nil {
			return nil, err
		}
		lines = append(append(lines, raw...), '\n')
	}
	info, err := a.store.mend(a.ctx, a.token, historySuffix, lines, x.reason)
	if err != nil {
		return nil, err
	}
	mended := newIndex()
	mended.info = info
	for raw := range bytes.Lines(lines) {
		mended.take(raw)
	}
	return mended, nil
}

// append adds turns to the end of the file.
func (a *archive) append(turns []json.RawMessage) error {
	if err := a.refresh(); err != nil {
		return err
	}
	x := a.index
	var data []byte
	for _, raw := range turns {
		data = append(data, raw...)
		data = append(data, '\n')
	}
	info, err := a.store.appendTo(a.path(), data)
	if err != nil {
		return err
	}
	if x.info == nil && info.Size() != int64(len(data)) || x.info != nil && info.Size() != x.size+int64(len(data)) {
		// Another process has written to the file: read it again when needed.
		a.store.indexes.Remove(a.token)
		return nil
	}
	for raw := range bytes.Lines(data) {
		x.take(raw)
	}
	x.info = info
	a.store.indexes.Put(a.token, x, x.bytes())
	return nil
}
