package index

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	"intenthint/knowhub/experience"
)

// Index is a searchable copy of the bucket. It is safe for concurrent use.
//
// Many calls read and one writes. A writer holds writing, works out the terms of a
// change, and holds mu only while it puts them in place, some ten microseconds for one
// experience. A reader holds mu for a search. Entries are not changed but replaced, so
// they are read without a lock once they have been found. Lock order: writing, mu.
type Index struct {
	writing sync.Mutex

	mu       sync.RWMutex // guards what follows; a writer may read without it
	bucket   string
	revision uint64
	keys     map[string]int // row by key of the bucket, noRow for one without an experience
	rows     []row
	free     []int // rows without an entry
	counts   map[experience.Status]int
	terms    map[string]*term
	words    names // the terms without digits
	numbered names // those with digits
	endings  names // those that may be compounds, from their end on
	vectors  int   // rows with a vector
}

// noRow stands for the key of an experience that was removed.
const noRow = -1

// row is the place of an experience. entry is nil for a free one.
type row struct {
	*entry
	agent    unique.Handle[string]
	approved bool
	meaning  *Vector // of the entry's text; nil if not known, or meaningless
}

type entry struct {
	experience.Experience
	revision uint64
}

// newEntry returns the entry of a change. Texts that many experiences share are kept once.
func newEntry(c experience.Change) *entry {
	e := &entry{c.Experience, c.Revision}
	e.ID = strings.Clone(c.ID) // it may be a part of a subject
	e.Status = experience.Status(shared(string(e.Status)))
	e.AgentID, e.SubmittedBy, e.SessionKey = shared(e.AgentID), shared(e.SubmittedBy), shared(e.SessionKey)
	return e
}

func shared(s string) string { return unique.Make(s).Value() }

// copied returns the experience for a caller, who may change it.
func (e *entry) copied() experience.Experience {
	out := e.Experience
	out.Flags = slices.Clone(e.Flags)
	return out
}

// New returns an empty index, which is a copy of no bucket.
func New() *Index {
	x := &Index{}
	x.clear("")
	return x
}

func (x *Index) clear(bucket string) {
	x.bucket, x.revision = bucket, 0
	x.keys, x.rows, x.free = make(map[string]int), nil, nil
	x.counts = map[experience.Status]int{experience.Pending: 0, experience.Approved: 0, experience.Rejected: 0}
	x.terms, x.words, x.numbered, x.vectors = make(map[string]*term), names{}, names{}, 0
	x.endings = names{}
}

// Reset empties the index. From now on it is a copy of bucket, at revision 0.
func (x *Index) Reset(bucket string) {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clear(bucket)
}

// Place returns the bucket that the index is a copy of, "" for none, and the revision
// that it has reached.
func (x *Index) Place() (bucket string, revision uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.bucket, x.revision
}

// Held returns how many keys of the bucket the index knows: its experiences, and keys
// that were removed.
func (x *Index) Held() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return uint64(len(x.keys))
}

// Knows reports whether the bucket has, or had, an entry with this key.
func (x *Index) Knows(key string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.keys[key]
	return ok
}

// Apply applies changes in the order of their revisions. Changes that the copy already
// has are ignored.
func (x *Index) Apply(changes []experience.Change) {
	x.writing.Lock()
	defer x.writing.Unlock()
	for _, c := range changes {
		if c.Revision > x.revision {
			x.take(c, c.Revision)
		}
	}
}

// Put applies a change of this process before [Index.Apply] receives it and the changes
// before it. The revision of the copy therefore does not move. A change that is older
// than the copy's entry is ignored.
func (x *Index) Put(c experience.Change) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if c.Revision > x.revision {
		x.take(c, x.revision)
	}
}

// take applies a change, and moves the copy to a revision. writing is held.
func (x *Index) take(c experience.Change, to uint64) {
	n, known := x.keys[c.ID]
	var old, now *entry
	if known && n != noRow {
		old = x.rows[n].entry
	}
	newer := old == nil || c.Revision > old.revision // see [Index.Put]
	if !c.Removed {
		now = newEntry(c)
	}
	var was, is map[string]byte
	if newer && !sameText(old, now) {
		was, is = impacts(old), impacts(now)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.revision = to; !newer {
		return
	}
	switch {
	case now == nil && old == nil:
		x.keys[c.ID] = noRow
		return
	case now == nil:
		x.keys[c.ID] = noRow
		x.free = append(x.free, n)
	case old == nil:
		n = x.newRow()
		x.keys[now.ID] = n
	}
	if old != nil {
		x.counts[old.Status]--
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			x.dropPosting(name, n)
		}
	}
	for name, impact := range is {
		x.setPosting(name, n, impact)
	}
	meaning := x.rows[n].meaning
	if !sameText(old, now) {
		if x.rows[n].vector() != nil {
			x.vectors--
		}
		meaning = nil
	}
	x.rows[n] = row{entry: now, meaning: meaning}
	if now != nil {
		x.counts[now.Status]++
		x.rows[n].agent, x.rows[n].approved = unique.Make(now.AgentID), now.Status == experience.Approved
	}
}

// newRow returns the number of a free row.
func (x *Index) newRow() int {
	if last := len(x.free) - 1; last >= 0 {
		n := x.free[last]
		x.free = x.free[:last]
		return n
	}
	x.rows = append(x.rows, row{})
	return len(x.rows) - 1
}

// sameText reports whether two entries have the same terms.
func sameText(a, b *entry) bool {
	return a == b || a != nil && b != nil && a.Task == b.Task && a.Resource == b.Resource && a.Result == b.Result
}

// size returns the number of experiences.
func (x *Index) size() int { return len(x.rows) - len(x.free) }

// Get returns the experience with an id; ok is false if there is none.
func (x *Index) Get(id string) (e experience.Experience, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n, ok := x.keys[id]
	if !ok || n == noRow {
		return e, false
	}
	return x.rows[n].copied(), true
}

// All returns all experiences, in no order. They must not be changed.
func (x *Index) All() []*experience.Experience {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := make([]*experience.Experience, 0, x.size())
	for _, r := range x.rows {
		if r.entry != nil {
			all = append(all, &r.Experience)
		}
	}
	return all
}

// Counts returns how many experiences there are of each status.
func (x *Index) Counts() map[experience.Status]int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.counts)
}

// Lengths of a list, in experiences: if no limit is given, and at most.
const (
	defaultList = 50
	maxList     = 1000
)

// List returns the experiences of a status, newest first, those that come after one;
// with its zero value from the newest on. They are at most limit, 50 if limit is not
// positive, and never more than 1000.
func (x *Index) List(status experience.Status, after experience.Experience, limit int) []experience.Experience {
	newest := top[*entry]{most: bound(limit, defaultList, maxList), order: func(a, b *entry) int {
		return later(&b.Experience, &a.Experience)
	}}
	x.mu.RLock()
	for _, r := range slices.Backward(x.rows) { // mostly the newest first, so most others are not kept
		if r.entry != nil && r.Status == status && (after.ID == "" || later(&r.Experience, &after) < 0) {
			newest.add(r.entry)
		}
	}
	x.mu.RUnlock()
	var list []experience.Experience
	for _, e := range newest.sorted() {
		list = append(list, e.copied())
	}
	return list
}

// later compares two experiences by their time, then by their id.
func later(a, b *experience.Experience) int {
	return cmp.Or(cmp.Compare(a.CreatedAt.UnixMilli(), b.CreatedAt.UnixMilli()), cmp.Compare(a.ID, b.ID))
}

// bound returns limit, but at most most; usual if limit is not positive.
func bound(limit, usual, most int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, most)
}
