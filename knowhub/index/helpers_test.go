package index_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// made returns an index with changes.
func made(changes ...experience.Change) *index.Index {
	x := index.New()
	x.Reset("bucket")
	x.Apply(changes)
	return x
}

// approved is an approved experience.
func approved(id, task, resource, result string) experience.Experience {
	return experience.Experience{ID: id, Task: task, Resource: resource, Result: result, Confidence: 1, Status: experience.Approved, AgentID: "main", SubmittedBy: "jo", CreatedAt: created}
}

func change(revision int, e experience.Experience) experience.Change {
	return experience.Change{ID: e.ID, Revision: uint64(revision), Experience: e} //nolint:gosec // small
}

func removed(revision uint64, id string) experience.Change {
	return experience.Change{ID: id, Revision: revision, Removed: true}
}

// some are n experiences.
func some(n int) []experience.Change {
	var changes []experience.Change
	for i := range n {
		e := approved(fmt.Sprintf("id%04d", i), fmt.Sprintf("task number%d of many", i), "resource", fmt.Sprintf("result about topic%d", i%7))
		e.CreatedAt = created.Add(time.Duration(i) * time.Minute)
		changes = append(changes, change(i+1, e))
	}
	return changes
}

func search(t testing.TB, x *index.Index, text string) (ids []string) {
	t.Helper()
	hits := x.Search(index.Query{Text: text})
	for _, h := range hits {
		require.NotEmpty(t, h.Task)
		ids = append(ids, h.ID)
	}
	return ids
}
