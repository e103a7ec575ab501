package index

import (
	"context"
	"database/sql"
	"fmt"
)

// application marks the file as ours (PRAGMA application_id): "KHub".
const application = 0x4b487562

// migrations lead from each user_version to the next. Search results also
// depend on package terms: a change there that yields other terms for a text
// needs a migration that empties the tables, so that the copy begins again.
var migrations = []string{
	`CREATE TABLE experiences (
		n            INTEGER PRIMARY KEY,
		id           TEXT NOT NULL UNIQUE,
		task         TEXT NOT NULL,
		resource     TEXT NOT NULL,
		result       TEXT NOT NULL,
		confidence   REAL NOT NULL,
		status       TEXT NOT NULL,
		agent_id     TEXT NOT NULL,
		submitted_by TEXT NOT NULL,
		session_key  TEXT NOT NULL,
		created_at   TEXT NOT NULL, -- RFC 3339
		created_ms   INTEGER NOT NULL, -- the same, since 1970
		seen         INTEGER NOT NULL,
		flags        TEXT NOT NULL, -- JSON, a list of texts
		decided_at   TEXT NOT NULL, -- RFC 3339, or empty
		decided_by   TEXT NOT NULL,
		revision     INTEGER NOT NULL -- of the bucket
	);
	CREATE INDEX experiences_agent_id ON experiences (agent_id);
	CREATE INDEX experiences_status ON experiences (status, created_ms, id);
	CREATE INDEX experiences_created ON experiences (created_ms, id);
	CREATE TABLE terms (
		id   INTEGER PRIMARY KEY,
		term TEXT NOT NULL UNIQUE,
		rows INTEGER NOT NULL -- how many hold it
	);
	CREATE TABLE postings (
		at   INTEGER PRIMARY KEY, -- id of the term, block of rows
		rows BLOB NOT NULL
	);
	CREATE TABLE sets (
		name  TEXT NOT NULL,
		block INTEGER NOT NULL,
		rows  BLOB NOT NULL, -- a bit each
		PRIMARY KEY (name, block)
	) WITHOUT ROWID;
	CREATE TABLE place (
		one      INTEGER PRIMARY KEY CHECK (one = 1),
		bucket   TEXT NOT NULL,
		revision INTEGER NOT NULL,
		begun    INTEGER NOT NULL -- how often it was begun again
	);
	INSERT INTO place VALUES (1, '', 0, 0);`,

	// Identifiers of more than four parts have a term without separators.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1;`,

	// The number of experiences and their checksum, see content.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	ALTER TABLE place ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE place ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1;`,

	// More forms of an English word share one term. Thai, Lao, Khmer and Burmese texts
	// have pairs of characters as terms. The part after an apostrophe is a word.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;`,

	// A capital after a digit begins a part of an identifier.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;`,

	// Function words are terms.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;`,

	// Identifiers without their separators have a stem. Greek words have no accents.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;`,

	// The keys of the bucket that hold no experience.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets;
	CREATE TABLE removed (id TEXT PRIMARY KEY) WITHOUT ROWID;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;`,

	// All forms of the apostrophe are one, and words such as "wasn't" are terms.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets; DELETE FROM removed;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;`,

	// Blocks of 8,192 rows, and the terms that a word without digits is corrected to.
	`DELETE FROM experiences; DELETE FROM terms; DELETE FROM postings; DELETE FROM sets; DELETE FROM removed;
	UPDATE place SET bucket = '', revision = 0, begun = begun + 1, held = 0, checksum = 0;
	CREATE INDEX terms_words ON terms (term) WHERE term NOT GLOB '*[0-9]*';`,
}

// version is the user_version of this program's files.
var version = len(migrations)

// migrate brings a new or older file to this version.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var id, have, tables int
	err = tx.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_schema`).Scan(&id, &have, &tables)
	switch {
	case err != nil:
		return err
	case tables == 0:
		have = 0
	case id != application:
		return errForeign
	case have == version:
		return nil
	case have > version:
		return fmt.Errorf("%w: version %d, this program knows %d", errOther, have, version)
	case have < 1:
		return fmt.Errorf("%w: version %d", errOther, have)
	}
	for i, statements := range migrations[have:] {
		if _, err := tx.ExecContext(ctx, statements); err != nil {
			return fmt.Errorf("migration to version %d: %w", have+i+1, err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, version)); err != nil {
		return err
	}
	return tx.Commit()
}
