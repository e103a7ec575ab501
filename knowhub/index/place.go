package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// place is what the file says of itself.
type place struct {
	bucket   string
	revision uint64
	begun    int64
	held     content
}

func readPlace(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (p place, err error) {
	var sum int64
	err = db.QueryRowContext(ctx, `SELECT bucket, revision, begun, held, checksum FROM place`).Scan(&p.bucket, &p.revision, &p.begun, &p.held.rows, &sum)
	p.held.sum = uint64(sum) //nolint:gosec // see content
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: no place", ErrDamaged)
	}
	return p, err
}

// content tells a set of rows from another one: how many they are, and a sum over
// their ids and revisions, which SQLite stores as a signed number.
type content struct {
	rows int64
	sum  uint64
}

func (c *content) add(id string, revision uint64) {
	c.rows++
	c.sum += hashOf(id, revision)
}

func (c *content) remove(id string, revision uint64) {
	c.rows--
	c.sum -= hashOf(id, revision)
}

func hashOf(id string, revision uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, revision))
	_, _ = h.Write([]byte(id))
	return h.Sum64()
}

// compare returns [ErrDamaged] when there are other rows than this program has
// written.
func (x *Index) compare(ctx context.Context) error {
	tx, err := x.read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	p, err := readPlace(ctx, tx)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT id, revision FROM experiences`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var found content
	for rows.Next() {
		var id string
		var revision uint64
		if err := rows.Scan(&id, &revision); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		found.add(id, revision)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found != p.held {
		return fmt.Errorf("%w: %d rows, and not those that were written, which were %d", ErrDamaged, found.rows, p.held.rows)
	}
	return nil
}
