package table

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"intenthint/knowhub/experience"
)

const (
	// application marks the file as ours (PRAGMA application_id): "KHub".
	application = 0x4b487562
	// version is greater than those of earlier programs, which would take the file for
	// their index (PRAGMA user_version).
	version = 11
)

// schema has the columns of the contract, then the other fields of an experience. Times
// are RFC 3339, "" for none; flags is a list in JSON.
const schema = `
CREATE TABLE experiences (
	id           TEXT PRIMARY KEY,
	task         TEXT NOT NULL,
	resource     TEXT NOT NULL,
	result       TEXT NOT NULL,
	confidence   REAL NOT NULL,
	status       TEXT NOT NULL,
	agent_id     TEXT NOT NULL,
	submitted_by TEXT NOT NULL,
	session_key  TEXT NOT NULL,
	created_at   TEXT NOT NULL,
	seen         INTEGER NOT NULL,
	flags        TEXT NOT NULL,
	decided_at   TEXT NOT NULL,
	decided_by   TEXT NOT NULL
);
CREATE INDEX experiences_agent_id ON experiences (agent_id);`

const insert = `INSERT OR REPLACE INTO experiences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// replace writes a new file, and puts it in the place of the old one.
func (t *Table) replace(ctx context.Context) error {
	part := t.o.Path + ".new"
	if err := remove(part, "", "-journal"); err != nil {
		return err
	}
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) //nolint:gosec // beside the file of the settings
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	err = change(ctx, part, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d", schema, application, version)); err != nil {
			return err
		}
		put, err := tx.PrepareContext(ctx, insert)
		if err != nil {
			return err
		}
		defer func() { _ = put.Close() }()
		for _, e := range t.o.Experiences.All() {
			if _, err := put.ExecContext(ctx, values(e)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = t.makeRoom()
	}
	if err == nil {
		err = os.Rename(part, t.o.Path)
	}
	if err != nil {
		return errors.Join(err, remove(part, "", "-journal"))
	}
	return nil
}

// makeRoom renames what is no table of this program. It removes the logs of an old file,
// which SQLite would take for those of a new one.
func (t *Table) makeRoom() error {
	foreign, err := isForeign(t.o.Path)
	if err != nil {
		return err
	}
	logs := []string{"-wal", "-shm", "-journal"}
	if !foreign {
		return remove(t.o.Path, logs...)
	}
	aside := fmt.Sprintf("%s.aside-%d", t.o.Path, time.Now().UnixMilli())
	t.o.Log.Warn("renaming a foreign file", "file", t.o.Path, "as", aside)
	for _, suffix := range append(logs, "") {
		if err := os.Rename(t.o.Path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func remove(path string, suffixes ...string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isForeign reports whether there is something at path that this program has not made:
// no regular file, or the SQLite database of another program.
func isForeign(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return true, nil
	}
	f, err := os.Open(path) //nolint:gosec // the file of the settings
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	// https://www.sqlite.org/fileformat.html#the_database_header
	var header [100]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		return false, err
	}
	return strings.HasPrefix(string(header[:]), "SQLite format 3\x00") && binary.BigEndian.Uint32(header[68:]) != application, nil
}

// update writes the rows of experiences that have changed.
func (t *Table) update(ctx context.Context, ids []string) error {
	return change(ctx, t.o.Path, func(tx *sql.Tx) error {
		for _, id := range ids {
			query, args := `DELETE FROM experiences WHERE id = ?`, []any{id}
			if e, ok := t.o.Experiences.Get(id); ok {
				query, args = insert, values(&e)
			}
			if _, err := tx.ExecContext(ctx, query, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// busyTime is how long a write waits for somebody who reads.
const busyTime = time.Second

// change calls f in a transaction on a file. SQLite does not wait for the disk: what a
// power cut damages is written anew by the next start.
func change(ctx context.Context, path string, f func(tx *sql.Tx) error) (err error) {
	db, err := open(path, url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTime.Milliseconds()), "synchronous(off)"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func open(path string, options url.Values) (*sql.DB, error) {
	source := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}
	return sql.Open("sqlite", source.String())
}

// eachID calls yield with the ids in a file, of which there may be none.
func eachID(ctx context.Context, path string, yield func(id string)) (err error) {
	if foreign, err := isForeign(path); foreign || err != nil {
		return err
	}
	db, err := open(path, url.Values{"mode": {"ro"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, `SELECT id FROM experiences`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		yield(id)
	}
	return rows.Err()
}

// values are the columns of an experience.
func values(e *experience.Experience) []any {
	flags := "[]"
	if len(e.Flags) > 0 {
		text, _ := json.Marshal(e.Flags) // texts cannot fail
		flags = string(text)
	}
	return []any{
		e.ID, e.Task, e.Resource, e.Result, e.Confidence, string(e.Status), e.AgentID, e.SubmittedBy, e.SessionKey,
		stamp(e.CreatedAt), e.Seen, flags, stamp(e.DecidedAt), e.DecidedBy,
	}
}

// stamp formats a time as in JSON; the zero time is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
