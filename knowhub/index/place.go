package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// place is the state of the copy that the file stores about itself.
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

// Held returns how many keys of the bucket the index knows: its experiences, and keys
// that were removed.
func (x *Index) Held(ctx context.Context) (keys uint64, err error) {
	err = x.reading(ctx, func(r *reader) error { return r.held.QueryRowContext(ctx).Scan(&keys) })
	return keys, err
}

// content identifies a set of rows by their number and a checksum of their ids and
// revisions. SQLite stores the checksum as a signed number.
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

// compare returns [ErrDamaged] if the rows are not those that this program has written.
func (r *reader) compare(ctx context.Context) error {
	p, err := readPlace(ctx, r.conn)
	if err != nil {
		return err
	}
	rows, err := r.conn.QueryContext(ctx, `SELECT id, revision FROM experiences`)
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
		return fmt.Errorf("%w: %d rows do not match the %d rows that were written", ErrDamaged, found.rows, p.held.rows)
	}
	return nil
}
