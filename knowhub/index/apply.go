package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index/terms"
)

// Change is a change of the bucket.
type Change struct {
	ID string
	// Revision is the bucket's revision, greater than those of all earlier
	// changes.
	Revision uint64
	// Experience is the current experience, unless it was Removed.
	Experience experience.Experience
	Removed    bool
}

// maxBatch bounds the changes of one transaction: other processes wait for it,
// and its writes are kept in memory until its end.
const maxBatch = 1000

// Apply applies changes in the order of their revisions. It is idempotent:
// changes that the copy already has, from this process or another, are ignored.
// After an error some of them may have been applied. After [ErrBegunAgain],
// call [Index.Place].
func (x *Index) Apply(ctx context.Context, changes []Change) error {
	for batch := range slices.Chunk(changes, maxBatch) {
		if err := x.change(ctx, func(tx *sql.Tx) error { return x.apply(ctx, tx, batch) }); err != nil {
			return err
		}
	}
	return nil
}

// Put applies a change of this process before [Index.Apply] receives it and the changes
// before it. The place of the copy therefore does not move. A change that is older than
// the copy's entry is ignored.
func (x *Index) Put(ctx context.Context, c Change) error {
	return x.change(ctx, func(tx *sql.Tx) error {
		b, p, err := x.begin(ctx, tx)
		if err != nil || c.Revision <= p.revision {
			return err
		}
		if err := b.take(ctx, c); err != nil {
			return err
		}
		return b.flush(ctx, p.revision)
	})
}

func (x *Index) apply(ctx context.Context, tx *sql.Tx, changes []Change) error {
	b, p, err := x.begin(ctx, tx)
	if err != nil {
		return err
	}
	if p.begun != x.begun.Load() {
		return ErrBegunAgain
	}
	for _, c := range changes {
		if c.Revision <= p.revision {
			continue
		}
		p.revision = c.Revision
		if err := b.take(ctx, c); err != nil {
			return err
		}
	}
	return b.flush(ctx, p.revision)
}

// batch collects the changes of postings and sets, so that each blob is written
// once.
type batch struct {
	tx    *sql.Tx
	s     *writing
	stmts map[*sql.Stmt]*sql.Stmt
	terms map[string]map[int64]byte // by row; 0 removes it
	sets  map[string]map[int64]bool // by row
	held  content
}

// begin returns an empty batch and the place of the copy.
func (x *Index) begin(ctx context.Context, tx *sql.Tx) (*batch, place, error) {
	p, err := readPlace(ctx, tx)
	return &batch{
		tx: tx, s: &x.writing, stmts: map[*sql.Stmt]*sql.Stmt{},
		terms: map[string]map[int64]byte{}, sets: map[string]map[int64]bool{}, held: p.held,
	}, p, err
}

// in returns a statement of the transaction.
func (b *batch) in(ctx context.Context, s *sql.Stmt) *sql.Stmt {
	if _, ok := b.stmts[s]; !ok {
		b.stmts[s] = b.tx.StmtContext(ctx, s)
	}
	return b.stmts[s]
}

func (b *batch) take(ctx context.Context, c Change) error {
	var row int64
	var revision uint64
	var old experience.Experience
	err := scan(b.in(ctx, b.s.old).QueryRowContext(ctx, c.ID), &row, &old, &revision)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if c.Removed {
			_, err := b.in(ctx, b.s.putRemoved).ExecContext(ctx, c.ID)
			return err
		}
		if _, err := b.in(ctx, b.s.dropRemoved).ExecContext(ctx, c.ID); err != nil {
			return err
		}
		return b.put(ctx, c, 0, experience.Experience{})
	case err != nil:
		return err
	case revision >= c.Revision:
		return nil // see [Index.Put]
	case c.Removed:
		if _, err := b.in(ctx, b.s.remove).ExecContext(ctx, row); err != nil {
			return err
		}
		if _, err := b.in(ctx, b.s.putRemoved).ExecContext(ctx, c.ID); err != nil {
			return err
		}
		b.held.remove(c.ID, revision)
		b.unset(row, old)
		b.index(row, old, nil)
		return nil
	}
	b.held.remove(c.ID, revision)
	return b.put(ctx, c, row, old)
}

func (b *batch) put(ctx context.Context, c Change, row int64, old experience.Experience) error {
	e := c.Experience
	flags, err := json.Marshal(e.Flags)
	if err != nil {
		return err
	}
	known := row > 0
	err = b.in(ctx, b.s.put).QueryRowContext(ctx, c.ID, e.Task, e.Resource, e.Result, e.Confidence, string(e.Status), e.AgentID, e.SubmittedBy, e.SessionKey,
		stamp(e.CreatedAt), e.CreatedAt.UnixMilli(), e.Seen, string(flags), stamp(e.DecidedAt), e.DecidedBy, int64(c.Revision)).Scan(&row) //nolint:gosec // revisions count up from 1
	if err != nil {
		return err
	}
	b.held.add(c.ID, c.Revision)
	if known {
		b.unset(row, old)
	}
	b.set(statusSet(e.Status), row, true)
	b.set(agentSet(e.AgentID), row, true)
	if !known || old.Task != e.Task || old.Resource != e.Resource || old.Result != e.Result {
		b.index(row, old, &e)
	}
	return nil
}

func statusSet(s experience.Status) string { return "status " + string(s) }
func agentSet(agent string) string         { return "agent " + agent }

func (b *batch) unset(row int64, e experience.Experience) {
	b.set(statusSet(e.Status), row, false)
	b.set(agentSet(e.AgentID), row, false)
}

func (b *batch) set(name string, row int64, on bool) {
	if b.sets[name] == nil {
		b.sets[name] = map[int64]bool{}
	}
	b.sets[name][row] = on
}

