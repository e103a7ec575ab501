package record_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// words is the local classifier as replays ask it.
type words struct{ *local.Model }

func (w words) Classify(_ context.Context, in classify.Input) (payload.Classification, error) {
	return w.Model.Classify(in), nil
}

// BenchmarkReplay is the time of a turn with four turns before it, by words, on all
// processors. Thirty thousand turns in ten seconds are 333 µs each.
func BenchmarkReplay(b *testing.B) {
	catalog := intents.Bundled()
	classifier := words{local.Trained(catalog)}
	var said []string
	for _, in := range catalog.Enabled() {
		for _, example := range in.Examples {
			said = append(said, example+fmt.Sprintf(" (%d)", len(said))) // no example to the letter
		}
	}
	turns := make([]record.Turn, b.N)
	for i := range turns {
		turn := store.Turn{Input: said[i*7919%len(said)], Intent: store.Intent{Result: &payload.Classification{Intent: "CHAT", Confidence: 0.9, Source: payload.SourceLocal}}}
		for k := range 2 {
			text := said[(i*7919+k+1)%len(said)]
			turn.Intent.Input = append(turn.Intent.Input, payload.Turn{Role: payload.RoleUser, Text: text}, payload.Turn{Role: payload.RoleAssistant, Text: "Done: " + text})
		}
		turns[i] = record.NewTurn(store.Summary{}, &turn, 0.5)
	}
	b.ReportAllocs()
	b.ResetTimer()
	got, err := record.Replay(b.Context(), turns, classifier, record.ReplayOptions{
		Catalog: func(string) *intents.Catalog { return catalog }, ThenMinConfidence: 0.5, MinConfidence: 0.5,
	})
	require.NoError(b, err)
	require.Equal(b, b.N, got.Compared)
}
