package classify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/payload"
)

// vectors turns each text into a vector that holds its length.
type vectors struct{ err error }

func (v vectors) Embed(_ context.Context, texts []string) (out [][]float32, _ provider.Usage, err error) {
	for _, text := range texts {
		out = append(out, []float32{float32(len(text)), 0})
	}
	return out, provider.Usage{InputTokens: 3}, v.err
}

// vectored wants the vectors of the message and of the conversation, and takes
// the number in the first for the goal.
type vectored struct{ confidence float64 }

func (vectored) Dimensions() int { return 2 }

func (vectored) NeedsConversation(in Input) bool { return in.Latest == "and" }

func (vectored) Texts(in Input) []string {
	if in.Latest == "" {
		return nil
	}
	texts := []string{in.Latest}
	for _, turn := range in.Conversation {
		texts = append(texts, turn.Text)
	}
	return texts
}

func (v vectored) ClassifyVectors(in Input, vectors map[string][]float32) payload.Classification {
	var goal strings.Builder
	for _, text := range v.Texts(in) {
		if v := vectors[text]; v != nil {
			_, _ = fmt.Fprint(&goal, v[0], " ")
		}
	}
	return payload.Classification{Intent: "WEATHER", Goal: goal.String(), Confidence: v.confidence, Source: payload.SourceLocal}
}

func TestEmbedding(t *testing.T) {
	for _, tt := range []struct {
		name   string
		client vectors
		in     Input
		goal   string
		says   string // of the error
	}{
		{"a vector", vectors{}, Input{Latest: "rain"}, "4 ", ""},
		{"with a conversation", vectors{}, Input{Latest: "and", Conversation: []payload.Turn{{Text: "rain"}, {Text: "today"}}}, "3 4 5 ", ""},
		{"no words", vectors{}, Input{}, "", "no words"},
		{"failing", vectors{err: errors.New("HTTP status 500")}, Input{Latest: "rain"}, "", "HTTP status 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NewEmbedding("p/e", tt.client, vectored{}, model.Options{}).Classify(t.Context(), tt.in)
			if tt.says != "" {
				require.ErrorIs(t, err, ErrFailed)
				require.ErrorContains(t, err, tt.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, payload.Classification{Intent: "WEATHER", Goal: tt.goal, Source: payload.SourceEmbedding, Model: "p/e"}, got)
		})
	}
}

// mapped is a model in this process.
type mapped struct{}

func (mapped) Vectors(_ context.Context, texts []string) (map[string][]float32, error) {
	out := map[string][]float32{}
	for _, text := range texts {
		out[text] = []float32{float32(len(text)), 0}
	}
	return out, nil
}

func TestABuiltInEmbeddingTakesWhatFits(t *testing.T) {
	e := NewBuiltIn("builtin/x", mapped{}, vectored{confidence: 0.7}, func(text string) bool { return text != "雨" })
	for _, tt := range []struct {
		name string
		in   Input
		err  error
		goal string // the vectors that were made
	}{
		{"a message that fits", Input{Latest: "rain"}, nil, "4 "},
		{"another language", Input{Latest: "雨"}, ErrUnfit, ""},
		{"another language in a conversation", Input{Latest: "雨", Conversation: []payload.Turn{{Text: "rain"}}}, ErrUnfit, ""},
		{"a message that needs what was said before", Input{Latest: "and", Conversation: []payload.Turn{{Text: "rain"}}}, ErrNeedsConversation, ""},
		{"a message that stands alone in a conversation", Input{Latest: "snow", Conversation: []payload.Turn{{Text: "it rains"}}}, nil, "4 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := e.Classify(t.Context(), tt.in)
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				require.ErrorIs(t, err, ErrFailed)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.goal, got.Goal)
			require.Equal(t, []string{payload.SourceEmbedding, "builtin/x"}, []string{got.Source, got.Model})
		})
	}
}

// embeddedAfter is an embedding tier that answers after d.
func embeddedAfter(d time.Duration, confidence float64, err error) modelFunc {
	return func(ctx context.Context) (payload.Classification, error) {
		got, err := after(d, err)(ctx)
		if err == nil {
			got.Source, got.Model, got.Confidence = payload.SourceEmbedding, "p/e", confidence
		}
		return got, err
	}
}

