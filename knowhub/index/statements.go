package index

import (
	"context"
	"database/sql"
)

const columns = `n, id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, seen, flags, decided_at, decided_by`

// findTerms reads the terms of a JSON list.
const findTerms = `SELECT t.term, t.id, t.rows FROM json_each(?) q CROSS JOIN terms t ON t.term = q.value`

// writing are the statements of the connection that writes.
type writing struct {
	old, remove, put                        *sql.Stmt
	putRemoved, dropRemoved                 *sql.Stmt
	haveTerms, putTerm, countTerm, dropTerm *sql.Stmt
	havePostings, putPosting, dropPosting   *sql.Stmt
	set, putSet, dropSet                    *sql.Stmt
}

func (w *writing) prepare(ctx context.Context, db *sql.DB) error {
	_, err := prepare(ctx, db, map[**sql.Stmt]string{
		&w.old:    `SELECT ` + columns + `, revision FROM experiences WHERE id = ?`,
		&w.remove: `DELETE FROM experiences WHERE n = ?`,
		&w.put: `INSERT INTO experiences (id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, created_ms, seen, flags, decided_at, decided_by, revision)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET task = excluded.task, resource = excluded.resource, result = excluded.result, confidence = excluded.confidence, status = excluded.status,
				agent_id = excluded.agent_id, submitted_by = excluded.submitted_by, session_key = excluded.session_key, created_at = excluded.created_at, created_ms = excluded.created_ms,
				seen = excluded.seen, flags = excluded.flags, decided_at = excluded.decided_at, decided_by = excluded.decided_by, revision = excluded.revision
			RETURNING n`,
		&w.putRemoved:   `INSERT OR IGNORE INTO removed VALUES (?)`,
		&w.dropRemoved:  `DELETE FROM removed WHERE id = ?`,
		&w.haveTerms:    findTerms,
		&w.putTerm:      `INSERT INTO terms (term, rows) VALUES (?, ?) RETURNING id`,
		&w.countTerm:    `UPDATE terms SET rows = ? WHERE id = ?`,
		&w.dropTerm:     `DELETE FROM terms WHERE id = ?`,
		&w.havePostings: `SELECT p.at, p.rows FROM json_each(?) q CROSS JOIN postings p ON p.at = q.value`,
		&w.putPosting:   `INSERT OR REPLACE INTO postings VALUES (?, ?)`,
		&w.dropPosting:  `DELETE FROM postings WHERE at = ?`,
		&w.set:          `SELECT rows FROM sets WHERE name = ? AND block = ?`,
		&w.putSet:       `INSERT OR REPLACE INTO sets VALUES (?, ?, ?)`,
		&w.dropSet:      `DELETE FROM sets WHERE name = ? AND block = ?`,
	})
	return err
}

func (r *reader) prepare(ctx context.Context) (err error) {
	r.all, err = prepare(ctx, r.conn, map[**sql.Stmt]string{
		&r.begin:        `BEGIN`,
		&r.rollback:     `ROLLBACK`,
		&r.held:         `SELECT held + (SELECT count(*) FROM removed) FROM place`,
		&r.list:         `SELECT ` + columns + ` FROM experiences WHERE status = ? AND (created_ms, id) < (?, ?) ORDER BY created_ms DESC, id DESC LIMIT ?`,
		&r.counts:       `SELECT status, count(*) FROM experiences GROUP BY status`,
		&r.findTerms:    findTerms,
		&r.findPostings: `SELECT p.at, p.rows FROM json_each(?) q CROSS JOIN postings p ON p.at BETWEEN q.value << 20 AND (q.value << 20) + 1048575`,
		&r.findSet:      `SELECT block, rows FROM sets WHERE name = ?`,
		&r.findRows: `SELECT e.n, e.id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, seen, flags, decided_at, decided_by
			FROM json_each(?) q CROSS JOIN experiences e ON e.n = q.value`,
		&r.findState:      `SELECT (SELECT coalesce(max(n), 0) FROM experiences), begun, revision, checksum FROM place`,
		&r.completedTerms: `SELECT term, id, rows FROM (SELECT * FROM terms WHERE term >= ?1 AND term < ?1 || char(0x10FFFF) LIMIT 2000) ORDER BY rows DESC, term LIMIT 8`,
		&r.correctedTerms: `SELECT term, id, rows FROM (SELECT * FROM terms INDEXED BY terms_words WHERE term >= ?1 AND term < ?1 || char(0x10FFFF) AND term NOT GLOB '*[0-9]*' LIMIT 2000)
			WHERE length(term) BETWEEN ?2 AND ?3`,
		&r.correctedIDs: `SELECT term, id, rows FROM (SELECT * FROM terms WHERE term >= ?1 AND term < ?1 || char(0x10FFFF) AND term GLOB '*[0-9]*' LIMIT 2000)
			WHERE length(term) BETWEEN ?2 AND ?3`,
	})
	return err
}

type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// prepare returns the statements that it prepared, also with an error.
func prepare(ctx context.Context, on preparer, statements map[**sql.Stmt]string) (all []*sql.Stmt, err error) {
	for to, query := range statements {
		if *to, err = on.PrepareContext(ctx, query); err != nil {
			return all, err
		}
		all = append(all, *to)
	}
	return all, nil
}
