package classify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/payload"
)

// localAt is a local classifier of the given confidence.
type localAt float64

func (l localAt) Classify(Input) payload.Classification {
	return payload.Classification{Intent: "SMALLTALK", Confidence: float64(l)}
}

// localFunc is a local classifier.
type localFunc func(in Input) payload.Classification

func (f localFunc) Classify(in Input) payload.Classification { return f(in) }

// modelFunc is a model path.
type modelFunc func(ctx context.Context) (payload.Classification, error)

func (f modelFunc) Classify(ctx context.Context, _ Input) (payload.Classification, error) {
	return f(ctx)
}

// after answers after d, unless its context ends before.
func after(d time.Duration, err error) modelFunc {
	return func(ctx context.Context) (payload.Classification, error) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return payload.Classification{}, fmt.Errorf("%w: %w", ErrDeadline, ctx.Err())
		}
		if err != nil {
			return payload.Classification{}, err
		}
		return payload.Classification{Intent: "MEMORY_LOOKUP", Source: payload.SourceLLM, Model: "p/m", Confidence: 0.9}, nil
	}
}

// stubborn ignores its context.
func stubborn(d time.Duration) modelFunc {
	return func(context.Context) (payload.Classification, error) {
		time.Sleep(d)
		return payload.Classification{Source: payload.SourceLLM}, nil
	}
}

// causes records why local answers were given.
type causes struct {
	mu   sync.Mutex
	list []error
	took map[string]time.Duration // by source
	// embedded is what became of the embedding tier.
	embedded []string
}

func (c *causes) Classified(source string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.took == nil {
		c.took = map[string]time.Duration{}
	}
	c.took[source] = took
}

func (c *causes) Embedded(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.embedded = append(c.embedded, outcome)
}

// outcomes returns what became of the embedding tier so far.
func (c *causes) outcomes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.embedded...)
}

func (c *causes) AnsweredLocally(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, cause)
}

func TestClassifier(t *testing.T) {
	const budget = 10 * time.Second
	broken := fmt.Errorf("%w: HTTP status 500", ErrFailed)
	unasked := modelFunc(func(context.Context) (payload.Classification, error) { panic("unexpected call of the model") })
	tests := []struct {
		name   string
		mode   Mode
		local  Local
		model  Model
		source string // "" for an error
		err    error
		took   time.Duration
		causes []error
		// lingers is how long the model goes on when nobody waits any more;
		// all others must be gone when the test ends.
		lingers time.Duration
	}{
		{name: "local", mode: ModeLocal, local: localAt(0.1), source: "local"},

		{name: "llm in time", mode: ModeLLM, model: after(time.Second, nil), source: "llm", took: time.Second},
		{name: "llm at the last moment", mode: ModeLLM, model: after(budget-1, nil), source: "llm", took: budget - 1},
		{name: "llm late", mode: ModeLLM, model: after(time.Hour, nil), err: ErrDeadline, took: budget},
		{name: "llm fails", mode: ModeLLM, model: after(time.Second, broken), err: ErrFailed, took: time.Second},
		{name: "llm fails with another error", mode: ModeLLM, model: after(0, errors.New("oops")), err: ErrFailed},
		{name: "llm ignores its context", mode: ModeLLM, model: stubborn(time.Hour), err: ErrDeadline, took: budget, lingers: time.Hour},
		{name: "llm panics", mode: ModeLLM, model: modelFunc(func(context.Context) (payload.Classification, error) { panic("oops") }), err: ErrFailed},

		{name: "hedged in time", mode: ModeHedged, local: localAt(1), model: after(time.Second, nil), source: "llm", took: time.Second},
		{name: "hedged late", mode: ModeHedged, local: localAt(0), model: after(time.Hour, nil), source: "local", took: budget, causes: []error{ErrDeadline}},
		{name: "hedged fails", mode: ModeHedged, local: localAt(0), model: after(time.Second, broken), source: "local", took: time.Second, causes: []error{ErrFailed}},
		{name: "hedged ignores its context", mode: ModeHedged, local: localAt(0), model: stubborn(time.Hour), source: "local", took: budget, causes: []error{ErrDeadline}, lingers: time.Hour},

		{name: "cascade accepts", mode: ModeCascade, local: localAt(0.9), model: unasked, source: "local", causes: []error{nil}},
		{name: "cascade asks below", mode: ModeCascade, local: localAt(0.899), model: after(time.Second, nil), source: "llm", took: time.Second},
		{name: "cascade late", mode: ModeCascade, local: localAt(0.5), model: after(time.Hour, nil), source: "local", took: budget, causes: []error{ErrDeadline}},
		{name: "cascade fails", mode: ModeCascade, local: localAt(0.5), model: after(0, broken), source: "local", causes: []error{ErrFailed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &causes{}
				c := New(tt.mode, tt.local, tt.model, Options{LocalAccept: 0.9, Observer: seen})
				require.Equal(t, tt.mode, c.Mode())
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				start := time.Now()
				got, err := c.Classify(ctx, Input{})
				require.Equal(t, tt.took, time.Since(start))
				require.Equal(t, tt.source, got.Source)
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, tt.source == "llm", got.Model == "p/m")
				require.Len(t, seen.list, len(tt.causes))
				for i, want := range tt.causes {
					require.ErrorIs(t, seen.list[i], want)
				}
				time.Sleep(tt.lingers)
			})
		})
	}
}