// index records the removed and the new terms of a row.
func (b *batch) index(row int64, old experience.Experience, e *experience.Experience) {
	note := func(term string, impact byte) {
		if b.terms[term] == nil {
			b.terms[term] = map[int64]byte{}
		}
		b.terms[term][row] = impact
	}
	was, functions := frequencies(old)
	for _, terms := range []map[string]float64{was, functions} {
		for term := range terms {
			note(term, 0)
		}
	}
	if e == nil {
		return
	}
	found, functions := frequencies(*e)
	var length float64
	for _, f := range found {
		length += f
	}
	for _, terms := range []map[string]float64{found, functions} {
		for term, f := range terms {
			note(term, impact(f, length))
		}
	}
}

// frequencies returns how often each term occurs in an experience, weighted by
// text, and apart from them those of function words.
func frequencies(e experience.Experience) (found, functions map[string]float64) {
	found, functions = make(map[string]float64), make(map[string]float64)
	for _, part := range []struct {
		text   string
		weight float64
	}{{e.Task, taskWeight}, {e.Resource, resourceWeight}, {e.Result, resultWeight}} {
		terms.Each(part.text, func(term string, function bool) {
			if function {
				functions[term] += part.weight
			} else {
				found[term] += part.weight
			}
		})
	}
	return found, functions
}

// flush writes the collected changes and sets the revision of the copy.
func (b *batch) flush(ctx context.Context, revision uint64) error {
	names := slices.Sorted(maps.Keys(b.terms))
	known, blobs, err := b.have(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := b.flushTerm(ctx, name, known[name], blobs); err != nil {
			return fmt.Errorf("term: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.sets)) {
		if err := b.flushSet(ctx, name, b.sets[name]); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	_, err = b.tx.ExecContext(ctx, `UPDATE place SET revision = ?, held = ?, checksum = ?`, int64(revision), b.held.rows, int64(b.held.sum)) //nolint:gosec // see content
	return err
}

// have reads the existing terms, and the postings that change.
func (b *batch) have(ctx context.Context, names []string) (known map[string]listed, blobs map[int64][]byte, err error) {
	asked, err := json.Marshal(names)
	if err != nil {
		return nil, nil, err
	}
	rows, err := b.in(ctx, b.s.haveTerms).QueryContext(ctx, string(asked))
	if err != nil {
		return nil, nil, err
	}
	known = make(map[string]listed, len(names))
	if err := readTerms(rows, known); err != nil {
		return nil, nil, err
	}
	var keys []int64
	for name, t := range known {
		for row := range b.terms[name] {
			keys = append(keys, at(t.id, row>>blockBits))
		}
	}
	slices.Sort(keys)
	if rows, err = b.in(ctx, b.s.havePostings).QueryContext(ctx, list(slices.Compact(keys))); err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	blobs = make(map[int64][]byte, len(keys))
	for rows.Next() {
		var key int64
		var blob []byte
		if err := rows.Scan(&key, &blob); err != nil {
			return nil, nil, err
		}
		blobs[key] = blob
	}
	return known, blobs, rows.Err()
}

// flushTerm writes the changed postings of a term. known is zero for a new
// term.
func (b *batch) flushTerm(ctx context.Context, name string, known listed, blobs map[int64][]byte) error {
	blocks := byBlock(b.terms[name])
	merged := make(map[int64][]posting, len(blocks))
	count := known.rows
	for block, changes := range blocks {
		var before []posting
		if known.id > 0 {
			var err error
			if before, err = readPostings(nil, blobs[at(known.id, block)]); err != nil {
				return err
			}
		}
		merged[block] = merge(before, changes)
		count += len(merged[block]) - len(before)
	}
	var err error
	id := known.id
	switch {
	case id == 0 && count <= 0:
		return nil // added and removed again
	case id == 0:
		err = b.in(ctx, b.s.putTerm).QueryRowContext(ctx, name, count).Scan(&id)
	case count <= 0:
		_, err = b.in(ctx, b.s.dropTerm).ExecContext(ctx, id)
	case count != known.rows:
		_, err = b.in(ctx, b.s.countTerm).ExecContext(ctx, count, id)
	}
	if err != nil {
		return err
	}
	for block, list := range merged {
		if len(list) == 0 {
			_, err = b.in(ctx, b.s.dropPosting).ExecContext(ctx, at(id, block))
		} else {
			_, err = b.in(ctx, b.s.putPosting).ExecContext(ctx, at(id, block), appendPostings(nil, list))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func byBlock(rows map[int64]byte) map[int64][]posting {
	blocks := make(map[int64][]posting)
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		blocks[row>>blockBits] = append(blocks[row>>blockBits], posting{uint16(row % blockRows), rows[row]}) //nolint:gosec // below blockRows
	}
	return blocks
}

func (b *batch) flushSet(ctx context.Context, name string, rows map[int64]bool) error {
	blocks := make(map[int64][]byte)
	for row, on := range rows {
		block := row >> blockBits
		bits, ok := blocks[block]
		if !ok {
			err := b.in(ctx, b.s.set).QueryRowContext(ctx, name, block).Scan(&bits)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		blocks[block] = setBit(bits, int(row%blockRows), on)
	}
	for block, bits := range blocks {
		var err error
		if isEmpty(bits) {
			_, err = b.in(ctx, b.s.dropSet).ExecContext(ctx, name, block)
		} else {
			_, err = b.in(ctx, b.s.putSet).ExecContext(ctx, name, block, bits)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stamp formats a time as in JSON; the zero time is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func unstamp(s string) (time.Time, error) {
	if strings.TrimSpace(s) == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return t.UTC(), nil
}
