package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is no document is corrupt, and not a session without turns.
func TestSummarizeRefuses(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"nothing":          ``,
		"blank":            " \n",
		"no JSON":          `oops`,
		"a list":           `[]`,
		"a number":         `5`,
		"null":             `null`,
		"cut off":          `{"sessionId":"s","history":[`,
		"another type":     `{"sessionId":5,"history":[]}`,
		"current is text":  `{"sessionId":"s","current":"r","history":[]}`,
		"history is an id": `{"sessionId":"s","history":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			summary, err := Summarize([]byte(document))
			require.ErrorIs(t, err, ErrCorrupt)
			require.Zero(t, summary)
		})
	}
}

func TestSessionOfRefuses(t *testing.T) {
	t.Parallel()
	_, err := SessionOf([]Fact{{ID: "e1"}})
	require.ErrorIs(t, err, ErrNoSession)
	require.ErrorContains(t, err, "e1")
	_, err = SessionOf([]Fact{{ID: "e1", SessionID: "a"}, {ID: "e2", SessionID: "b"}})
	require.Error(t, err)
	session, err := SessionOf([]Fact{{ID: "e1", SessionID: "a"}, {ID: "e2", SessionID: "a"}})
	require.NoError(t, err)
	require.Equal(t, "a", session)
}
