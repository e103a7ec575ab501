package evaluate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
)

type classifierFunc func(context.Context, classify.Input) (payload.Classification, error)

func (f classifierFunc) Classify(ctx context.Context, in classify.Input) (payload.Classification, error) {
	return f(ctx, in)
}

// predictA is the prediction of a classifier whose first choice is A, or E by its
// embeddings, then OTHER.
func predictA(source string, _ classify.Input) local.Prediction {
	first := map[string]string{payload.SourceEmbedding: "E"}[source]
	if first == "" {
		first = "A"
	}
	return local.Prediction{
		Intent: first, Nearest: "an example of " + first, Similarity: 0.5,
		Ranked: []local.Score{{Intent: first, Probability: 0.6}, {Intent: "OTHER", Probability: 0.3}, {Intent: "C", Probability: 0.1}},
	}
}

func nearest(intent, message string) (string, float64) { return intent + " like " + message, 0.25 }

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
			want: Outcome{
				Got: "OTHER", Confidence: 0.7, Forced: "A", Source: payload.SourceLocal, RunnerUp: "A", RunnerUpConfidence: 0.6,
				Misled: "OTHER like a message", Similarity: 0.25,
			},
		},
		{
			row:    "embedding fallback has a forced choice",
			answer: payload.Classification{Intent: "OTHER", Confidence: 0.7, Source: payload.SourceEmbedding},
			want: Outcome{
				Got: "OTHER", Confidence: 0.7, Forced: "E", Source: payload.SourceEmbedding, RunnerUp: "E", RunnerUpConfidence: 0.6,
				Misled: "OTHER like a message", Similarity: 0.25,
			},
		},
		{
			row:    "wrong embedding answer has its own nearest example",
			answer: payload.Classification{Intent: "E", Confidence: 0.7, Source: payload.SourceEmbedding},
			want: Outcome{
				Got: "E", Confidence: 0.7, Forced: "E", Source: payload.SourceEmbedding, RunnerUp: "OTHER", RunnerUpConfidence: 0.3,
				Misled: "an example of E", Similarity: 0.5,
			},
		},
		{
			row:    "right answer misled nobody",
			answer: payload.Classification{Intent: "A", Confidence: 0.7, Source: payload.SourceLocal},
			want:   Outcome{Got: "A", Confidence: 0.7, Forced: "A", Source: payload.SourceLocal, RunnerUp: "OTHER", RunnerUpConfidence: 0.3},
		},
		{
			row:    "model's intent is its forced choice",
			answer: payload.Classification{Intent: "B", Confidence: 0.9, Source: payload.SourceLLM},
			want: Outcome{
				Got: "B", Confidence: 0.9, Forced: "B", Source: payload.SourceLLM, RunnerUp: "A", RunnerUpConfidence: 0.6,
				Misled: "B like a message", Similarity: 0.25,
			},
		},
		{
			row:    "model's fallback has no forced choice",
			answer: payload.Classification{Intent: "OTHER", Confidence: 0.9, Source: payload.SourceLLM},
			want: Outcome{
				Got: "OTHER", Confidence: 0.9, Source: payload.SourceLLM, RunnerUp: "A", RunnerUpConfidence: 0.6,
				Misled: "OTHER like a message", Similarity: 0.25,
			},
		},
		{
			row:    "failure is the fallback with confidence 0",
			answer: payload.Classification{Intent: "A", Confidence: 0.9},
			err:    away,
			want:   Outcome{Got: "OTHER", Err: away},
		},
	} {
		t.Run(tc.row, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var done []string
				run := Run{
					Catalog: catalog, Predict: predictA, Nearest: nearest, Timeout: time.Second,
					Done: func(line *Line, o *Outcome) error {
						done = append(done, line.Text+" "+o.Got)
						return nil
					},
					Classifier: classifierFunc(func(ctx context.Context, in classify.Input) (payload.Classification, error) {
						require.Same(t, catalog, in.Catalog)
						require.Equal(t, "a message", in.Latest)
						deadline, ok := ctx.Deadline()
						require.True(t, ok)
						require.Equal(t, time.Second, time.Until(deadline), "each message has the whole timeout")
						time.Sleep(40 * time.Millisecond)
						return tc.answer, tc.err
					}),
				}
				got, err := run.Classify(t.Context(), []Line{{Text: "a message", Intent: "A"}, {Text: "a message", Intent: "A"}})
				require.NoError(t, err)
				tc.want.Text, tc.want.Want, tc.want.Took = "a message", "A", 40*time.Millisecond
				require.Equal(t, []Outcome{tc.want, tc.want}, got)
				require.Equal(t, []string{"a message " + tc.want.Got, "a message " + tc.want.Got}, done)
			})
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	run := Run{Predict: predictA, Classifier: classifierFunc(func(context.Context, classify.Input) (payload.Classification, error) {
		asked++
		cancel()
		return payload.Classification{Intent: "A"}, nil
	})}
	_, err := run.Classify(ctx, make([]Line, 3))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, asked)
}

