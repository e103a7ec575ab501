package decide

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// answersOf returns records of a boolean, one a millisecond, numbered from from on.
func answersOf(from, n int, more func(*Record)) (out []Record) {
	for i := from; i < from+n; i++ {
		r := Record{ID: fmt.Sprintf("0123456789ab-%d", i), Text: fmt.Sprint("text ", i), Teacher: []string{"true", "false"}[i%2], At: int64(i)}
		more(&r)
		out = append(out, r)
	}
	return out
}

func plainAnswer(*Record) {}

// A student that answers alone hears its teacher mostly about what it is not sure of.
// It learns from as few of these as there are checks.
func TestLessonsKeepTheirMixture(t *testing.T) {
	t.Parallel()
	q := &Question{Type: Boolean, Labels: []string{"true", "false"}}
	before := answersOf(1, 100, plainAnswer)
	after := answersOf(101, 1000, plainAnswer)
	checks := answersOf(1101, 7, func(r *Record) { r.Check = true })
	marks := answersOf(1108, 3, func(r *Record) { r.Mark = &Mark{Label: "true"} })
	all := append(append(append(before, after...), checks...), marks...)
	require.Len(t, lessons(q, all, Standing{}), 1110, "it learns from everything until it answers alone")
	some := lessons(q, all, Standing{Threshold: 0.9, Since: 100})
	require.InDelta(t, 100+7+3+checkShare*1000, len(some), 15)
	require.Equal(t, some, lessons(q, all, Standing{Threshold: 0.9, Since: 100}), "the same in every process")
	require.Len(t, lessons(q, all, Standing{Back: 100}), 1010, "what was before it was taken back no longer counts")
	require.Len(t, lessons(q, all, Standing{Back: 1100}), 1110, "unless little came since")
}

func TestSpare(t *testing.T) {
	t.Parallel()
	all := answersOf(1, 1300, func(r *Record) { r.Check = r.At > 1200 })
	require.Empty(t, spare(all[:1000], Standing{}))
	require.Equal(t, all[:300], spare(all, Standing{}), "the oldest")
	s := Standing{Threshold: 0.9, Since: 500}
	gone := map[string]bool{}
	for _, r := range spare(all, s) {
		gone[r.ID] = true
	}
	kept, learnt := 0, 0
	for i := range all {
		if gone[all[i].ID] {
			require.False(t, s.learns(&all[i]), "what it learns from stays while there is room")
			continue
		}
		kept++
		if s.learns(&all[i]) {
			learnt++
		}
	}
	require.Equal(t, otherRecords, kept-learnt)
	require.Greater(t, learnt, 600)
	require.LessOrEqual(t, kept, maxRecords)
}
