package decide

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/part"
)

// What is delivered again, or in another order, leaves the same record.
func TestRecordsOfAnswersAndMarks(t *testing.T) {
	s, _ := newStore(t)
	first := &Decided{ID: newID(newWords), Rubric: newWords, Answer: "true", Source: Model, Text: "one", TS: 1000, Silent: &Silent{Answer: "false", Probability: 0.6}}
	again := *first
	again.Answer = "false"
	marked := &Decided{ID: newID(newWords), Rubric: newWords, Answer: "true", Source: Model, Text: "two", TS: 2000}
	local := &Decided{ID: newID(newWords), Rubric: newWords, Answer: "true", Source: Local, Text: "three", TS: 3000}
	mark := func(d *Decided, label string, at int64) *Mark {
		return &Mark{ID: d.ID, Label: label, By: "ada", At: at}
	}

	require.NoError(t, s.Learn(t.Context(), first))
	require.NoError(t, s.Learn(t.Context(), &again))
	require.NoError(t, s.Mark(t.Context(), marked, mark(marked, "false", 20)))
	require.NoError(t, s.Mark(t.Context(), marked, mark(marked, "true", 10)))
	require.NoError(t, s.Learn(t.Context(), marked))
	require.NoError(t, s.Mark(t.Context(), local, mark(local, "false", 30)))
	require.NoError(t, s.Mark(t.Context(), local, mark(local, "true", 40)))

	records, err := s.Records(t.Context(), newWords)
	require.NoError(t, err)
	got := map[string]Record{}
	for _, r := range records {
		require.NotZero(t, r.revision)
		r.revision = 0
		got[r.Text] = r
	}
	require.Equal(t, map[string]Record{
		"one":   {ID: first.ID, Text: "one", Teacher: "true", Silent: first.Silent, At: 1000},
		"two":   {ID: marked.ID, Text: "two", Teacher: "true", Mark: mark(marked, "false", 20), At: 2000},
		"three": {ID: local.ID, Text: "three", Mark: mark(local, "true", 40), At: 3000},
	}, got)
}

// A rubric that could not be removed whole is reported, and can be removed again.
func TestRemovingARubric(t *testing.T) {
	s, js := newStore(t)
	d := &Decided{ID: newID(newWords), Rubric: newWords, Answer: "true", Source: Model, TS: 1000}
	require.NoError(t, s.Learn(t.Context(), d))
	require.NoError(t, s.Remove(t.Context(), newWords))
	records, err := s.Records(t.Context(), newWords)
	require.NoError(t, err)
	require.Empty(t, records)
	rubrics, err := s.Rubrics(t.Context())
	require.NoError(t, err)
	require.NotContains(t, byID(rubrics), newWords)
	require.Len(t, rubrics, 2)

	require.NoError(t, js.DeleteKeyValue(t.Context(), s.rubrics.Name()))
	require.Error(t, s.Remove(t.Context(), oldWords))
	require.NoError(t, js.DeleteKeyValue(t.Context(), s.records.Name()))
	require.Error(t, s.Remove(t.Context(), oldWords))
	_, err = s.Records(t.Context(), oldWords)
	require.Error(t, err)
}

// Without an encoder the words answer.
func TestZerosWithoutAnEncoder(t *testing.T) {
	z := NewZeros(func() (part.Encoder, error) { return nil, errors.New("no weights") })
	q := question(t, `{"type":"choice","criteria":{"refund":"money back","delivery":"where is my parcel"}}`)
	p, err := z.Answer(t.Context(), newWords, q, "where is my parcel")
	require.NoError(t, err)
	require.Greater(t, p[1], p[0])
}
