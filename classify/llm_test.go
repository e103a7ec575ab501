package classify

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
)

// completer is a model that takes its time and honours its context.
type completer struct {
	delay time.Duration
	text  string
	err   error
	usage provider.Usage
	// asked is the request of the last call.
	asked provider.Request
}

func (c *completer) Complete(ctx context.Context, req provider.Request) (provider.Completion, error) {
	c.asked = req
	select {
	case <-time.After(c.delay):
	case <-ctx.Done():
		return provider.Completion{}, ctx.Err()
	}
	return provider.Completion{Text: c.text, Usage: c.usage}, c.err
}

// resolver holds models by reference; what it does not hold is unresolved.
type resolver map[string]*completer

func (r resolver) Resolve(ref string) (provider.Completer, error) {
	if m, ok := r[ref]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("%w: %q", provider.ErrUnresolved, ref)
}

func TestLLM(t *testing.T) {
	broken := &completer{err: errors.New("HTTP status 500")}
	good := &completer{text: goodAnswer, usage: provider.Usage{InputTokens: 120, OutputTokens: 30, CachedTokens: 90}}
	for _, tt := range []struct {
		name   string
		models resolver
		run    string
		model  string // that answered; "" for an error
		calls  int    // until then
		err    error
	}{
		{"an answer", resolver{"p/a": good}, "", "p/a", 1, nil},
		{"the next one's answer", resolver{"p/a": {text: "I think MEMORY_LOOKUP"}, "p/b": good}, "", "p/b", 2, nil},
		{"the run's model is the last resort", resolver{"p/a": broken, "p/b": broken, "p/run": good}, "p/run", "p/run", 3, nil},
		{"no JSON object", resolver{"p/a": {text: "hm"}}, "", "", 0, model.ErrUnparsable},
		{"all fail", resolver{"p/a": broken, "p/b": broken}, "", "", 0, ErrFailed},
		{"late", resolver{"p/a": {delay: time.Hour}}, "", "", 0, ErrDeadline},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := testInput(t)
			in.RunModel = tt.run
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				got, err := LLM{model.NewChain(tt.models, model.Options{}, "p/a", "p/b")}.Classify(ctx, in)
				if tt.err != nil {
					require.ErrorIs(t, err, tt.err)
					require.Zero(t, got)
					return
				}
				require.NoError(t, err)
				want := goodClassification()
				want.Source, want.Model, want.ModelCalls = payload.SourceLLM, tt.model, tt.calls
				want.Tokens = &payload.Tokens{In: 120, Out: 30}
				require.Equal(t, want, got)
			})
		})
	}
}

func TestTokensThatAProviderDoesNotTellAreUnknown(t *testing.T) {
	got, err := LLM{model.NewChain(resolver{"p/a": {text: goodAnswer}}, model.Options{}, "p/a")}.Classify(t.Context(), testInput(t))
	require.NoError(t, err)
	require.Nil(t, got.Tokens)
}

func TestLLMAsksWithThePrompt(t *testing.T) {
	m := &completer{text: goodAnswer}
	in := testInput(t)
	_, err := LLM{model.NewChain(resolver{"p/a": m}, model.Options{}, "p/a")}.Classify(t.Context(), in)
	require.NoError(t, err)
	p := buildPrompt(in)
	require.Equal(t, provider.Request{
		System: p.System, User: p.User, MaxTokens: 400, Schema: answerSchema, SchemaName: "intent",
	}, m.asked)
}

// TestLLMOverHTTP goes all the way to servers that speak both formats.
func TestLLMOverHTTP(t *testing.T) {
	first, second := providertest.New(t), providertest.New(t)
	transport := provider.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	registry, err := provider.New(map[string]provider.Config{
		"one": {BaseURL: first.OpenAIURL(), API: provider.APIOpenAI},
		"two": {BaseURL: second.AnthropicURL(), API: provider.APIAnthropic},
	}, provider.Options{Transport: transport, Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	llm := LLM{model.NewChain(registry, model.Options{}, "openai/no-key", "one/small", "two/small")}

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
			got, err := llm.Classify(ctx, testInput(t))
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

func TestOpenBreakerWithEachMode(t *testing.T) {
	for mode, local := range map[Mode]bool{ModeLLM: false, ModeHedged: true, ModeCascade: true} {
		t.Run(string(mode), func(t *testing.T) {
			in := testInput(t)
			synctest.Test(t, func(t *testing.T) {
				busy := &provider.StatusError{Code: 429, RetryAfter: 20 * time.Second}
				models := resolver{"p/a": {delay: time.Second, err: busy}, "p/b": {err: busy}}
				llm := LLM{model.NewChain(models, model.Options{Breakers: model.NewBreakers(nil)}, "p/a", "p/b")}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := llm.Classify(ctx, in)
				require.ErrorIs(t, err, ErrFailed)
				c := New(mode, localAt(0.5), llm, Options{LocalAccept: 0.9})
				start := time.Now()
				got, err := c.Classify(ctx, in)
				require.Zero(t, time.Since(start))
				if !local {
					require.ErrorIs(t, err, ErrFailed)
					require.ErrorIs(t, err, model.ErrOpen)
					return
				}
				require.NoError(t, err)
				require.Equal(t, payload.SourceLocal, got.Source)
			})
		})
	}
}
