package file

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"

	"intenthint/store"
)

// archive is the .history.jsonl of one session during one Apply. The file is
// looked at only when a fact needs it, and read only when it has changed.
type archive struct {
	ctx   context.Context //nolint:containedctx // the call's: an archive lives as long as one Apply
	store *Store
	token string
	index *index
}

// index says where the turns stand in a .history.jsonl.
type index struct {
	info  os.FileInfo // nil: no such file
	size  int64       // bytes read so far
	torn  bool        // the last line has no end
	byRun map[string]*line
	order []*line // by the beginning of the turn
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

// bytes is about what the index takes in memory.
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

// refresh makes the index that of the file as it is now, once an Apply: the
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
	case ok && info != nil && x.info != nil && os.SameFile(x.info, info) && info.Size() > x.size && !x.torn:
		err = a.scan(x, info)
	default:
		x = newIndex()
		if info != nil {
			err = a.scan(x, info)
		}
	}
	if err != nil {
		return err
	}
	a.index = x
	if x.info != nil {
		a.store.indexes.Put(a.token, x, x.bytes())
	}
	return nil
}

// scan reads the lines that the index does not have yet.
func (a *archive) scan(x *index, info os.FileInfo) error {
	f, err := os.Open(a.path())
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if _, err := f.Seek(x.size, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		raw, err := r.ReadBytes('\n')
		if len(raw) > 0 {
			a.take(x, raw)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	x.info = info
	return nil
}

// take adds one line, which is the next in the file, to the index.
func (a *archive) take(x *index, raw []byte) {
	offset := x.size
	x.size += int64(len(raw))
	x.torn = raw[len(raw)-1] != '\n'
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return
	}
	t, err := store.DecodeTurn(raw)
	if err != nil {
		a.store.log.WarnContext(a.ctx, "line of session history is corrupt, leaving it out",
			"session", a.token, "offset", offset, "error", err)
		return
	}
	x.add(&line{run: t.RunID, begin: t.Begin, offset: offset, length: len(raw)})
}

// append adds turns to the end of the file.
func (a *archive) append(turns []json.RawMessage) error {
	if err := a.refresh(); err != nil {
		return err
	}
	x := a.index
	var data []byte
	if x.torn {
		data = append(data, '\n')
	}
	for _, raw := range turns {
		data = append(data, raw...)
		data = append(data, '\n')
	}
	info, err := a.store.appendTo(a.path(), data)
	if err != nil {
		return err
	}
	if x.info == nil && info.Size() != int64(len(data)) || x.info != nil && info.Size() != x.size+int64(len(data)) {
		// Somebody else has written to it: read it again when it is needed.
		a.store.indexes.Remove(a.token)
		return nil
	}
	for raw := range bytes.Lines(data) {
		a.take(x, raw)
	}
	x.info = info
	a.store.indexes.Put(a.token, x, x.bytes())
	return nil
}
