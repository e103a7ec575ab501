package store

import (
	"encoding/json"
	"math"
	"slices"
)

// Archive finds the turns of one session that were retired from its document.
type Archive interface {
	// Run returns the retired turn of a run as JSON, or nil.
	Run(run string) (json.RawMessage, error)
	// Before returns the latest retired turn that began before key, or nil.
	Before(key Key) (json.RawMessage, error)
}

// recall brings back the retired turns that a fact may change. They are few:
// the turn of the fact's run and, as facts without a run id move between
// neighbours, the neighbours of the place where a turn begins or began.
func (d *Document) recall(f Fact, oldest *Key, archive Archive) error {
	if archive == nil || f.Close != nil {
		return nil
	}
	run := f.run()
	if run == "" && (f.Feedback != nil || f.Use != nil) {
		return nil // of no turn
	}
	if run == "" {
		if oldest != nil && f.TS >= oldest.TS {
			return nil
		}
		return d.recallBefore(archive, after(f.TS))
	}
	kept := d.find(run)
	if kept < 0 {
		raw, err := archive.Run(run)
		if err != nil {
			return err
		}
		if raw != nil {
			h, err := hold(raw)
			if err != nil {
				return err
			}
			d.put(h)
		}
	}
	if f.Begin == nil || oldest != nil && !f.Key().Before(*oldest) {
		return nil
	}
	if err := d.recallBefore(archive, f.Key()); err != nil {
		return err
	}
	i := d.find(run)
	if i < 0 {
		return nil
	}
	if err := d.recallBefore(archive, d.turns[i].key); err != nil {
		return err
	}
	if kept < 0 || oldest == nil {
		return nil
	}
	// The run was in the document and moves behind retired turns: the newest of
	// them takes its place.
	return d.recallBefore(archive, *oldest)
}

// recallBefore recalls the latest turn before key that is not in the document.
func (d *Document) recallBefore(archive Archive, key Key) error {
	for {
		raw, err := archive.Before(key)
		if err != nil || raw == nil {
			return err
		}
		h, err := hold(raw)
		if err != nil {
			return err
		}
		if d.put(h) || !h.key.Before(key) {
			return nil
		}
		key = h.key
	}
}

// put adds a recalled turn and reports whether it did: not if its run is in the
// document. The turn already holds all its facts so that, unlike in insert,
// nothing moves.
func (d *Document) put(h *held) bool {
	if d.find(h.run) >= 0 {
		return false
	}
	h.archived, h.recalled = true, true
	i, _ := slices.BinarySearchFunc(d.turns, h.key, func(have *held, k Key) int { return have.key.Compare(k) })
	d.turns = slices.Insert(d.turns, i, h)
	return true
}

// fill recalls the retired turns between those that stay, so that the document
// holds all turns from its oldest on. Gaps occur when a turn was lost or the
// limit was lower. oldest is the oldest turn of before, nil for none.
func (d *Document) fill(oldest *Key, limit int, archive Archive) error {
	if archive == nil || len(d.turns) == 0 {
		return nil
	}
	room := math.MaxInt
	if limit >= 0 {
		room = limit + 1
	}
	key := Key{TS: math.MaxInt64, ID: "\xff"}
	if oldest != nil {
		if stays := d.turns[max(0, len(d.turns)-room)]; !stays.key.Before(*oldest) {
			return nil
		}
		key = *oldest
	}
	for room > 0 {
		raw, err := archive.Before(key)
		if err != nil || raw == nil {
			return err
		}
		h, err := hold(raw)
		if err != nil {
			return err
		}
		if !d.turns[0].key.Before(h.key) || !h.key.Before(key) {
			return nil
		}
		if d.put(h) {
			room--
		}
		key = h.key
	}
	return nil
}

func (d *Document) retire(limit int) ([]json.RawMessage, error) {
	var out []json.RawMessage
	n := 0
	if limit >= 0 {
		n = max(0, len(d.turns)-1-limit)
	}
	for _, h := range d.turns[:n] {
		if !h.recalled {
			d.changedSession = true
		}
		if h.archived {
			continue
		}
		if err := h.encode(); err != nil {
			return nil, err
		}
		out = append(out, h.raw)
	}
	clear(d.turns[:n])
	d.turns = d.turns[n:]
	for _, h := range d.turns {
		if h.recalled {
			// When it is retired again, the archive may have lost it.
			h.recalled, h.archived, d.changedSession = false, false, true
		}
	}
	return out, nil
}

// CutTurn returns an encoded turn without the facts that belong to a turn that
// begins at next. If the archive lost the last state of a turn and uses an
// earlier one, both turns would hold these facts.
func CutTurn(raw json.RawMessage, next Key) (json.RawMessage, error) {
	t, err := DecodeTurn(raw)
	if err != nil || len(t.takeLoose(next.TS)) == 0 {
		return raw, err
	}
	return encode(t)
}

// after returns the least key greater than all keys of ts.
func after(ts int64) Key {
	if ts == math.MaxInt64 {
		return Key{TS: ts, ID: "\xff"}
	}
	return Key{TS: ts + 1}
}
