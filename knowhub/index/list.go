package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"intenthint/knowhub/experience"
)

const columns = `n, id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, seen, flags, decided_at, decided_by`

// findTerms reads the terms of a JSON list.
const findTerms = `SELECT t.term, t.id, t.rows FROM json_each(?) q CROSS JOIN terms t ON t.term = q.value`

// statements are prepared once; write statements belong to the writing
// connection.
type statements struct {
	old, remove, put                             *sql.Stmt
	putRemoved, dropRemoved, held                *sql.Stmt
	haveTerms, putTerm, countTerm, dropTerm      *sql.Stmt
	havePostings, putPosting, dropPosting        *sql.Stmt
	set, putSet, dropSet                         *sql.Stmt
	list, counts                                 *sql.Stmt
	findTerms, findPostings, findSet, rows, size *sql.Stmt
	completedTerms, correctedTerms, correctedIDs *sql.Stmt
}

func (x *Index) prepare(ctx context.Context) error {
	p := &x.prepared
	for _, s := range []struct {
		db    *sql.DB
		to    **sql.Stmt
		query string
	}{
		{x.write, &p.old, `SELECT ` + columns + `, revision FROM experiences WHERE id = ?`},
		{x.write, &p.remove, `DELETE FROM experiences WHERE n = ?`},
		{x.write, &p.put, `INSERT INTO experiences (id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, created_ms, seen, flags, decided_at, decided_by, revision)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET task = excluded.task, resource = excluded.resource, result = excluded.result, confidence = excluded.confidence, status = excluded.status,
				agent_id = excluded.agent_id, submitted_by = excluded.submitted_by, session_key = excluded.session_key, created_at = excluded.created_at, created_ms = excluded.created_ms,
				seen = excluded.seen, flags = excluded.flags, decided_at = excluded.decided_at, decided_by = excluded.decided_by, revision = excluded.revision
			RETURNING n`},
		{x.write, &p.putRemoved, `INSERT OR IGNORE INTO removed VALUES (?)`},
		{x.write, &p.dropRemoved, `DELETE FROM removed WHERE id = ?`},
		{x.read, &p.held, `SELECT held + (SELECT count(*) FROM removed) FROM place`},
		{x.write, &p.haveTerms, findTerms},
		{x.write, &p.putTerm, `INSERT INTO terms (term, rows) VALUES (?, ?) RETURNING id`},
		{x.write, &p.countTerm, `UPDATE terms SET rows = ? WHERE id = ?`},
		{x.write, &p.dropTerm, `DELETE FROM terms WHERE id = ?`},
		{x.write, &p.havePostings, `SELECT p.at, p.rows FROM json_each(?) q CROSS JOIN postings p ON p.at = q.value`},
		{x.write, &p.putPosting, `INSERT OR REPLACE INTO postings VALUES (?, ?)`},
		{x.write, &p.dropPosting, `DELETE FROM postings WHERE at = ?`},
		{x.write, &p.set, `SELECT rows FROM sets WHERE name = ? AND block = ?`},
		{x.write, &p.putSet, `INSERT OR REPLACE INTO sets VALUES (?, ?, ?)`},
		{x.write, &p.dropSet, `DELETE FROM sets WHERE name = ? AND block = ?`},
		{x.read, &p.list, `SELECT ` + columns + ` FROM experiences WHERE status = ? AND (created_ms, id) < (?, ?) ORDER BY created_ms DESC, id DESC LIMIT ?`},
		{x.read, &p.counts, `SELECT status, count(*) FROM experiences GROUP BY status`},
		{x.read, &p.findTerms, findTerms},
		{x.read, &p.findPostings, `SELECT p.at, p.rows FROM json_each(?) q CROSS JOIN postings p ON p.at BETWEEN q.value << 20 AND (q.value << 20) + 1048575`},
		{x.read, &p.findSet, `SELECT block, rows FROM sets WHERE name = ?`},
		{x.read, &p.rows, `SELECT e.n, e.id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, seen, flags, decided_at, decided_by
			FROM json_each(?) q CROSS JOIN experiences e ON e.n = q.value`},
		{x.read, &p.size, `SELECT coalesce(max(n), 0) FROM experiences`},
		{x.read, &p.completedTerms, `SELECT term, id, rows FROM (SELECT * FROM terms WHERE term >= ?1 AND term < ?1 || char(0x10FFFF) LIMIT 2000) ORDER BY rows DESC, term LIMIT 8`},
		{x.read, &p.correctedTerms, `SELECT term, id, rows FROM (SELECT * FROM terms INDEXED BY terms_words WHERE term >= ?1 AND term < ?1 || char(0x10FFFF) AND term NOT GLOB '*[0-9]*' LIMIT 2000)
			WHERE length(term) BETWEEN ?2 AND ?3`},
		{x.read, &p.correctedIDs, `SELECT term, id, rows FROM (SELECT * FROM terms WHERE term >= ?1 AND term < ?1 || char(0x10FFFF) AND term GLOB '*[0-9]*' LIMIT 2000)
			WHERE length(term) BETWEEN ?2 AND ?3`},
	} {
		var err error
		if *s.to, err = s.db.PrepareContext(ctx, s.query); err != nil {
			return err
		}
	}
	return nil
}

// scan reads the columns of an experience, and any further columns into more.
func scan(row interface{ Scan(dest ...any) error }, n *int64, more ...any) (e experience.Experience, err error) {
	var created, flags, decided string
	to := []any{n, &e.ID, &e.Task, &e.Resource, &e.Result, &e.Confidence, &e.Status, &e.AgentID, &e.SubmittedBy, &e.SessionKey, &created, &e.Seen, &flags, &decided, &e.DecidedBy}
	err = row.Scan(append(to, more...)...)
	if err != nil {
		return e, err
	}
	if e.CreatedAt, err = unstamp(created); err != nil {
		return e, err
	}
	if e.DecidedAt, err = unstamp(decided); err != nil {
		return e, err
	}
	if flags != "null" {
		if err := json.Unmarshal([]byte(flags), &e.Flags); err != nil {
			return e, fmt.Errorf("%w: flags: %w", ErrDamaged, err)
		}
	}
	return e, nil
}

func scanAll(rows *sql.Rows) (list []experience.Experience, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		e, err := scan(rows, &n)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

const (
	defaultList = 50
	maxList     = 1000
)

// List returns the experiences of a status, newest first, those that come after
// one; with its zero value from the newest on. They are at most limit, 50 if limit
// is not positive, and never more than 1000.
func (x *Index) List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error) {
	ms := int64(1 << 62)
	if after.ID != "" {
		ms = after.CreatedAt.UnixMilli()
	}
	rows, err := x.prepared.list.QueryContext(ctx, string(status), ms, after.ID, bound(limit, defaultList, maxList))
	if err != nil {
		return nil, x.note(err)
	}
	list, err := scanAll(rows)
	return list, x.note(err)
}

// bound returns limit, but at most most; usual if limit is not positive.
func bound(limit, usual, most int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, most)
}

// Counts returns how many experiences there are of each status.
func (x *Index) Counts(ctx context.Context) (map[experience.Status]int, error) {
	counts := map[experience.Status]int{experience.Pending: 0, experience.Approved: 0, experience.Rejected: 0}
	rows, err := x.prepared.counts.QueryContext(ctx)
	if err != nil {
		return nil, x.note(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var status experience.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, x.note(err)
		}
		counts[status] = n
	}
	return counts, x.note(rows.Err())
}
