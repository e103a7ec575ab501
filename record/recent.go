package record

import (
	"context"
	"slices"
	"time"

	"intenthint/store"
)

// MaxTurns bounds how much one call of [Recent] reads: after that many turns it
// begins no further session. Somebody is waiting for the page, and 5,000 turns
// of an ordinary size (2 kB) take about 0.4 s of processor time.
const MaxTurns = 5000

// clockSkew is how far a gateway's clock may be ahead of that of the store. A turn
// from further in the future may be listed one page late.
const clockSkew = 5 * time.Minute

// Query selects a page of turns.
type Query struct {
	Filter Filter
	// Limit is the maximum number of turns.
	Limit int
	// Before, if set, selects turns that began before this key.
	Before *store.Key
	// Changed, if set, selects sessions that have not changed since this time.
	Changed time.Time
	// MinConfidence is as for [NewTurn].
	MinConfidence float64
	// Amend, if set, may change a turn before it is filtered.
	Amend func(session store.Summary, turn *store.Turn)
}

// Entry is a turn and its session.
type Entry struct {
	Session store.Summary
	Turn
}

// Began returns the position of the turn in the order of turns.
func (t *Turn) Began() store.Key { return t.begin }

// Page is the result of [Recent].
type Page struct {
	// Entries are ordered newest first.
	Entries []Entry
	// More reports whether there are older ones in the sessions that were read.
	More bool
	// Sessions and Turns are how many were read.
	Sessions, Turns int
	// Rest, if not zero, is the change time of the first session that was not read
	// because of [MaxTurns]: the [Query.Changed] to continue with.
	Rest time.Time
}

// Recent returns the newest turns that a query selects. Sessions are read in the
// order of their last change, until no other session can have a newer turn, or
// [MaxTurns] is reached.
func Recent(ctx context.Context, sessions store.Reader, q Query) (Page, error) {
	var page Page
	list, err := sessions.List(ctx)
	if err != nil {
		return page, err
	}
	newest := newestTurns[Entry]{limit: q.Limit + 1}
	for _, s := range list {
		if !q.reads(s) {
			continue
		}
		if newest.full() && s.Updated.Add(clockSkew).UnixMilli() < newest.floor().TS {
			break
		}
		if page.Turns >= MaxTurns {
			page.Rest = s.Updated
			break
		}
		page.Sessions++
		err := descend(ctx, sessions, s.Name(), newest.wants, func(turn *store.Turn) {
			page.Turns++
			if q.Before != nil && !turn.Begin.Before(*q.Before) {
				return
			}
			if q.Amend != nil {
				q.Amend(s, turn)
			}
			t := NewTurn(s, turn, q.MinConfidence)
			if q.Filter.Selects(&t) {
				t.History = nil // not listed
				newest.add(turn.Begin, Entry{s, t})
			}
		})
		if err != nil {
			return page, err
		}
	}
	page.Entries = newest.sorted()
	if page.More = len(page.Entries) > q.Limit; page.More {
		page.Entries = page.Entries[:q.Limit]
	}
	return page, nil
}

// reads reports whether a session can have a turn that the query selects.
func (q *Query) reads(s store.Summary) bool {
	switch {
	case !q.Changed.IsZero() && s.Updated.After(q.Changed):
		return false
	case !q.Filter.Since.IsZero() && s.Updated.Add(clockSkew).Before(q.Filter.Since):
		return false
	}
	return q.Filter.selectsSession(s)
}

// Last returns the newest turns of a session, at most limit, newest first; if
// before is set, only turns that began before it. more reports whether there
// are older ones. An unknown session has no turns.
func Last(ctx context.Context, sessions store.Reader, session string, before *store.Key, limit int) (turns []*store.Turn, more bool, err error) {
	newest := newestTurns[*store.Turn]{limit: limit + 1}
	err = descend(ctx, sessions, session, newest.wants, func(turn *store.Turn) {
		if before == nil || turn.Begin.Before(*before) {
			newest.add(turn.Begin, turn)
		}
	})
	turns = newest.sorted()
	if more = len(turns) > limit; more {
		turns = turns[:limit]
	}
	return turns, more, err
}

// Since calls yield with the turns that began since the given time, session by
// session in the order of their last change. After limit turns it begins no
// further session; partial reports whether it left sessions out for that
// reason.
func Since(ctx context.Context, sessions store.Reader, since time.Time, limit int, yield func(store.Summary, *store.Turn)) (partial bool, err error) {
	list, err := sessions.List(ctx)
	if err != nil {
		return false, err
	}
	q, n := Query{Filter: Filter{Since: since}}, 0
	for _, s := range list {
		if !q.reads(s) {
			continue
		}
		if n >= limit {
			return true, nil
		}
		err := Each(ctx, sessions, s.Name(), func(turn *store.Turn) {
			n++
			if since.IsZero() || turn.Begin.TS >= since.UnixMilli() {
				yield(s, turn)
			}
		})
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// newestTurns keeps the newest of the added turns.
type newestTurns[T any] struct {
	limit int
	kept  []keyed[T]
}

type keyed[T any] struct {
	key store.Key
	of  T
}

func (n *newestTurns[T]) full() bool { return len(n.kept) >= n.limit && n.limit > 0 }

// floor returns the oldest of the kept turns. It is valid only when full.
func (n *newestTurns[T]) floor() store.Key {
	n.trim()
	return n.kept[n.limit-1].key
}

// wants reports whether turns that began before older can be among the newest.
func (n *newestTurns[T]) wants(older store.Key) bool { return !n.full() || n.floor().Before(older) }

func (n *newestTurns[T]) add(key store.Key, of T) {
	n.kept = append(n.kept, keyed[T]{key, of})
	if len(n.kept) >= 4*n.limit {
		n.trim()
	}
}

func (n *newestTurns[T]) trim() {
	slices.SortStableFunc(n.kept, func(a, b keyed[T]) int { return b.key.Compare(a.key) })
	if len(n.kept) > n.limit {
		clear(n.kept[n.limit:])
		n.kept = n.kept[:n.limit]
	}
}

func (n *newestTurns[T]) sorted() []T {
	n.trim()
	out := make([]T, len(n.kept))
	for i, k := range n.kept {
		out[i] = k.of
	}
	return out
}
