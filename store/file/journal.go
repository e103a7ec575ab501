package file

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"intenthint/store"
)

// journal is the content of a pending file.
type journal struct {
	ids   map[string]struct{} // by event id
	lines int
	last  []byte // the last line
}

// keep makes the journal hold the waiting facts. New facts are appended: a run
// that never becomes a turn costs one short write per event.
func (s *Store) keep(token string, e *entry) error {
	waiting, path := e.doc.Waiting(), s.path(token, pendingSuffix)
	if len(waiting) == 0 {
		if e.pending != nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		e.pending, e.journal = nil, journal{}
		return nil
	}
	added := slices.Collect(func(yield func(store.Fact) bool) {
		for _, f := range waiting {
			if _, ok := e.journal.ids[f.ID]; !ok && !yield(f) {
				return
			}
		}
	})
	const slack = 64 // outdated lines that are not worth a new file
	anew := e.journal.lines+len(added) > 2*len(waiting)+slack
	if anew {
		added, e.journal = waiting, journal{}
	}
	if len(added) == 0 {
		return nil
	}
	lines, err := e.journal.add(added)
	if err != nil {
		return err
	}
	if anew {
		e.pending, err = s.replace(path, lines)
	} else {
		e.pending, err = s.appendTo(path, lines)
	}
	return err
}

// readMore reads the lines that another process has appended to the journal. ok
// is false if the file has changed in any other way.
func (s *Store) readMore(token string, e *entry, pending os.FileInfo) ([]store.Fact, bool) {
	if e.pending == nil || pending == nil || !os.SameFile(e.pending, pending) || pending.Size() <= e.pending.Size() {
		return nil, false
	}
	f, err := os.Open(s.path(token, pendingSuffix))
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // only read
	// A new file may have got the inode number of the old one. It is the same
	// file if the last line read is still in its place.
	from := e.pending.Size() - int64(len(e.journal.last))
	data := make([]byte, pending.Size()-from)
	if _, err := f.ReadAt(data, from); err != nil {
		return nil, false
	}
	added, ok := bytes.CutPrefix(data, e.journal.last)
	if !ok {
		return nil, false
	}
	e.pending = pending
	facts, err := e.journal.read(added)
	return facts, err == nil
}

// mendJournal replaces a damaged journal by its readable facts.
func (s *Store) mendJournal(ctx context.Context, token string, e *entry, facts []store.Fact, reason error) error {
	e.lost, e.journal = true, journal{}
	lines, err := e.journal.add(facts)
	if err == nil {
		e.pending, err = s.mend(ctx, token, pendingSuffix, lines, reason)
	}
	return err
}

// read takes the next lines of the file. It returns an error along with the
// readable facts if some lines are not waiting facts.
func (j *journal) read(data []byte) (facts []store.Fact, err error) {
	if len(data) == 0 {
		err = errEmpty
	}
	for line := range bytes.Lines(data) {
		j.last = bytes.Clone(line)
		var f store.Fact
		failure := json.Unmarshal(line, &f)
		switch {
		case failure != nil:
		case f.Call == nil && f.End == nil && f.Feedback == nil && f.Use == nil && f.Close == nil:
			failure = errors.New("line is not a waiting fact")
		case line[len(line)-1] != '\n':
			failure = errNoEnd
			fallthrough
		default:
			facts = append(facts, f)
			j.note(f.ID)
		}
		err = cmp.Or(err, failure)
	}
	return facts, err
}

// note records that the fact is in the file.
func (j *journal) note(id string) {
	if j.ids == nil {
		j.ids = map[string]struct{}{}
	}
	j.ids[id] = struct{}{}
	j.lines++
}

// add returns the lines of facts and records the facts.
func (j *journal) add(facts []store.Fact) ([]byte, error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, f := range facts {
		start := lines.Len()
		if err := enc.Encode(f); err != nil {
			return nil, err
		}
		j.last = bytes.Clone(lines.Bytes()[start:])
		j.note(f.ID)
	}
	return lines.Bytes(), nil
}