func TestRunEndsWhenDoneFails(t *testing.T) {
	full := errors.New("disk full")
	run := Run{
		Predict: predictA,
		Classifier: classifierFunc(func(context.Context, classify.Input) (payload.Classification, error) {
			return payload.Classification{Intent: "A"}, nil
		}),
		Done: func(*Line, *Outcome) error { return full },
	}
	_, err := run.Classify(t.Context(), make([]Line, 3))
	require.ErrorIs(t, err, full)
}

func TestRunSendsTheHistory(t *testing.T) {
	said := func(turns ...string) (out []payload.Turn) {
		for _, t := range turns {
			role, text, _ := strings.Cut(t, ":")
			out = append(out, payload.Turn{Role: role, Text: text})
		}
		return out
	}
	window := conversation.Window{User: conversation.Side{Turns: 2, Chars: 40}, Assistant: conversation.Side{Turns: 1, Chars: 40}}
	for _, tc := range []struct {
		row     string
		mode    conversation.QueryMode
		history []payload.Turn
		want    []payload.Turn
	}{
		{"none", conversation.ModeRecent, nil, nil},
		{"pairs", conversation.ModeRecent, said("user:one", "assistant:two"), said("user:one", "assistant:two")},
		{"the window", conversation.ModeRecent, said("user:1", "assistant:2", "user:3", "assistant:4", "user:5", "assistant:6"), said("user:3", "user:5", "assistant:6")},
		{"all", conversation.ModeFull, said("user:1", "assistant:2", "user:3", "assistant:4"), said("user:1", "assistant:2", "user:3", "assistant:4")},
		{"the message alone", conversation.ModeMessage, said("user:one", "assistant:two"), nil},
		{"odd roles are left out", conversation.ModeRecent, said("system:be kind", "user:one", "tool:x", "human:y", "User:z", ":w", "assistant:two"), said("user:one", "assistant:two")},
		{"cleaned and folded", conversation.ModeRecent, said("user: a\n\"b\" ", "assistant:<think>x</think>\tc"), said("user:a \"b\"", "assistant:c")},
		{"cut", conversation.ModeRecent, said("user:" + strings.Repeat("語", 41)), said("user:" + strings.Repeat("語", 11) + "… (truncated...) …" + strings.Repeat("語", 11))},
		{"the message itself is not its history", conversation.ModeRecent, said("user:one", "assistant:two", "user:a message"), said("user:one", "assistant:two")},
		{"blank turns", conversation.ModeRecent, said("user: ", "assistant:"), nil},
	} {
		t.Run(tc.row, func(t *testing.T) {
			var got []payload.Turn
			run := Run{
				Predict: predictA, QueryMode: tc.mode, Window: window,
				Classifier: classifierFunc(func(_ context.Context, in classify.Input) (payload.Classification, error) {
					got = in.Conversation
					return payload.Classification{Intent: "A"}, nil
				}),
			}
			_, err := run.Classify(t.Context(), []Line{{Text: "a message", Intent: "A", History: tc.history}})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestRunTellsOfEarlierMessages(t *testing.T) {
	user := func(text string) payload.Turn { return payload.Turn{Role: payload.RoleUser, Text: text} }
	agent := payload.Turn{Role: payload.RoleAssistant, Text: "fine"}
	earlier := []payload.Turn{user("one"), user("two"), user("three")}
	window := conversation.Window{User: conversation.Side{Turns: 2, Chars: 40}, Assistant: conversation.Side{Turns: 2, Chars: 40}}
	for _, row := range []struct {
		name    string
		mode    conversation.QueryMode
		history []payload.Turn
		want    []payload.Turn
	}{
		{"no history", conversation.ModeRecent, nil, earlier[1:]},
		{"all of them", conversation.ModeFull, nil, earlier},
		{"the message alone", conversation.ModeMessage, nil, nil},
		{"a history with the user", conversation.ModeRecent, []payload.Turn{user("hello"), agent}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []payload.Turn
			run := Run{
				Catalog: intents.NewCatalog(nil), Predict: predictA, QueryMode: row.mode, Window: window,
				Classifier: classifierFunc(func(_ context.Context, in classify.Input) (payload.Classification, error) {
					got = append(got, in.Earlier...)
					return payload.Classification{Intent: "A"}, nil
				}),
			}
			_, err := run.Classify(t.Context(), []Line{{Text: "and now?", Intent: "A", History: row.history, Earlier: earlier}})
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
}
