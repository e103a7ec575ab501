package index_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

func open(t testing.TB, path string) *index.Index {
	t.Helper()
	x, err := index.Open(t.Context(), path, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// plain opens a file as a stranger would.
func plain(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// approved is an approved experience.
func approved(id, task, resource, result string) experience.Experience {
	return experience.Experience{ID: id, Task: task, Resource: resource, Result: result, Confidence: 1, Status: experience.Approved, AgentID: "main", SubmittedBy: "jo", CreatedAt: created}
}

func change(revision int, e experience.Experience) index.Change {
	return index.Change{ID: e.ID, Revision: uint64(revision), Experience: e} //nolint:gosec // small
}

// some are n experiences.
func some(n int) []index.Change {
	var changes []index.Change
	for i := range n {
		e := approved(fmt.Sprintf("id%04d", i), fmt.Sprintf("task number%d of many", i), "resource", fmt.Sprintf("result about topic%d", i%7))
		e.CreatedAt = created.Add(time.Duration(i) * time.Minute)
		changes = append(changes, change(i+1, e))
	}
	return changes
}

func search(t testing.TB, x *index.Index, text string) (ids []string) {
	t.Helper()
	hits, err := x.Search(t.Context(), index.Query{Text: text})
	require.NoError(t, err)
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}
