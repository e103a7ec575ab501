package classify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
)

// completer is a model that takes its time and honours its context.
type completer struct {
	delay time.Duration
	text  string
	err   error

	mu sync.Mutex
	// asked is the request of the last call.
	asked provider.Request
}

func (c *completer) Complete(ctx context.Context, req provider.Request) (provider.Completion, error) {
	c.mu.Lock()
	c.asked = req
	c.mu.Unlock()
	select {
	case <-time.After(c.delay):
	case <-ctx.Done():
		return provider.Completion{}, ctx.Err()
	}
	return provider.Completion{Text: c.text, Usage: provider.Usage{InputTokens: 7}}, c.err
}

// resolver holds models by reference; what it does not hold is unresolved.
type resolver map[string]*completer

func (r resolver) Resolve(ref string) (provider.Completer, error) {
	if m, ok := r[ref]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("%w: %q", provider.ErrUnresolved, ref)
}

// calls records what an observer is told.
type calls struct {
	mu   sync.Mutex
	list []Call
}

func (c *calls) ModelCalled(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call)
}

// summary is "ref outcome duration" for each call.
func (c *calls) summary() []string {
	var out []string
	for _, call := range c.list {
		out = append(out, fmt.Sprintf("%s %s %s", call.Ref, call.Outcome, call.Duration))
	}
	return out
}

func ok(delay time.Duration) *completer { return &completer{delay: delay, text: goodAnswer} }

