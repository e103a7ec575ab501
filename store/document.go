package store

import (
	"math"
	"slices"
	"sort"
)

// Facts whose turn has not begun wait for it. What waits is bounded, so that
// runs that never become turns (cron jobs, groups that are not allowed) cannot
// fill the store: the newest count, up to waitingLimit facts of waitingBytes in
// all. Only beyond these bounds does it matter in which order facts come. Their
// age does not count: one event of a gateway with a wrong clock would make all
// others look old.
const (
	waitingLimit = 4096
	waitingBytes = 8 << 20
)

// Document is a session: its turns, and the facts that wait for theirs. It is
// a function of the set of facts applied to it (contract §8). The zero value
// is an empty session. A Document is not safe for concurrent use.
type Document struct {
	// id, sessionKey and agent are those of the newest Begin that has them.
	id, sessionKey, agent sourced
	// turns are in order of their beginnings; the last is the current one.
	turns []*held
	// last is the newest Close; it is shown while no turn is newer.
	last *closing
	// waiting are in order of their keys.
	waiting []Fact

	// What changed since the last Fold began: the session as it is shown, and
	// the facts that wait.
	changedSession, changedWaiting bool
}

// sourced is a value with the fact that it is from.
type sourced struct {
	Value string `json:"-"`
	Key
}

type closing struct {
	Reason string `json:"reason"`
	At     string `json:"at"`
	Key
}

// held is a turn with its encoding. A turn that did not change is neither
// decoded nor encoded again.
type held struct {
	run  string
	key  Key
	turn *Turn  // nil: not decoded
	raw  []byte // nil: changed since it was encoded
	at   int    // of raw in the last encoding of the document
	// loose: the turn has facts without a run id.
	loose bool
	// recalled: the turn was brought back from the archive by this Fold;
	// archived: it stands there as it is.
	recalled, archived bool
}

// open returns the turn for reading.
func (h *held) open() *Turn {
	if h.turn == nil {
		t, err := DecodeTurn(h.raw)
		if err != nil {
			// Decode has seen this very encoding as a valid turn.
			t = newTurn(h.run, h.key, Begin{})
		}
		h.turn = t
	}
	return h.turn
}

// touch notes that the turn was changed.
func (h *held) touch() { h.raw, h.archived, h.loose = nil, false, h.turn.loose() }

// Apply folds one fact into the document and says whether it changed. A fact
// that was applied before changes nothing.
func (d *Document) Apply(f Fact) (changed bool) { return d.apply(f.clean()) }

func (d *Document) apply(f Fact) (changed bool) {
	switch {
	case f.Begin != nil:
		return d.begin(f)
	case f.Call != nil, f.End != nil:
		return d.place(f)
	case f.Close != nil:
		return d.close(f)
	}
	return false
}

// Turns is the number of turns that the document shows.
func (d *Document) Turns() int { return len(d.turns) }

// DecodedBytes is about what the document takes in memory beside its encoding:
// the current turn is kept decoded.
func (d *Document) DecodedBytes() int {
	if len(d.turns) == 0 {
		return 0
	}
	return len(d.turns[len(d.turns)-1].raw)
}

// Waiting returns the facts that no turn shows: those whose turn has not begun
// and, as long as there is no turn at all, the end of the session. The slice is
// the document's own.
func (d *Document) Waiting() []Fact {
	if d.last == nil || len(d.turns) > 0 {
		return d.waiting
	}
	return append(slices.Clone(d.waiting), Fact{ID: d.last.ID, TS: d.last.TS, Close: &Close{Reason: d.last.Reason}})
}

func (d *Document) begin(f Fact) bool {
	named := d.name(f)
	run, key := f.run(), f.Key()
	i := d.find(run)
	if i < 0 {
		h := &held{run: run, key: key, turn: newTurn(run, key, *f.Begin)}
		if len(d.turns) == 0 && d.last != nil {
			d.changedWaiting = true // the end of the session is shown now
		}
		d.insert(h)
		return true
	}
	h := d.turns[i]
	if !h.open().begin(key, *f.Begin) {
		return named
	}
	h.touch()
	d.changedSession = true
	if key.Before(h.key) {
		// The turn moves up; what had no run id finds its turn anew.
		moved := h.turn.takeLoose(math.MinInt64)
		h.touch()
		d.turns = slices.Delete(d.turns, i, i+1)
		h.key = key
		d.insert(h)
		for _, f := range moved {
			d.place(f)
		}
	}
	return true
}