// slowly is a local classifier that takes a while.
type slowly time.Duration

func (s slowly) Classify(Input) payload.Classification {
	time.Sleep(time.Duration(s))
	return payload.Classification{Confidence: 0.5}
}

// Whoever waits for a model, and how long, does not change what a source took.
func TestTimesAreThoseOfTheSources(t *testing.T) {
	broken := fmt.Errorf("%w: HTTP status 500", ErrFailed)
	for _, tt := range []struct {
		name      string
		mode      Mode
		model     Model
		embedding Model
		want      map[string]time.Duration
	}{
		{"local", ModeLocal, nil, nil, map[string]time.Duration{"local": time.Millisecond}},
		{"local after a late embedding", ModeLocal, nil, embeddedAfter(time.Hour, 0.9, nil), map[string]time.Duration{"local": time.Millisecond}},
		{"llm", ModeLLM, after(time.Second, nil), nil, map[string]time.Duration{"llm": time.Second}},
		{"hedged", ModeHedged, after(time.Second, nil), embeddedAfter(2*time.Millisecond, 0.9, nil), map[string]time.Duration{"local": time.Millisecond, "embedding": 2 * time.Millisecond, "llm": time.Second}},
		{"hedged, late model", ModeHedged, after(time.Hour, nil), nil, map[string]time.Duration{"local": time.Millisecond}},
		{"cascade, broken model", ModeCascade, after(time.Second, broken), nil, map[string]time.Duration{"local": time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &causes{}
				c := New(tt.mode, slowly(time.Millisecond), tt.model, Options{LocalAccept: 0.9, Embedding: tt.embedding, Observer: seen})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				in := Input{}
				c.AsksModel(&in) // is not an answer
				_, err := c.Classify(ctx, in)
				require.NoError(t, err)
				synctest.Wait()
				require.Equal(t, tt.want, seen.took)
			})
		})
	}
}

func TestTheLocalClassifierIsAskedOnce(t *testing.T) {
	for _, confidence := range []float64{0.5, 0.95} {
		asked := 0
		local := localFunc(func(Input) payload.Classification {
			asked++
			return payload.Classification{Confidence: confidence}
		})
		c := New(ModeCascade, local, after(0, ErrFailed), Options{LocalAccept: 0.9})
		in := Input{}
		require.Equal(t, confidence < 0.9, c.AsksModel(&in))
		for range 2 {
			got, err := c.Classify(t.Context(), in)
			require.NoError(t, err)
			require.InDelta(t, confidence, got.Confidence, 0)
			require.Equal(t, 1, asked)
		}
		_, err := c.Classify(t.Context(), Input{})
		require.NoError(t, err)
		require.Equal(t, 2, asked, "another message")
	}
}

func TestClassifierContextAlreadyDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unasked := modelFunc(func(context.Context) (payload.Classification, error) {
		t.Error("the model was asked")
		return payload.Classification{}, nil
	})
	for _, mode := range []Mode{ModeLocal, ModeHedged, ModeCascade} {
		got, err := New(mode, localAt(0.5), unasked, Options{LocalAccept: 0.9}).Classify(ctx, Input{})
		require.NoError(t, err, mode)
		require.Equal(t, payload.SourceLocal, got.Source, mode)
	}
	_, err := New(ModeLLM, nil, unasked, Options{}).Classify(ctx, Input{})
	require.ErrorIs(t, err, ErrDeadline)
}

