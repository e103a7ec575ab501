package evaluate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
)

type classifierFunc func(context.Context, classify.Input) (payload.Classification, error)

func (f classifierFunc) Classify(ctx context.Context, in classify.Input) (payload.Classification, error) {
	return f(ctx, in)
}

func forcedA(source string, _ classify.Input) string {
	return map[string]string{payload.SourceLocal: "A", payload.SourceEmbedding: "E"}[source]
}

func TestRun(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{{ID: "A", Triggers: []string{"a"}}})
	away := errors.New("away")
	for _, tc := range []struct {
		row    string
		answer payload.Classification
		err    error
		want   Outcome
	}{
		{
			row:    "local fallback has a forced choice",
			answer: payload.Classification{Intent: "OTHER", Confidence: 0.7, Source: payload.SourceLocal},
			want:   Outcome{Got: "OTHER", Confidence: 0.7, Forced: "A"},
		},
		{
			row:    "so has that of an embedding model",
			answer: payload.Classification{Intent: "OTHER", Confidence: 0.7, Source: payload.SourceEmbedding},
			want:   Outcome{Got: "OTHER", Confidence: 0.7, Forced: "E"},
		},
		{
			row:    "a model's intent is its forced choice",
			answer: payload.Classification{Intent: "B", Confidence: 0.9, Source: payload.SourceLLM},
			want:   Outcome{Got: "B", Confidence: 0.9, Forced: "B"},
		},
		{
			row:    "a model's fallback leaves none",
			answer: payload.Classification{Intent: "OTHER", Confidence: 0.9, Source: payload.SourceLLM},
			want:   Outcome{Got: "OTHER", Confidence: 0.9},
		},
		{
			row:    "a failure is the fallback with confidence 0",
			answer: payload.Classification{Intent: "A", Confidence: 0.9},
			err:    away,
			want:   Outcome{Got: "OTHER", Err: away},
		},
	} {
		t.Run(tc.row, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var done []int
				run := Run{
					Catalog: catalog, Forced: forcedA, Timeout: time.Second,
					Progress: func(n int) { done = append(done, n) },
					Classifier: classifierFunc(func(ctx context.Context, in classify.Input) (payload.Classification, error) {
						require.Same(t, catalog, in.Catalog)
						require.Equal(t, "a message", in.Latest)
						deadline, ok := ctx.Deadline()
						require.True(t, ok)
						require.Equal(t, time.Second, time.Until(deadline), "each message has the whole time")
						time.Sleep(40 * time.Millisecond)
						return tc.answer, tc.err
					}),
				}
				got, err := run.Classify(t.Context(), []Line{{Text: "a message", Intent: "A"}, {Text: "a message", Intent: "A"}})
				require.NoError(t, err)
				tc.want.Text, tc.want.Want, tc.want.Took = "a message", "A", 40*time.Millisecond
				require.Equal(t, []Outcome{tc.want, tc.want}, got)
				require.Equal(t, []int{1, 2}, done)
			})
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	run := Run{Forced: forcedA, Classifier: classifierFunc(func(context.Context, classify.Input) (payload.Classification, error) {
		asked++
		cancel()
		return payload.Classification{Intent: "A"}, nil
	})}
	_, err := run.Classify(ctx, make([]Line, 3))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, asked)
}