// insert puts a turn in its place and moves there what belongs to it.
func (d *Document) insert(h *held) {
	i := sort.Search(len(d.turns), func(i int) bool { return h.key.Before(d.turns[i].key) })
	d.turns = slices.Insert(d.turns, i, h)
	d.changedSession = true

	var found []Fact
	if i > 0 && d.turns[i-1].loose {
		before := d.turns[i-1]
		found = before.open().takeLoose(h.key.TS)
		before.touch()
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(f Fact) bool {
		mine := f.RunID == h.run || f.RunID == "" && i == 0 && f.TS >= h.key.TS
		if mine {
			found = append(found, f)
			d.changedWaiting = true
		}
		return mine
	})
	for _, f := range found {
		d.place(f)
	}
}

// place gives a Call or an End to its turn, or keeps it waiting.
func (d *Document) place(f Fact) bool {
	i := d.owner(f)
	if i < 0 {
		return d.wait(f)
	}
	h := d.turns[i]
	if !h.open().add(f) {
		return false
	}
	h.touch()
	d.changedSession = true
	return true
}

// owner finds the turn of a Call or an End: that of its run or, without a run
// id, the latest that began at or before its ts; -1 when there is none.
func (d *Document) owner(f Fact) int {
	if f.RunID != "" {
		return d.find(f.RunID)
	}
	return sort.Search(len(d.turns), func(i int) bool { return d.turns[i].key.TS > f.TS }) - 1
}

// find looks from the newest turn on: that is nearly always the one.
func (d *Document) find(run string) int {
	for i, v := range slices.Backward(d.turns) {
		if v.run == run {
			return i
		}
	}
	return -1
}

func (d *Document) close(f Fact) bool {
	if d.last != nil && !d.last.Before(f.Key()) {
		return false
	}
	d.last = &closing{Reason: f.Close.Reason, At: timestamp(f.TS), Key: f.Key()}
	d.changedSession = true
	d.changedWaiting = d.changedWaiting || len(d.turns) == 0
	return true
}

// name takes what the session is called from a Begin.
func (d *Document) name(f Fact) (changed bool) {
	set := func(to *sourced, value string) {
		if value == "" || to.Value != "" && !to.Before(f.Key()) {
			return
		}
		*to = sourced{Value: value, Key: f.Key()}
		changed, d.changedSession = true, true
	}
	set(&d.id, f.SessionID)
	set(&d.sessionKey, f.SessionKey)
	set(&d.agent, f.AgentID)
	return changed
}

func (d *Document) wait(f Fact) bool {
	if slices.ContainsFunc(d.waiting, func(have Fact) bool { return have.ID == f.ID }) {
		return false
	}
	kept := Fact{ID: f.ID, TS: f.TS, RunID: f.RunID, Call: f.Call, End: f.End}
	i, _ := slices.BinarySearchFunc(d.waiting, f.Key(), func(have Fact, k Key) int { return have.Key().Compare(k) })
	d.waiting = slices.Insert(d.waiting, i, kept)
	if d.forget(); !slices.ContainsFunc(d.waiting, func(have Fact) bool { return have.ID == f.ID }) {
		return false
	}
	d.changedWaiting = true
	return true
}

// forget drops what is too much to wait.
func (d *Document) forget() {
	first, size := len(d.waiting), 0
	for first > 0 && len(d.waiting)-first < waitingLimit {
		size += d.waiting[first-1].size()
		if size > waitingBytes && first < len(d.waiting) {
			break // but the newest stays, whatever its size
		}
		first--
	}
	if first > 0 {
		d.waiting = slices.Delete(d.waiting, 0, first)
		d.changedWaiting = true
	}
}

// size is roughly how many bytes of text a waiting fact keeps.
func (f Fact) size() int {
	n := len(f.ID) + len(f.RunID)
	if f.Call != nil {
		n += len(f.Call.Params) + len(f.Call.Result) + len(f.Call.Error) + len(f.Call.Name) + len(f.Call.ToolCallID)
	}
	if f.End != nil {
		n += len(f.End.Result) + len(f.End.Error)
	}
	return n
}