func TestChain(t *testing.T) {
	broken := errors.New("HTTP status 500")
	tests := []struct {
		name   string
		models resolver
		refs   []string
		run    string
		model  string // that answered; "" for an error
		err    error
		calls  []string
		took   time.Duration
	}{
		{
			name: "first choice", models: resolver{"p/a": ok(time.Second), "p/b": ok(0)},
			refs: []string{"p/a", "p/b"}, model: "p/a", calls: []string{"p/a ok 1s"}, took: time.Second,
		},
		{
			name: "the first fails", models: resolver{"p/a": {delay: time.Second, err: broken}, "p/b": ok(time.Second)},
			refs: []string{"p/a", "p/b"}, model: "p/b", calls: []string{"p/a failed 1s", "p/b ok 1s"}, took: 2 * time.Second,
		},
		{
			name: "the first cannot be parsed", models: resolver{"p/a": {text: "I think MEMORY_LOOKUP"}, "p/b": ok(0)},
			refs: []string{"p/a", "p/b"}, model: "p/b", calls: []string{"p/a unparsable 0s", "p/b ok 0s"},
		},
		{
			name: "the first cannot be resolved", models: resolver{"p/b": ok(0)},
			refs: []string{"p/a", "p/b"}, model: "p/b", calls: []string{"p/a unresolved 0s", "p/b ok 0s"},
		},
		{
			name: "the first is slow: the second is asked after 60 % and wins", models: resolver{"p/a": ok(time.Hour), "p/b": ok(time.Second)},
			refs: []string{"p/a", "p/b"}, model: "p/b", calls: []string{"p/a late 7s", "p/b ok 1s"}, took: 7 * time.Second,
		},
		{
			name: "the first is slow, and still the faster one", models: resolver{"p/a": ok(7 * time.Second), "p/b": ok(3 * time.Second)},
			refs: []string{"p/a", "p/b"}, model: "p/a", calls: []string{"p/a ok 7s", "p/b canceled 1s"}, took: 7 * time.Second,
		},
		{
			name: "the second fails while the first is at work", models: resolver{"p/a": ok(9 * time.Second), "p/b": {err: broken}, "p/run": ok(0)},
			refs: []string{"p/a", "p/b"}, run: "p/run", model: "p/a", calls: []string{"p/a ok 9s", "p/b failed 0s"}, took: 9 * time.Second,
		},
		{
			name: "the first fails while the second is at work", models: resolver{"p/a": {delay: 7 * time.Second, err: broken}, "p/b": ok(3 * time.Second)},
			refs: []string{"p/a", "p/b"}, model: "p/b", calls: []string{"p/a failed 7s", "p/b ok 3s"}, took: 9 * time.Second,
		},
		{
			name: "both are slow, the third is asked after 60 % of the rest", models: resolver{"p/a": ok(time.Hour), "p/b": ok(time.Hour), "p/c": ok(time.Second)},
			refs: []string{"p/a", "p/b", "p/c"}, model: "p/c", calls: []string{"p/a late 9.4s", "p/b late 3.4s", "p/c ok 1s"}, took: 9400 * time.Millisecond,
		},
		{
			name: "all are slow", models: resolver{"p/a": ok(time.Hour), "p/b": ok(time.Hour)},
			refs: []string{"p/a", "p/b"}, err: ErrDeadline, calls: []string{"p/a late 10s", "p/b late 4s"}, took: 10 * time.Second,
		},
		{
			name: "nothing else can be resolved: all the time for the first", models: resolver{"p/a": ok(9 * time.Second)},
			refs: []string{"p/a", "p/b"}, model: "p/a", calls: []string{"p/a ok 9s"}, took: 9 * time.Second,
		},
		{
			name: "the run's model takes no share", models: resolver{"p/a": ok(9 * time.Second), "p/run": ok(0)},
			refs: []string{"p/a"}, run: "p/run", model: "p/a", calls: []string{"p/a ok 9s"}, took: 9 * time.Second,
		},
		{
			name: "the run's model is the last resort", models: resolver{"p/a": {err: broken}, "p/b": {err: broken}, "p/run": ok(time.Second)},
			refs: []string{"p/a", "p/b"}, run: "p/run", model: "p/run", calls: []string{"p/a failed 0s", "p/b failed 0s", "p/run ok 1s"}, took: time.Second,
		},
		{
			name: "the run's model alone", models: resolver{"p/run": ok(0)},
			run: "p/run", model: "p/run", calls: []string{"p/run ok 0s"},
		},
		{
			name: "the run's provider is not configured", models: resolver{"p/a": {err: broken}},
			refs: []string{"p/a"}, run: "q/run", err: ErrFailed, calls: []string{"p/a failed 0s", "q/run unresolved 0s"},
		},
		{
			name: "each reference once", models: resolver{"p/a": {err: broken}},
			refs: []string{"p/a", " p/a ", "", "p/a"}, run: "p/a", err: ErrFailed, calls: []string{"p/a failed 0s"},
		},
		{
			name: "the run's model is late", models: resolver{"p/a": {err: broken}, "p/run": ok(time.Hour)},
			refs: []string{"p/a"}, run: "p/run", err: ErrDeadline, calls: []string{"p/a failed 0s", "p/run late 10s"}, took: 10 * time.Second,
		},
		{
			name: "the first is late, the second fails in time", models: resolver{"p/a": ok(time.Hour), "p/b": {err: broken}},
			refs: []string{"p/a", "p/b"}, err: ErrDeadline, calls: []string{"p/a late 10s", "p/b failed 0s"}, took: 10 * time.Second,
		},
		{name: "nothing configured", err: ErrFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := testInput(t)
			in.RunModel = tt.run
			synctest.Test(t, func(t *testing.T) {
				seen := &calls{}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				got, err := NewChain(tt.models, ChainOptions{Observer: seen}, tt.refs...).Classify(ctx, in)
				require.Equal(t, tt.took, time.Since(start))
				synctest.Wait() // those who lost are told of as well
				require.ElementsMatch(t, tt.calls, seen.summary())
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
					for other := range slices.Values([]error{ErrFailed, ErrDeadline, ErrOverloaded}) {
						require.Equal(t, errors.Is(other, tt.err), errors.Is(err, other))
					}
					require.Zero(t, got)
					return
				}
				require.NoError(t, err)
				want := goodClassification()
				want.Source, want.Model = payload.SourceLLM, tt.model
				require.Equal(t, want, got)
			})
		})
	}
}

func TestChainTellsWhatEachModelDid(t *testing.T) {
	models := resolver{"p/a": {err: errors.New("HTTP status 500")}, "p/b": {text: "hm"}}
	_, err := NewChain(models, ChainOptions{}, "p/a", "p/b", "p/c").Classify(t.Context(), testInput(t))
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, ErrUnparsable)
	require.ErrorIs(t, err, provider.ErrUnresolved)
	for _, part := range []string{"p/a: HTTP status 500", "p/b: unusable answer: no JSON object", "p/c: model cannot be resolved"} {
		require.ErrorContains(t, err, part)
	}
}

