package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"intenthint/knowhub/experience"
)

// scan reads the columns of an experience, and any further columns into more.
func scan(row interface{ Scan(dest ...any) error }, n *int64, e *experience.Experience, more ...any) (err error) {
	var created, flags, decided string
	to := []any{n, &e.ID, &e.Task, &e.Resource, &e.Result, &e.Confidence, &e.Status, &e.AgentID, &e.SubmittedBy, &e.SessionKey, &created, &e.Seen, &flags, &decided, &e.DecidedBy}
	err = row.Scan(append(to, more...)...)
	if err != nil {
		return err
	}
	if e.CreatedAt, err = unstamp(created); err != nil {
		return err
	}
	if e.DecidedAt, err = unstamp(decided); err != nil {
		return err
	}
	if flags != "null" {
		if err := json.Unmarshal([]byte(flags), &e.Flags); err != nil {
			return fmt.Errorf("%w: flags: %w", ErrDamaged, err)
		}
	}
	return nil
}

func scanAll(rows *sql.Rows) (list []experience.Experience, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		list = append(list, experience.Experience{})
		if err := scan(rows, &n, &list[len(list)-1]); err != nil {
			return nil, err
		}
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
	var list []experience.Experience
	err := x.reading(ctx, func(r *reader) error {
		rows, err := r.list.QueryContext(ctx, string(status), ms, after.ID, bound(limit, defaultList, maxList))
		if err != nil {
			return err
		}
		list, err = scanAll(rows)
		return err
	})
	return list, err
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
	err := x.reading(ctx, func(r *reader) error {
		rows, err := r.counts.QueryContext(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var status experience.Status
			var n int
			if err := rows.Scan(&status, &n); err != nil {
				return err
			}
			counts[status] = n
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}
