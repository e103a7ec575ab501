package local

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
)

// What is known of earlier messages changes no answer, whatever was asked before, and is
// not used for another catalogue.
func TestVerdictsOfEarlierMessagesAreKept(t *testing.T) {
	t.Parallel()
	said := []string{
		"find me a quiet hotel near the harbour in Lisbon", "and with breakfast?", "thanks a lot", "hello",
		"please translate this letter to French and then remind me to post it tomorrow at nine",
		"what about a cheaper one", "review my pull request", "幫我看看明天下午三點的會議可不可以改到星期五", "ok", "no, the other one",
	}
	var asked []classify.Input
	for a := range said {
		for b := range said {
			asked = append(asked, classify.Input{Catalog: intents.Bundled(), Latest: said[(a+b)%len(said)], Conversation: []payload.Turn{
				{Role: payload.RoleUser, Text: said[a]},
				{Role: payload.RoleAssistant, Text: "Which one do you mean?"},
				{Role: payload.RoleUser, Text: said[b]},
				{Role: payload.RoleAssistant, Text: "Done."},
			}})
		}
	}
	forgetful, m := Train(intents.Bundled()), Train(intents.Bundled())
	forgetful.judged = nil
	narrow := intents.Bundled().Without([]string{"TRAVEL*", "CODE*"})
	for round := range 2 {
		for i, in := range asked {
			require.Equal(t, forgetful.Classify(in), m.Classify(in), "%d: %v", round, in)
			if i%7 == 0 {
				in.Catalog = narrow
				require.Equal(t, forgetful.Classify(in), m.Classify(in), "%d, narrowed: %v", round, in)
			}
		}
	}
	require.Equal(t, len(said), m.judged.cache.Len(), "each once, none of the narrowed catalogue")

	// A known verdict is used.
	sc := m.newScratch()
	marked, ok := m.judged.get(said[0], sc.scores)
	require.True(t, ok)
	marked.pFirst = 0.125
	m.judged.put(said[0], &marked, sc.scores)
	v := m.requestBefore(sc, said[0], nil, nil)
	require.InDelta(t, 0.125, v.pFirst, 0)
	_, ok = m.judged.get("something else", sc.scores)
	require.False(t, ok)
}

func TestKeptVerdictsAreBounded(t *testing.T) {
	t.Parallel()
	j := newJudged()
	for i := range maxJudged + 10 {
		j.put(strconv.Itoa(i), &verdict{row: i}, []float32{float32(i)})
	}
	require.Equal(t, maxJudged, j.cache.Len())
	scores := make([]float32, 1)
	v, ok := j.get(strconv.Itoa(maxJudged), scores)
	require.True(t, ok)
	require.Equal(t, maxJudged, v.row)
	require.InDelta(t, maxJudged, scores[0], 0)
}
