package kv

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"intenthint/store"
	"intenthint/subjects"
)

// archive is the retired turns of one session during one Apply, each under its
// own key.
type archive struct {
	ctx   context.Context //nolint:containedctx // an archive lives as long as the Apply call
	store *Store
	token string
	// empty reports whether no turn of the session was ever retired.
	empty bool
	// runs caches the turns already looked up; nil for a missing one.
	runs map[string]json.RawMessage
	// index is set to the store's index once that is up to date.
	index *index
	// lost reports whether a turn was unreadable and was set aside.
	lost bool
}

// Run implements [store.Archive].
func (a *archive) Run(run string) (json.RawMessage, error) {
	if a.empty {
		return nil, nil
	}
	raw, ok := a.runs[run]
	if ok {
		return raw, nil
	}
	if a.index != nil {
		if _, ok := a.index.byRun[run]; !ok {
			return nil, nil
		}
	}
	r, err := a.store.bucket.read(a.ctx, a.token+turnKey+subjects.Name(run))
	if err == nil && r.data != nil {
		_, err = store.DecodeTurn(r.data)
	}
	if errors.Is(err, store.ErrCorrupt) {
		r.data, err = nil, a.setAside(r, err)
	}
	if err != nil {
		return nil, err
	}
	if a.runs == nil {
		a.runs = map[string]json.RawMessage{}
	}
	a.runs[run] = r.data
	return r.data, nil
}

func (a *archive) setAside(at record, reason error) error {
	a.lost = true
	return a.store.setTurnAside(a.ctx, a.token, at, reason)
}

// Before implements [store.Archive].
func (a *archive) Before(key store.Key) (json.RawMessage, error) {
	if a.empty {
		return nil, nil
	}
	if a.index == nil {
		x, ok := a.store.indexes.Get(a.token)
		if !ok {
			x = &index{byRun: map[string]place{}}
		}
		if err := a.refresh(x); err != nil {
			a.store.indexes.Remove(a.token)
			return nil, err
		}
		a.store.indexes.Put(a.token, x, x.bytes())
		a.index = x
	}
	for {
		i := a.index.search(key)
		if i == 0 {
			return nil, nil
		}
		last := a.index.order[i-1]
		raw, err := a.Run(last.run)
		if err != nil || raw != nil {
			return raw, err
		}
		// The turn was deleted with an earlier session of the same name.
		a.index.remove(last.run)
	}
}

// index holds the beginnings of the retired turns of a session.
type index struct {
	// seen is the highest revision in it.
	seen  uint64
	byRun map[string]place
	order []place // by the beginning
}

// place is the position of a turn in the order of turns.
type place struct {
	run   string
	begin store.Key
}

// bytes estimates the memory that the index takes.
func (x *index) bytes() int64 { return int64(256 * (len(x.order) + 1)) }

// search returns the position of the first turn that did not begin before key.
func (x *index) search(key store.Key) int {
	i, _ := slices.BinarySearchFunc(x.order, key, func(p place, k store.Key) int { return p.begin.Compare(k) })
	return i
}

func (x *index) add(run string, begin store.Key) {
	x.remove(run)
	p := place{run: run, begin: begin}
	x.byRun[run] = p
	x.order = slices.Insert(x.order, x.search(begin), p)
}

func (x *index) remove(run string) {
	p, ok := x.byRun[run]
	if !ok {
		return
	}
	delete(x.byRun, run)
	i := x.search(p.begin)
	for x.order[i].run != run {
		i++
	}
	x.order = slices.Delete(x.order, i, i+1)
}

// refresh adds the turns that were retired since the index was last updated.
func (a *archive) refresh(x *index) error {
	filter := a.token + turnKey + "*"
	add := func(m message) error {
		x.seen = max(x.seen, m.revision)
		at, turn, err := a.store.turn(a.ctx, m)
		if errors.Is(err, store.ErrCorrupt) {
			return a.setAside(at, err)
		}
		if err != nil || turn == nil {
			return err
		}
		x.add(turn.RunID, turn.Begin)
		return nil
	}
	if x.seen == 0 {
		return a.store.bucket.each(a.ctx, filter, true, add)
	}
	return a.store.bucket.follow(a.ctx, filter, x.seen, math.MaxUint64, add)
}

// turn reads the retired turn of a message; nil without an error if it no
// longer exists. The record is what was read, also with [store.ErrCorrupt].
func (s *Store) turn(ctx context.Context, m message) (at record, turn *store.Turn, err error) {
	at, err = s.bucket.recordOf(ctx, m)
	if err == nil && at.data != nil {
		turn, err = store.DecodeTurn(at.data)
	}
	return at, turn, err
}
