// Package file keeps sessions as files in one directory (contract §8), which
// several processes may share. Beside <token>.json there may stand
//
//   - <token>.history.jsonl: turns that were retired from the session file, one
//     a line; the last line of a run id counts.
//   - <token>.pending: a journal of facts, one a line, that no turn shows yet.
//   - <token>.corrupt-<unix ms>: a session file that was none; likewise
//     <token>.history.jsonl.corrupt-… and <token>.pending.corrupt-….
//   - .source: the event stream that the sessions are made of.
//   - .lost: the sessions that are to be made again.
//
// What was applied survives the death of the process and of the machine: files
// are synced to the disk before their events are acknowledged. What was not
// acknowledged comes again.
package file

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"intenthint/store"
	"intenthint/store/internal/lru"
	"intenthint/subjects"
)

// Suffixes of what belongs to a session. Only session files end in .json.
const (
	sessionSuffix = ".json"
	historySuffix = ".history.jsonl"
	pendingSuffix = ".pending"
	corruptPrefix = ".corrupt-"
)

const (
	outlineCacheBytes = 8 << 20
	indexCacheBytes   = 16 << 20
)

// Store is a [store.Store] of files. It is safe for concurrent use, also by
// several processes.
type Store struct {
	dir     string
	limit   int
	log     *slog.Logger
	now     func() time.Time
	lost    func(token string)
	shards  [shardCount]shard
	entries *lru.Cache[*entry]
	// outlines are there for longer than the entries.
	outlines *lru.Cache[*outline]
	indexes  *lru.Cache[*index]
	disk     disk
	spares   spares
}

var _ store.Store = (*Store)(nil)

// entry is a session in memory, valid while its files are the ones it was made
// of.
type entry struct {
	doc              *store.Document
	session, pending os.FileInfo // nil: no such file
	// journal is the content of the pending file.
	journal journal
	outline *outline // nil: not written by this process
	// lost: something of the session could not be read and was set aside.
	lost bool
}

// bytes is about what the entry takes in memory.
func (e *entry) bytes() int64 {
	n := int64(e.doc.DecodedBytes() + 2<<10)
	for _, info := range []os.FileInfo{e.session, e.pending} {
		if info != nil {
			n += info.Size()
		}
	}
	return n
}

// outline is what is kept of a session file that this process wrote.
type outline struct {
	store.Outline
	session os.FileInfo
}

// journal says what stands in a pending file.
type journal struct {
	ids   map[string]struct{} // by event id
	lines int
	last  []byte // the last line
}

// Open opens the store in dir and creates the directory (mode 0700) when it is
// not there.
func Open(dir string, opts store.Options) (*Store, error) {
	opts = opts.WithDefaults()
	s := &Store{dir: dir, limit: opts.HistoryLimit, log: opts.Logger, now: opts.Now, lost: opts.Lost}
	var err error
	if s.entries, err = lru.New[*entry](opts.CacheBytes); err != nil {
		return nil, err
	}
	if s.outlines, err = lru.New[*outline](outlineCacheBytes); err != nil {
		return nil, err
	}
	if s.indexes, err = lru.New[*index](indexCacheBytes); err != nil {
		return nil, err
	}
	if err := s.makeDirs(); err != nil {
		return nil, fmt.Errorf("open session store: %w", err)
	}
	s.disk = newDisk(dir)
	for i := range s.shards {
		s.shards[i].init(s.lockPath(i))
	}
	return s, nil
}

// Dir is the directory of the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) makeDirs() error {
	for _, dir := range []string{lockDir, tempDir, lostDir} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) path(token, suffix string) string {
	return filepath.Join(s.dir, token+suffix)
}