func TestClassifierWithAnEmbeddingModel(t *testing.T) {
	const budget = 10 * time.Second
	broken := fmt.Errorf("%w: HTTP status 500", ErrFailed)
	unasked := modelFunc(func(context.Context) (payload.Classification, error) {
		t.Error("unexpected call")
		return payload.Classification{}, ErrFailed
	})
	for _, tt := range []struct {
		name      string
		mode      Mode
		local     localAt
		embedding Model
		model     Model
		source    string
		took      time.Duration
	}{
		{"local: embedding answers", ModeLocal, 0.95, embeddedAfter(time.Second, 0.3, nil), nil, payload.SourceEmbedding, time.Second},
		{"local: embedding fails", ModeLocal, 0.5, embeddedAfter(time.Second, 0, broken), nil, payload.SourceLocal, time.Second},
		{"local: late embedding gets half of the time", ModeLocal, 0.5, embeddedAfter(time.Hour, 0.9, nil), nil, payload.SourceLocal, budget / 2},
		{"local: embedding that ignores its context gets half of the time", ModeLocal, 0.5, stubborn(6 * time.Second), nil, payload.SourceLocal, budget / 2},
		{"llm: not asked", ModeLLM, 0.5, unasked, after(time.Second, nil), payload.SourceLLM, time.Second},
		{"hedged: the model answers", ModeHedged, 0.5, embeddedAfter(0, 0.9, nil), after(2*time.Second, nil), payload.SourceLLM, 2 * time.Second},
		{"hedged: the model fails after the embedding", ModeHedged, 0.5, embeddedAfter(time.Second, 0.9, nil), after(2*time.Second, broken), payload.SourceEmbedding, 2 * time.Second},
		{"hedged: the model fails before the embedding", ModeHedged, 0.5, embeddedAfter(3*time.Second, 0.9, nil), after(2*time.Second, broken), payload.SourceEmbedding, 3 * time.Second},
		{"hedged: the model is late", ModeHedged, 0.5, embeddedAfter(time.Second, 0.9, nil), after(time.Hour, nil), payload.SourceEmbedding, budget},
		{"hedged: both fail", ModeHedged, 0.5, embeddedAfter(time.Second, 0.9, broken), after(2*time.Second, broken), payload.SourceLocal, 2 * time.Second},
		{"hedged: both are late", ModeHedged, 0.5, embeddedAfter(time.Hour, 0.9, nil), after(time.Hour, nil), payload.SourceLocal, budget},
		{"cascade: the local answer is accepted", ModeCascade, 0.9, unasked, unasked, payload.SourceLocal, 0},
		{"cascade: the embedding is accepted", ModeCascade, 0.5, embeddedAfter(time.Second, 0.9, nil), unasked, payload.SourceEmbedding, time.Second},
		{"cascade: neither is accepted", ModeCascade, 0.5, embeddedAfter(time.Second, 0.6, nil), after(time.Second, nil), payload.SourceLLM, 2 * time.Second},
		{"cascade: neither is accepted and the model fails", ModeCascade, 0.5, embeddedAfter(time.Second, 0.6, nil), after(time.Second, broken), payload.SourceEmbedding, 2 * time.Second},
		{"cascade: a late embedding leaves the model half of the time", ModeCascade, 0.5, embeddedAfter(time.Hour, 0.6, nil), after(4*time.Second, nil), payload.SourceLLM, 9 * time.Second},
		{"cascade: both are late", ModeCascade, 0.5, embeddedAfter(time.Hour, 0.6, nil), after(time.Hour, nil), payload.SourceLocal, budget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(tt.mode, tt.local, tt.model, Options{LocalAccept: 0.9, Embedding: tt.embedding})
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				start := time.Now()
				got, err := c.Classify(ctx, Input{})
				require.NoError(t, err)
				require.Equal(t, tt.source, got.Source)
				require.Equal(t, tt.took, time.Since(start))
				if tt.source == payload.SourceEmbedding {
					require.Equal(t, "p/e", got.Model)
				}
				time.Sleep(time.Minute) // for the one that ignores its context
			})
		})
	}
	t.Run("without a deadline", func(t *testing.T) {
		got, err := New(ModeLocal, localAt(0.5), nil, Options{Embedding: embeddedAfter(0, 0.9, nil)}).Classify(t.Context(), Input{})
		require.NoError(t, err)
		require.Equal(t, payload.SourceEmbedding, got.Source)
	})
	t.Run("after the deadline", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := New(ModeLocal, localAt(0.5), nil, Options{Embedding: unasked}).Classify(ctx, Input{})
		require.NoError(t, err)
		require.Equal(t, payload.SourceLocal, got.Source)
	})
}

func TestConcurrentEmbeddingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &causes{}
		c := New(ModeLocal, localAt(0.5), nil, Options{Bounds: Bounds{Limit: model.NewLimit(2)}, Embedding: embeddedAfter(time.Second, 0.9, nil), Observer: seen})
		var busy sync.WaitGroup
		for range 2 {
			busy.Go(func() {
				got, err := c.Classify(t.Context(), Input{})
				assert.NoError(t, err)
				assert.Equal(t, payload.SourceEmbedding, got.Source)
			})
		}
		synctest.Wait()
		start := time.Now()
		got, err := c.Classify(t.Context(), Input{})
		require.NoError(t, err)
		require.Zero(t, time.Since(start), "calls never queue")
		require.Equal(t, payload.SourceLocal, got.Source)
		require.Len(t, seen.list, 1)
		require.ErrorIs(t, seen.list[0], ErrOverloaded)
		busy.Wait()
	})
}

func TestHedgedCancelsUnneededEmbedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		embedding := modelFunc(func(ctx context.Context) (payload.Classification, error) {
			<-ctx.Done()
			close(ended)
			return payload.Classification{}, ctx.Err()
		})
		start := time.Now()
		_, err := New(ModeHedged, localAt(0.5), after(time.Second, nil), Options{Embedding: embedding}).Classify(t.Context(), Input{})
		require.NoError(t, err)
		<-ended
		require.Equal(t, time.Second, time.Since(start))
	})
}
