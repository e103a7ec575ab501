package evaluate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/evaluate"
	"intenthint/intents"
)

func TestLeaveOut(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{
		{ID: "LIGHT", Triggers: []string{"lamps"}, Examples: []string{"turn on the lamp", "lamp off please", "switch the lamp on", "zxqv blorp"}},
		{ID: "MUSIC", Triggers: []string{"songs"}, Examples: []string{"play a song", "next song please", "stop this song", "play the song again"}},
		{ID: intents.FallbackID, Examples: []string{"asdf qwer"}},
	})
	var parts []int
	outcomes, err := evaluate.LeaveOut(t.Context(), catalog, 3, func(part, of int) {
		require.Equal(t, 3, of)
		parts = append(parts, part)
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, parts)
	texts, right := []string{}, map[string]bool{}
	for _, o := range outcomes {
		texts = append(texts, o.Text)
		right[o.Text] = o.Right()
	}
	require.Equal(t, []string{
		"turn on the lamp", "lamp off please", "switch the lamp on", "zxqv blorp",
		"play a song", "next song please", "stop this song", "play the song again", "asdf qwer",
	}, texts)
	require.True(t, right["turn on the lamp"])
	require.True(t, right["play the song again"])
	require.False(t, right["zxqv blorp"], "no other example has these words")
}

// A catalogue smaller than the number of parts loses one example at a time.
func TestLeaveOutOfASmallCatalogue(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{
		{ID: "A", Triggers: []string{"x"}, Examples: []string{"one", "two"}},
		{ID: intents.FallbackID, Triggers: []string{"y"}},
	})
	outcomes, err := evaluate.LeaveOut(t.Context(), catalog, evaluate.LeaveOutParts, nil)
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
}
