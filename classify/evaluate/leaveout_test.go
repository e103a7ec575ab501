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
	outcomes, err := evaluate.LeaveOut(t.Context(), catalog, evaluate.Parts{Of: 3, Tested: 3}, func(part, of int) {
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
	outcomes, err := evaluate.LeaveOut(t.Context(), catalog, evaluate.Thorough(catalog), nil)
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
}

// Each part of a large catalogue takes seconds.
func TestPartsOfLargeCataloguesAreFew(t *testing.T) {
	of := func(examples int) *intents.Catalog {
		return intents.NewCatalog([]intents.Intent{{ID: "A", Triggers: []string{"x"}, Examples: make([]string, examples)}, {ID: intents.FallbackID, Triggers: []string{"y"}}})
	}
	require.Equal(t, evaluate.Parts{Of: 50, Tested: 50}, evaluate.Thorough(of(1000)))
	require.Equal(t, evaluate.Parts{Of: 25, Tested: 25}, evaluate.Thorough(of(10_000)))
	require.Equal(t, evaluate.Parts{Of: 10, Tested: 10}, evaluate.Thorough(intents.Bundled()))
	require.Equal(t, evaluate.Parts{Of: 10, Tested: 10}, evaluate.Sample(of(1000)))
	require.Equal(t, evaluate.Parts{Of: 10, Tested: 5}, evaluate.Sample(of(10_000)))
	require.Equal(t, evaluate.Parts{Of: 10, Tested: 2}, evaluate.Sample(intents.Bundled()))
}

// Before and after a change the same examples are tested.
func TestASampleStaysTheSame(t *testing.T) {
	texts := func(more ...string) (out []string) {
		catalog := intents.NewCatalog([]intents.Intent{
			{ID: "LIGHT", Triggers: []string{"lamps"}, Examples: append([]string{"lamp on", "lamp off", "dim the lamp", "lamps please"}, more...)},
			{ID: "MUSIC", Triggers: []string{"songs"}, Examples: []string{"a song", "next song", "stop this song", "another song"}},
			{ID: intents.FallbackID, Triggers: []string{"y"}},
		})
		outcomes, err := evaluate.LeaveOut(t.Context(), catalog, evaluate.Parts{Of: 4, Tested: 2}, nil)
		require.NoError(t, err)
		for _, o := range outcomes {
			out = append(out, o.Text)
		}
		return out
	}
	before := texts()
	require.Equal(t, []string{"lamp on", "lamp off", "a song", "another song"}, before)
	require.Equal(t, []string{"lamp on", "lamp off", "brighter", "a song", "another song"}, texts("brighter"))
}