// Apply implements [store.Applier].
func (s *Store) Apply(ctx context.Context, facts []store.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	session, err := store.SessionOf(facts)
	if err != nil {
		return err
	}
	token := subjects.Name(session)
	lost, err := s.locked(ctx, token, facts)
	if lost {
		s.lost(token)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("apply to session %s: %w", token, err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return noRoomError{err}
	}
	return err
}

// noRoomError is an error of a disk on which there is no room, for what was to
// be written at least.
type noRoomError struct{ error }

func (e noRoomError) Unwrap() error { return e.error }

// Temporary says that it is not the fault of what was to be written.
func (noRoomError) Temporary() bool { return true }

// locked applies facts with the session locked. It says whether the session
// was lost before that, also after an error.
func (s *Store) locked(ctx context.Context, token string, facts []store.Fact) (lost bool, err error) {
	unlock, err := s.lock(ctx, token)
	if err != nil {
		return false, err
	}
	defer unlock()
	written := false
	defer func() {
		if !written { // also after a panic: what is in memory is ahead of the files
			s.forget(token)
		}
	}()
	e, pending, err := s.load(ctx, token)
	if err == nil {
		err = s.apply(ctx, token, e, slices.Concat(pending, facts))
	}
	if e != nil {
		lost, e.lost = e.lost, false
	}
	written = err == nil
	if !s.shard(token).current() {
		// The directory has vanished meanwhile, and with it what kept others
		// from the session: one may have written over the other.
		s.forget(token)
		return true, errors.Join(err, s.MarkLost(ctx, token))
	}
	return lost, err
}

// forget drops what is in memory of a session.
func (s *Store) forget(token string) {
	s.entries.Remove(token)
	s.outlines.Remove(token)
	s.indexes.Remove(token)
}

func (s *Store) apply(ctx context.Context, token string, e *entry, facts []store.Fact) error {
	archive := &archive{ctx: ctx, store: s, token: token}
	archive.oldest, _ = e.doc.Oldest()
	defer func() { e.lost = e.lost || archive.lost }()
	change, err := e.doc.Fold(facts, s.limit, archive)
	if err != nil {
		return err
	}
	// The order matters when the process dies in between: a retired turn is in
	// the archive before it leaves the session file, and a fact is in the
	// session file before it leaves the journal.
	if len(change.Retired) > 0 {
		if err := archive.append(change.Retired); err != nil {
			return err
		}
	}
	if change.Session && e.doc.Turns() > 0 {
		if err := s.write(token, e); err != nil {
			return err
		}
	}
	if change.Waiting {
		if err := s.keep(token, e); err != nil {
			return err
		}
	}
	s.entries.Put(token, e, e.bytes())
	return nil
}

// buffers are reused: a long session is a large file.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (s *Store) write(token string, e *entry) error {
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	raw, err := e.doc.AppendSession((*buf)[:0])
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	*buf = raw
	put := s.replace
	if e.session == nil {
		put = s.create
	}
	if e.session, err = put(s.path(token, sessionSuffix), raw); err != nil {
		return err
	}
	if e.outline == nil {
		e.outline = new(outline)
	}
	e.outline.session = e.session
	e.doc.Outline(&e.outline.Outline)
	s.outlines.Put(token, e.outline, e.outline.Bytes())
	return nil
}

// load returns the session as it is on disk. The facts are those of the
// journal, to be folded first; none when the session was in memory. After an
// error the session may be there to say that it was lost.
func (s *Store) load(ctx context.Context, token string) (*entry, []store.Fact, error) {
	session, err := stat(s.path(token, sessionSuffix))
	strange := errors.Is(err, errNotRegular)
	if strange {
		err = s.setAside(ctx, token, err)
	}
	if err != nil {
		return nil, nil, err
	}
	pending, err := stat(s.path(token, pendingSuffix))
	if err != nil {
		return nil, nil, err
	}
	cached, _ := s.entries.Get(token)
	if cached != nil && !strange && same(cached.session, session) {
		if same(cached.pending, pending) {
			return cached, nil, nil
		}
		if facts, ok := s.readMore(token, cached, pending); ok {
			return cached, facts, nil
		}
	}
	e := &entry{doc: &store.Document{}, session: session, pending: pending, lost: strange}
	if session != nil {
		if err := s.decode(ctx, token, e, cached); err != nil {
			return nil, nil, err
		}
	}
	if pending == nil {
		return e, nil, nil
	}
	data, err := os.ReadFile(s.path(token, pendingSuffix))
	if err != nil {
		return e, nil, err
	}
	facts, err := e.journal.read(data)
	if err != nil {
		err = s.mendJournal(ctx, token, e, facts, err)
	}
	return e, facts, err
}

// mendJournal puts the facts that could be read in the place of a journal that
// cannot be read in full.
func (s *Store) mendJournal(ctx context.Context, token string, e *entry, facts []store.Fact, reason error) error {
	e.lost, e.journal = true, journal{}
	lines, err := e.journal.add(facts)
	if err == nil {
		e.pending, err = s.mend(ctx, token, pendingSuffix, lines, reason)
	}
	return err
}

// decode reads the session file of an entry. A file that is none is set aside.
func (s *Store) decode(ctx context.Context, token string, e, cached *entry) error {
	data, err := os.ReadFile(s.path(token, sessionSuffix))
	if err != nil {
		return err
	}
	if o, ok := s.outlines.Get(token); ok && same(o.session, e.session) && int64(len(data)) == e.session.Size() {
		e.doc, e.outline = o.Document(data), o
		return nil
	}
	var earlier *store.Document
	if cached != nil {
		earlier = cached.doc
		s.entries.Remove(token)
	}
	doc, err := store.Redecode(data, earlier)
	switch {
	case err == nil:
		e.doc = doc
	case errors.Is(err, store.ErrCorrupt):
		if err := s.setAside(ctx, token, err); err != nil {
			return err
		}
		e.session, e.lost = nil, true
	default:
		return err
	}
	return nil
}

