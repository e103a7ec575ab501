package classify

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/payload"
)

func TestAKeywordAsksNobody(t *testing.T) {
	t.Parallel()
	unasked := modelFunc(func(context.Context) (payload.Classification, error) {
		t.Error("a model was asked")
		return payload.Classification{}, ErrFailed
	})
	local := localFunc(func(Input) payload.Classification {
		t.Error("the local classifier was asked")
		return payload.Classification{}
	})
	catalog := intents.NewCatalog([]intents.Intent{
		{ID: "PAUSE", Name: "Pause", Fastpath: intents.Fastpath{Keywords: []string{"stop"}}},
		{ID: "STOP_ALL", Fastpath: intents.Fastpath{Keywords: []string{"Stop "}}},
	})
	for _, mode := range []Mode{ModeLocal, ModeLLM, ModeHedged, ModeCascade} {
		t.Run(string(mode), func(t *testing.T) {
			c := New(mode, local, unasked, Options{LocalAccept: 0.9, Embedding: unasked})
			in := Input{Catalog: catalog, Latest: "ＳＴＯＰ"}
			require.False(t, c.AsksModel(&in))
			got, err := c.Classify(t.Context(), in)
			require.NoError(t, err)
			require.Equal(t, payload.Classification{
				Intent: "PAUSE", Name: "Pause", Reason: "the message is a keyword of this intent", Goal: "Pause",
				Confidence: 1, Complexity: payload.ComplexityLow, Source: payload.SourceFastpath,
			}, got)
		})
	}
	got, err := New(ModeLLM, nil, unasked, Options{}).Classify(t.Context(), Input{Catalog: catalog.Without([]string{"PAUSE"}), Latest: "stop"})
	require.NoError(t, err)
	require.Equal(t, []string{"STOP_ALL", "STOP_ALL"}, []string{got.Intent, got.Name})
}
