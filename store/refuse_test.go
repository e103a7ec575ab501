package store

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/subjects"
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

func TestIsSession(t *testing.T) {
	for _, row := range []struct {
		name, token      string
		isToken, session bool
	}{
		{"letters, digits and signs", "aZ09_-=", true, true},
		{"the longest", strings.Repeat("a", subjects.MaxNameBytes), true, true},
		{"too long", strings.Repeat("a", subjects.MaxNameBytes+1), false, false},
		{"empty", "", false, false},
		{"the absent value", subjects.AbsentToken, true, false},
		{"a dot", "a.b", false, false},
		{"a path", "a/b", false, false},
		{"a space", "a b", false, false},
		{"beside the letters", "a@", false, false},
		{"beside the small letters", "a{", false, false},
		{"beside the capitals", "a[", false, false},
		{"beside the digits", "a:", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.isToken, IsToken(row.token))
			require.Equal(t, row.session, IsSession(row.token))
		})
	}
}