func TestClassifierOverloaded(t *testing.T) {
	tests := []struct {
		mode   Mode
		err    error
		causes []error
	}{
		{ModeLLM, ErrOverloaded, nil},
		{ModeHedged, nil, []error{ErrOverloaded}},
		{ModeCascade, nil, []error{ErrOverloaded}},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &causes{}
				c := New(tt.mode, localAt(0.5), after(time.Second, nil), Options{LocalAccept: 0.9, Limit: model.NewLimit(2), Observer: seen})
				var busy sync.WaitGroup
				for range 2 {
					busy.Go(func() {
						got, err := c.Classify(t.Context(), Input{})
						assert.NoError(t, err)
						assert.Equal(t, payload.SourceLLM, got.Source)
					})
				}
				synctest.Wait()

				start := time.Now()
				got, err := c.Classify(t.Context(), Input{})
				require.Zero(t, time.Since(start), "calls never queue")
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
				} else {
					require.NoError(t, err)
					require.Equal(t, payload.SourceLocal, got.Source)
				}
				require.Equal(t, tt.causes, seen.list)

				busy.Wait()
				got, err = c.Classify(t.Context(), Input{})
				require.NoError(t, err)
				require.Equal(t, payload.SourceLLM, got.Source, "the limit is released")
			})
		})
	}
}

func TestClassifierReleasesItsLimit(t *testing.T) {
	c := New(ModeLLM, nil, after(0, nil), Options{Limit: model.NewLimit(1)})
	for range 1000 {
		_, err := c.Classify(t.Context(), Input{})
		require.NoError(t, err)
	}
}

func TestClassifierStubbornModelsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(ModeLLM, nil, stubborn(time.Minute), Options{Limit: model.NewLimit(1)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Classify(ctx, Input{})
		require.ErrorIs(t, err, ErrDeadline)
		_, err = c.Classify(t.Context(), Input{})
		require.ErrorIs(t, err, ErrOverloaded, "the first call is still running")
		time.Sleep(time.Minute)
		_, err = c.Classify(t.Context(), Input{})
		require.NoError(t, err)
	})
}

func TestClassifierCancelsTheModelAfterItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		answering := modelFunc(func(ctx context.Context) (payload.Classification, error) {
			context.AfterFunc(ctx, func() { close(ended) })
			return payload.Classification{}, nil
		})
		_, err := New(ModeLLM, nil, answering, Options{}).Classify(t.Context(), Input{})
		require.NoError(t, err)
		<-ended
	})
}

func TestClassifierLimitDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(ModeLLM, nil, after(time.Second, nil), Options{})
		var busy sync.WaitGroup
		for range 256 {
			busy.Go(func() {
				_, err := c.Classify(t.Context(), Input{})
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		_, err := c.Classify(t.Context(), Input{})
		require.ErrorIs(t, err, ErrOverloaded)
		busy.Wait()
	})
}