// readMore reads what another process has appended to the journal. It is not
// ok when that is not all that happened to it.
func (s *Store) readMore(token string, e *entry, pending os.FileInfo) ([]store.Fact, bool) {
	if e.pending == nil || pending == nil || !os.SameFile(e.pending, pending) || pending.Size() <= e.pending.Size() {
		return nil, false
	}
	f, err := os.Open(s.path(token, pendingSuffix))
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // only read
	// A new file may have got the number of the old one: it is the same if
	// it goes on after the same line.
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

func (s *Store) setAside(ctx context.Context, token string, reason error) error {
	if err := s.MarkLost(ctx, token); err != nil {
		return err
	}
	aside := s.aside(token)
	s.log.WarnContext(ctx, "session file is corrupt, setting it aside",
		"session", token, "as", aside, "error", reason)
	return os.Rename(s.path(token, sessionSuffix), s.path(aside, ""))
}

// aside is the name under which a file is kept that cannot be read.
func (s *Store) aside(name string) string {
	return fmt.Sprintf("%s%s%d", name, corruptPrefix, s.now().UnixMilli())
}

// mend sets a file of lines aside and puts those of them that can be read in
// its place; nil without an error when there are none.
func (s *Store) mend(ctx context.Context, token, suffix string, lines []byte, reason error) (info os.FileInfo, err error) {
	var temp string
	if len(lines) > 0 {
		// First of all, for want of room: it is tried again and again then.
		if temp, info, err = s.writeTemp(lines); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = os.Remove(temp)
			}
		}()
	}
	if err := s.MarkLost(ctx, token); err != nil {
		return nil, err
	}
	path, aside := s.path(token, suffix), s.aside(token+suffix)
	s.log.WarnContext(ctx, "a file of the session is corrupt, setting it aside and keeping the lines that can be read",
		"session", token, "as", aside, "error", reason)
	if temp == "" {
		return nil, os.Rename(path, s.path(aside, ""))
	}
	// The old file keeps its name until the new one takes it: the stream may
	// have no more what is in it. Not every file system has links.
	if os.Link(path, s.path(aside, "")) != nil {
		if err := os.Rename(path, s.path(aside, "")); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, err
	}
	return info, s.disk.names()
}

// read takes the next lines of the file. The error, beside the facts that it
// could read, says that some lines are none of facts that wait.
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
		case f.Call == nil && f.End == nil && f.Close == nil:
			failure = errors.New("a line is no fact that waits")
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

// note notes that the fact stands in the file.
func (j *journal) note(id string) {
	if j.ids == nil {
		j.ids = map[string]struct{}{}
	}
	j.ids[id] = struct{}{}
	j.lines++
}

// add returns the lines of facts, which it notes.
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

// keep makes the journal hold what waits. New facts are appended: a run that
// never becomes a turn costs one short write an event.
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

// Get implements [store.Reader]. It takes no lock: a session file is valid at
// every moment.
func (s *Store) Get(_ context.Context, session string) (json.RawMessage, error) {
	for _, token := range store.Tokens(session) {
		data, err := s.read(token)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", token, err)
		}
		if data = bytes.TrimSpace(data); !json.Valid(data) {
			return nil, fmt.Errorf("read session %s: %w", token, store.ErrCorrupt)
		}
		return data, nil
	}
	return nil, fmt.Errorf("%w: %q", store.ErrNotFound, session)
}

// List implements [store.Reader]. Files that cannot be read as sessions are
// left out with a warning.
func (s *Store) List(ctx context.Context) ([]store.Summary, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var out []store.Summary
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		token, ok := strings.CutSuffix(file.Name(), sessionSuffix)
		if !ok || !store.IsToken(token) {
			continue
		}
		summary, err := s.summarize(token)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			s.log.WarnContext(ctx, "session file cannot be listed", "session", token, "error", err)
			continue
		}
		out = append(out, summary)
	}
	slices.SortFunc(out, store.Summary.Compare)
	return out, nil
}

func (s *Store) summarize(token string) (store.Summary, error) {
	info, err := os.Stat(s.path(token, sessionSuffix))
	if err != nil {
		return store.Summary{}, err
	}
	data, err := s.read(token)
	if err != nil {
		return store.Summary{}, err
	}
	summary, err := store.Summarize(data)
	summary.Token, summary.Updated = token, info.ModTime()
	return summary, err
}

func (s *Store) read(token string) ([]byte, error) {
	path := s.path(token, sessionSuffix)
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, fs.ErrNotExist
	}
	return os.ReadFile(path)
}

// Retired returns the turns of a session that were retired from its document,
// oldest first, each as JSON; none when there are none. Lines that cannot be
// read are left out with a warning. Like Get it takes no lock.
func (s *Store) Retired(ctx context.Context, session string) ([]json.RawMessage, error) {
	for _, token := range store.Tokens(session) {
		turns, err := s.retired(ctx, token)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read history of session %s: %w", token, err)
		}
		return turns, nil
	}
	return nil, nil
}

func (s *Store) retired(ctx context.Context, token string) ([]json.RawMessage, error) {
	path := s.path(token, historySuffix)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, err
	}
	// Another file may take its place meanwhile.
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	x := newIndex()
	if err := x.scan(f); err != nil {
		return nil, err
	}
	if x.reason != nil {
		s.log.WarnContext(ctx, "history of a session is corrupt, showing what can be read", "session", token, "error", x.reason)
	}
	out := make([]json.RawMessage, 0, len(x.order))
	for _, l := range x.order {
		raw := make(json.RawMessage, l.length)
		if _, err := f.ReadAt(raw, l.offset); err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}
