package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
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

// vectorsOf asks an embedder with a budget of ten seconds.
func vectorsOf(t *testing.T, e *Embedder, texts ...string) (map[string][]float32, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return e.Vectors(ctx, texts)
}

func TestEmbedder(t *testing.T) {
	busy := &provider.StatusError{Code: 429, RetryAfter: 20 * time.Second}
	for _, tt := range []struct {
		name     string
		embedder *embedder
		err      error
		says     string
		outcome  Outcome
		took     time.Duration
	}{
		{"a vector", &embedder{delay: time.Second}, nil, "", OutcomeOK, time.Second},
		{"late", &embedder{delay: time.Hour}, ErrDeadline, "", OutcomeLate, 10 * time.Second},
		{"failing", &embedder{err: errBroken}, ErrFailed, "HTTP status 500", OutcomeFailed, 0},
		{"wanting to be left alone", &embedder{err: busy}, ErrFailed, "429", OutcomeFailed, 0},
		{"another dimension", &embedder{script: [][][]float32{{{1, 2, 3}}}}, ErrFailed, "3 dimensions, those of the catalogue have 2", OutcomeUnparsable, 0},
		{"too many vectors", &embedder{script: [][][]float32{{{1, 2}, {1, 2}}}}, ErrFailed, "2 vectors for 1 texts", OutcomeUnparsable, 0},
		{"panicking", &embedder{panics: true}, ErrFailed, "a library gave up", OutcomeFailed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &calls{}
				e := NewEmbedder("p/e", tt.embedder, 2, Options{Observer: seen, Breakers: NewBreakers(nil)})
				start := time.Now()
				got, err := vectorsOf(t, e, "rain")
				require.InDelta(t, tt.took, time.Since(start), float64(time.Millisecond))
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
					require.ErrorContains(t, err, tt.says)
				} else {
					require.NoError(t, err)
					require.Equal(t, map[string][]float32{"rain": {4, 0}}, got)
				}
				require.Len(t, seen.list, 1)
				require.Equal(t, tt.outcome, seen.list[0].Outcome)
				require.Equal(t, "p/e", seen.list[0].Ref)
				require.InDelta(t, tt.took, seen.list[0].Duration, float64(time.Millisecond))
			})
		})
	}
}

func TestEmbedderRemembersTexts(t *testing.T) {
	model := &embedder{}
	e := NewEmbedder("p/e", model, 2, Options{})
	ask := func(texts ...string) map[string][]float32 {
		got, err := vectorsOf(t, e, texts...)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, map[string][]float32{"rain": {4, 0}}, ask("rain"))
	require.Equal(t, map[string][]float32{"rain": {4, 0}}, ask("rain"))
	require.Equal(t, map[string][]float32{"and": {3, 0}, "rain": {4, 0}, "today": {5, 0}}, ask("and", "rain", "today"))
	require.Equal(t, map[string][]float32{"and": {3, 0}, "today": {5, 0}}, ask("today", "and"))
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

func TestATextInWhichTheModelFindsNothingHasNoVector(t *testing.T) {
	t.Parallel()
	client := &embedder{script: [][][]float32{{{0, 0}, {0, 1}}}}
	e := NewEmbedder("test/embedding", client, 2, Options{})
	for range 2 {
		got, err := vectorsOf(t, e, "🍵", "tea")
		require.NoError(t, err)
		require.Equal(t, map[string][]float32{"🍵": nil, "tea": {0, 1}}, got)
	}
	require.Equal(t, 1, client.calls(), "that it has none is remembered")
}

func TestEmbedderSharesEqualQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, seen := &embedder{delay: time.Second}, &calls{}
		e := NewEmbedder("p/e", model, 2, Options{Observer: seen})
		var asking sync.WaitGroup
		for range 5 {
			asking.Go(func() {
				_, err := vectorsOf(t, e, "rain")
				assert.NoError(t, err)
			})
		}
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := e.Vectors(ctx, []string{"rain"})
			assert.ErrorIs(t, err, ErrDeadline, "who is in a hurry does not wait, nor ends it for the others")
		})
		asking.Go(func() {
			_, err := vectorsOf(t, e, "another")
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
		require.Empty(t, e.flights.flying)
	})
}

func TestEmbedderWithAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, seen := &embedder{err: &provider.StatusError{Code: 429, RetryAfter: 20 * time.Second}}, &calls{}
		told := &switches{}
		breakers := NewBreakers(told)
		ask := func(text string) error {
			// A new configuration has a new tier and the same breakers.
			_, err := vectorsOf(t, NewEmbedder("p/e", model, 2, Options{Observer: seen, Breakers: breakers}), text)
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

func TestEmbedderConcurrently(t *testing.T) {
	model := &embedder{delay: time.Millisecond}
	e := NewEmbedder("p/e", model, 2, Options{Breakers: NewBreakers(nil)})
	var asking sync.WaitGroup
	for g := range 8 {
		asking.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(g+i)%5)*time.Millisecond)
				_, err := e.Vectors(ctx, []string{fmt.Sprint("question ", i%700)})
				cancel()
				if err != nil && !errors.Is(err, ErrDeadline) && !errors.Is(err, ErrOpen) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	asking.Wait()
	require.Empty(t, e.flights.flying)
}