func TestChainObserverSeesUsageAndError(t *testing.T) {
	broken := errors.New("broken")
	seen := &calls{}
	models := resolver{"p/a": {err: broken}, "p/b": ok(0)}
	_, err := NewChain(models, ChainOptions{Observer: seen}, "p/a", "p/b").Classify(t.Context(), testInput(t))
	require.NoError(t, err)
	require.ErrorIs(t, seen.list[0].Err, broken)
	require.NoError(t, seen.list[1].Err)
	require.Equal(t, 7, seen.list[1].Usage.InputTokens)
}

func TestChainAsksWithThePrompt(t *testing.T) {
	m := ok(0)
	in := testInput(t)
	_, err := NewChain(resolver{"p/a": m}, ChainOptions{}, "p/a").Classify(t.Context(), in)
	require.NoError(t, err)
	p := BuildPrompt(in)
	require.Equal(t, provider.Request{
		System: p.System, User: p.User, MaxTokens: 400, Schema: answerSchema, SchemaName: "intent",
	}, m.asked)
}

func TestChainContextAlreadyDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	seen := &calls{}
	_, err := NewChain(resolver{"p/a": ok(0)}, ChainOptions{Observer: seen}, "p/a").Classify(ctx, testInput(t))
	require.ErrorIs(t, err, ErrDeadline)
	require.Empty(t, seen.list)
}

// timeout is a network's time-out that fires just before the context's.
type timeout struct{ error }

func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestChainTimeoutOfTheNetworkAtTheDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		after time.Duration
		want  error
	}{
		"a moment before the deadline": {10*time.Second - time.Millisecond, ErrDeadline},
		"long before":                  {2 * time.Second, ErrFailed},
	} {
		t.Run(name, func(t *testing.T) {
			in := testInput(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				m := &completer{delay: tt.after, err: timeout{errors.New("i/o timeout")}}
				_, err := NewChain(resolver{"p/a": m}, ChainOptions{}, "p/a").Classify(ctx, in)
				require.ErrorIs(t, err, tt.want)
			})
		})
	}
}

// TestChainOverHTTP goes all the way to servers that speak both formats.
func TestChainOverHTTP(t *testing.T) {
	first, second := providertest.New(t), providertest.New(t)
	transport := provider.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	registry, err := provider.New(map[string]provider.Config{
		"one": {BaseURL: first.OpenAIURL(), API: provider.APIOpenAI},
		"two": {BaseURL: second.AnthropicURL(), API: provider.APIAnthropic},
	}, provider.Options{Transport: transport, Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	chain := NewChain(registry, ChainOptions{}, "openai/no-key", "one/small", "two/small")

	tests := []struct {
		name  string
		first providertest.Answer
		model string
	}{
		{"first", providertest.Answer{Text: "```json\n" + goodAnswer + "\n```"}, "one/small"},
		{"status", providertest.Answer{Status: 503}, "two/small"},
		{"garbage", providertest.Answer{Body: "<html>", ContentType: "text/html"}, "two/small"},
		{"nonsense", providertest.Answer{Text: "hello"}, "two/small"},
		{"slow", providertest.Answer{Text: goodAnswer, Delay: time.Minute}, "two/small"},
		{"silent", providertest.Answer{Hang: true}, "two/small"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first.Script(tt.first)
			second.Always(providertest.Answer{Text: goodAnswer})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			got, err := chain.Classify(ctx, testInput(t))
			require.NoError(t, err)
			require.Equal(t, tt.model, got.Model)
			require.Equal(t, "MEMORY_LOOKUP", got.Intent)
		})
	}
	t.Run("what the model sees", func(t *testing.T) {
		asked := second.Requests()[0]
		require.Contains(t, asked.System, `<intent id="MEMORY_LOOKUP" name="Memory Lookup">`)
		require.Contains(t, asked.User, "<latest>What did we decide about the logo?</latest>")
	})
}
