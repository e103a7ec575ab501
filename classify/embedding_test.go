package classify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
	"intenthint/payload"
)

// embedder is an embedding model that answers after delay; what it is to answer
// first stands in script.
type embedder struct {
	delay  time.Duration
	err    error
	script [][][]float32
	panics bool

	mu    sync.Mutex
	asked [][]string
}

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error) {
	e.mu.Lock()
	e.asked = append(e.asked, slices.Clone(texts))
	err := e.err
	var answer [][]float32
	if len(e.script) > 0 {
		answer, e.script = e.script[0], e.script[1:]
	}
	e.mu.Unlock()
	select {
	case <-time.After(e.delay):
	case <-ctx.Done():
		return nil, provider.Usage{}, ctx.Err()
	}
	switch {
	case e.panics:
		panic("a library gave up")
	case err != nil:
		return nil, provider.Usage{}, err
	case answer == nil:
		for _, text := range texts {
			answer = append(answer, []float32{float32(len(text)), 0})
		}
	}
	return answer, provider.Usage{InputTokens: 3}, nil
}

func (e *embedder) calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

// vectored wants the vectors of the message and of the conversation, and takes
// the number in the first for the goal.
type vectored struct{ confidence float64 }

func (vectored) Dimensions() int { return 2 }

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
		_, _ = fmt.Fprint(&goal, vectors[text][0], " ")
	}
	return payload.Classification{Intent: "WEATHER", Goal: goal.String(), Confidence: v.confidence, Source: payload.SourceLocal}
}

func TestEmbedding(t *testing.T) {
	busy := &provider.StatusError{Code: 429, RetryAfter: 20 * time.Second}
	for _, tt := range []struct {
		name     string
		embedder *embedder
		latest   string
		err      error
		says     string
		outcome  Outcome // "" for no call
		took     time.Duration
	}{
		{"a vector", &embedder{delay: time.Second}, "rain", nil, "", OutcomeOK, time.Second},
		{"no words", &embedder{}, "", ErrFailed, "no words", "", 0},
		{"late", &embedder{delay: time.Hour}, "rain", ErrDeadline, "", OutcomeLate, 10 * time.Second},
		{"failing", &embedder{err: errBroken}, "rain", ErrFailed, "HTTP status 500", OutcomeFailed, 0},
		{"wanting to be left alone", &embedder{err: busy}, "rain", ErrFailed, "429", OutcomeFailed, 0},
		{"another dimension", &embedder{script: [][][]float32{{{1, 2, 3}}}}, "rain", ErrFailed, "3 dimensions, those of the catalogue have 2", OutcomeUnparsable, 0},
		{"too many vectors", &embedder{script: [][][]float32{{{1, 2}, {1, 2}}}}, "rain", ErrFailed, "2 vectors for 1 texts", OutcomeUnparsable, 0},
		{"panicking", &embedder{panics: true}, "rain", ErrFailed, "a library gave up", OutcomeFailed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &calls{}
				e := NewEmbedding("p/e", tt.embedder, vectored{}, ChainOptions{Observer: seen, Breakers: NewBreakers(nil)})
				start := time.Now()
				got, err := patient(t, e, Input{Latest: tt.latest})
				require.InDelta(t, tt.took, time.Since(start), float64(time.Millisecond))
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
					require.ErrorContains(t, err, tt.says)
				} else {
					require.NoError(t, err)
					require.Equal(t, payload.Classification{Intent: "WEATHER", Goal: "4 ", Source: payload.SourceEmbedding, Model: "p/e"}, got)
				}
				if tt.outcome == "" {
					require.Empty(t, seen.list)
					return
				}
				require.Len(t, seen.list, 1)
				require.Equal(t, tt.outcome, seen.list[0].Outcome)
				require.Equal(t, "p/e", seen.list[0].Ref)
				require.InDelta(t, tt.took, seen.list[0].Duration, float64(time.Millisecond))
			})
		})
	}
}

func TestEmbeddingRemembersTexts(t *testing.T) {
	model := &embedder{}
	e := NewEmbedding("p/e", model, vectored{}, ChainOptions{})
	ask := func(latest string, earlier ...string) string {
		in := Input{Latest: latest}
		for _, text := range earlier {
			in.Conversation = append(in.Conversation, payload.Turn{Role: "user", Text: text})
		}
		got, err := e.Classify(t.Context(), in)
		require.NoError(t, err)
		return got.Goal
	}
	require.Equal(t, "4 ", ask("rain"))
	require.Equal(t, "4 ", ask("rain"))
	require.Equal(t, "3 4 5 ", ask("and", "rain", "today"))
	require.Equal(t, "5 3 ", ask("today", "and"))
	require.Equal(t, [][]string{{"rain"}, {"and", "today"}}, model.asked, "only what is new is asked for, all at once")

	for i := range recentTexts - 2 {
		ask(fmt.Sprint("text ", i))
	}
	before := model.calls()
	ask("today")
	ask("and")
	require.Equal(t, before, model.calls(), "the last used stay")
	ask("rain")
	require.Equal(t, before+1, model.calls(), "the oldest is forgotten")
	require.Equal(t, recentTexts, e.recent.Len())
}

func TestEmbeddingSharesEqualQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, seen := &embedder{delay: time.Second}, &calls{}
		e := NewEmbedding("p/e", model, vectored{}, ChainOptions{Observer: seen})
		var asking sync.WaitGroup
		for range 5 {
			asking.Go(func() {
				_, err := patient(t, e, Input{Latest: "rain"})
				assert.NoError(t, err)
			})
		}
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := e.Classify(ctx, Input{Latest: "rain"})
			assert.ErrorIs(t, err, ErrDeadline, "who is in a hurry does not wait, nor ends it for the others")
		})
		asking.Go(func() {
			_, err := patient(t, e, Input{Latest: "another"})
			assert.NoError(t, err)
		})
		asking.Wait()
		require.Len(t, model.asked, 2)
		shared := 0
		for _, c := range seen.list {
			if c.Outcome == OutcomeShared {
				shared++
			}
		}
		require.Equal(t, 5, shared)
		require.Empty(t, e.questions.flying)
	})
}

func TestEmbeddingModelIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, seen := &embedder{err: &provider.StatusError{Code: 429, RetryAfter: 20 * time.Second}}, &calls{}
		told := &switches{}
		breakers := NewBreakers(told)
		ask := func(text string) error {
			// A new configuration has a new tier and the same breakers.
			_, err := patient(t, NewEmbedding("p/e", model, vectored{}, ChainOptions{Observer: seen, Breakers: breakers}), Input{Latest: text})
			return err
		}
		require.ErrorContains(t, ask("one"), "429")
		require.ErrorIs(t, ask("two"), ErrOpen)
		require.ErrorIs(t, ask("two"), ErrFailed)
		require.Equal(t, 1, model.calls())
		require.Equal(t, OutcomeOpen, seen.list[1].Outcome)
		model.err = nil
		time.Sleep(19 * time.Second)
		require.ErrorIs(t, ask("three"), ErrOpen)
		time.Sleep(2 * time.Second)
		require.NoError(t, ask("four"))
		require.Len(t, told.list, 2)
	})
}

func TestEmbeddingConcurrently(t *testing.T) {
	model := &embedder{delay: time.Millisecond}
	e := NewEmbedding("p/e", model, vectored{}, ChainOptions{Breakers: NewBreakers(nil)})
	var asking sync.WaitGroup
	for g := range 8 {
		asking.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(g+i)%5)*time.Millisecond)
				_, err := e.Classify(ctx, Input{Latest: fmt.Sprint("question ", i%700)})
				cancel()
				if err != nil && !errors.Is(err, ErrDeadline) && !errors.Is(err, ErrOpen) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	asking.Wait()
	require.Empty(t, e.questions.flying)
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
		t.Error("it was asked")
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
		{"local: in its place", ModeLocal, 0.95, embeddedAfter(time.Second, 0.3, nil), nil, payload.SourceEmbedding, time.Second},
		{"local: failing", ModeLocal, 0.5, embeddedAfter(time.Second, 0, broken), nil, payload.SourceLocal, time.Second},
		{"local: late, half of the time is given", ModeLocal, 0.5, embeddedAfter(time.Hour, 0.9, nil), nil, payload.SourceLocal, budget / 2},
		{"local: deaf, half of the time is given", ModeLocal, 0.5, stubborn(6 * time.Second), nil, payload.SourceLocal, budget / 2},
		{"llm: not asked", ModeLLM, 0.5, unasked, after(time.Second, nil), payload.SourceLLM, time.Second},
		{"hedged: the model is good", ModeHedged, 0.5, embeddedAfter(0, 0.9, nil), after(2*time.Second, nil), payload.SourceLLM, 2 * time.Second},
		{"hedged: the model fails, the embedding is there", ModeHedged, 0.5, embeddedAfter(time.Second, 0.9, nil), after(2*time.Second, broken), payload.SourceEmbedding, 2 * time.Second},
		{"hedged: the model fails first", ModeHedged, 0.5, embeddedAfter(3*time.Second, 0.9, nil), after(2*time.Second, broken), payload.SourceEmbedding, 3 * time.Second},
		{"hedged: the model is late", ModeHedged, 0.5, embeddedAfter(time.Second, 0.9, nil), after(time.Hour, nil), payload.SourceEmbedding, budget},
		{"hedged: both fail", ModeHedged, 0.5, embeddedAfter(time.Second, 0.9, broken), after(2*time.Second, broken), payload.SourceLocal, 2 * time.Second},
		{"hedged: both are late", ModeHedged, 0.5, embeddedAfter(time.Hour, 0.9, nil), after(time.Hour, nil), payload.SourceLocal, budget},
		{"cascade: the local answer will do", ModeCascade, 0.9, unasked, unasked, payload.SourceLocal, 0},
		{"cascade: the embedding will do", ModeCascade, 0.5, embeddedAfter(time.Second, 0.9, nil), unasked, payload.SourceEmbedding, time.Second},
		{"cascade: neither will do", ModeCascade, 0.5, embeddedAfter(time.Second, 0.6, nil), after(time.Second, nil), payload.SourceLLM, 2 * time.Second},
		{"cascade: neither will do and the model fails", ModeCascade, 0.5, embeddedAfter(time.Second, 0.6, nil), after(time.Second, broken), payload.SourceEmbedding, 2 * time.Second},
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
				time.Sleep(time.Minute) // for the deaf one
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

func TestEmbeddingsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &causes{}
		c := New(ModeLocal, localAt(0.5), nil, Options{MaxInflight: 2, Embedding: embeddedAfter(time.Second, 0.9, nil), Observer: seen})
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
		require.Zero(t, time.Since(start), "never a queue")
		require.Equal(t, payload.SourceLocal, got.Source)
		require.Len(t, seen.list, 1)
		require.ErrorIs(t, seen.list[0], ErrOverloaded)
		busy.Wait()
	})
}

func TestHedgedEndsTheEmbeddingThatIsNotNeeded(t *testing.T) {
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