// TestClassifierLocalAnswerIsReady shows that the local answer costs nothing
// at the deadline: it is made while the model works.
func TestClassifierLocalAnswerIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(ModeHedged, slowLocal(time.Second), after(time.Hour, nil), Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		got, err := c.Classify(ctx, Input{})
		require.NoError(t, err)
		require.Equal(t, payload.SourceLocal, got.Source)
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

type slowLocal time.Duration

func (l slowLocal) Classify(Input) payload.Classification {
	time.Sleep(time.Duration(l))
	return payload.Classification{}
}

func BenchmarkClassifier(b *testing.B) {
	for _, mode := range []Mode{ModeLocal, ModeLLM, ModeHedged, ModeCascade} {
		b.Run(string(mode), func(b *testing.B) {
			c := New(mode, localAt(0.5), modelFunc(func(context.Context) (payload.Classification, error) {
				return payload.Classification{}, nil
			}), Options{LocalAccept: 0.9})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Classify(b.Context(), Input{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestBoundsOfAnEmbeddingModel(t *testing.T) {
	const budget = 900 * time.Millisecond
	bounds := Bounds{Accept: 0.8, Share: 1.0 / 3, Wait: 30 * time.Millisecond, Limit: model.NewLimit(1)}
	wide := bounds
	wide.Wait = 0
	unfit := modelFunc(func(context.Context) (payload.Classification, error) {
		return payload.Classification{}, fmt.Errorf("%w: %w", ErrFailed, ErrUnfit)
	})
	leans := modelFunc(func(context.Context) (payload.Classification, error) {
		return payload.Classification{}, fmt.Errorf("%w: %w", ErrFailed, ErrNeedsConversation)
	})
	failing := after(time.Second, fmt.Errorf("%w: HTTP status 500", ErrFailed))
	for _, tt := range []struct {
		name      string
		mode      Mode
		bounds    Bounds
		local     localAt
		embedding Model
		source    string
		took      time.Duration
		outcome   []string
	}{
		{"the words are certain", ModeLocal, bounds, 0.8, embeddedAfter(time.Millisecond, 0.9, nil), payload.SourceLocal, 0, []string{EmbeddingSpared}},
		{"the words are not", ModeLocal, bounds, 0.79, embeddedAfter(time.Millisecond, 0.9, nil), payload.SourceEmbedding, time.Millisecond, []string{EmbeddingUsed}},
		{"a message that leans", ModeLocal, bounds, 0.5, leans, payload.SourceLocal, 0, []string{EmbeddingConversation}},
		{"late after its wait", ModeLocal, bounds, 0.5, embeddedAfter(time.Second, 0.9, nil), payload.SourceLocal, 30 * time.Millisecond, []string{EmbeddingLate}},
		{"late after its share", ModeLocal, wide, 0.5, embeddedAfter(time.Second, 0.9, nil), payload.SourceLocal, 300 * time.Millisecond, []string{EmbeddingLate}},
		{"unfit", ModeLocal, bounds, 0.5, unfit, payload.SourceLocal, 0, []string{EmbeddingUnfit}},
		{"without bounds it is asked always", ModeLocal, Bounds{}, 1, embeddedAfter(time.Millisecond, 0.9, nil), payload.SourceEmbedding, time.Millisecond, []string{EmbeddingUsed}},
		{"hedged, the words are certain", ModeHedged, bounds, 0.8, embeddedAfter(time.Millisecond, 0.9, nil), payload.SourceLocal, budget, []string{EmbeddingSpared}},
		{"hedged, the words are not", ModeHedged, bounds, 0.5, embeddedAfter(time.Millisecond, 0.9, nil), payload.SourceEmbedding, budget, []string{EmbeddingUsed}},
		{"cascade, between the two thresholds", ModeCascade, bounds, 0.85, embeddedAfter(time.Millisecond, 0.95, nil), payload.SourceLocal, budget, []string{EmbeddingSpared}},
		{"cascade, the words are not certain", ModeCascade, bounds, 0.5, embeddedAfter(time.Millisecond, 0.95, nil), payload.SourceEmbedding, time.Millisecond, []string{EmbeddingUsed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &causes{}
				c := New(tt.mode, tt.local, failing, Options{LocalAccept: 0.9, Embedding: tt.embedding, Bounds: tt.bounds, Observer: seen})
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				began := time.Now()
				got, err := c.Classify(ctx, Input{Latest: "rain"})
				require.NoError(t, err)
				require.Equal(t, tt.source, got.Source)
				require.InDelta(t, tt.took, time.Since(began), float64(time.Microsecond))
				require.Equal(t, tt.outcome, seen.outcomes())
				time.Sleep(time.Hour) // what goes on ends
			})
		})
	}
}

func TestABusyEmbeddingModelIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &causes{}
		c := New(ModeLocal, localAt(0.5), nil, Options{
			Embedding: embeddedAfter(time.Second, 0.9, nil), Observer: seen, Bounds: Bounds{Accept: 0.8, Share: 1, Limit: model.NewLimit(1)},
		})
		go func() { _, _ = c.Classify(t.Context(), Input{Latest: "rain"}) }()
		synctest.Wait()
		began := time.Now()
		got, err := c.Classify(t.Context(), Input{Latest: "snow"})
		require.NoError(t, err)
		require.Equal(t, payload.SourceLocal, got.Source)
		require.Zero(t, time.Since(began))
		require.Equal(t, []string{EmbeddingBusy}, seen.outcomes())
		time.Sleep(time.Hour)
		require.Equal(t, []string{EmbeddingBusy, EmbeddingUsed}, seen.outcomes())
	})
}
