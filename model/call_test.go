package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

func TestCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &calls{}
		models := resolver{"p/a": ok(time.Hour), "p/b": ok(time.Second)}
		chain := NewChain(models, Options{Observer: seen, CallTimeout: time.Minute}, "p/a", "p/b")
		start := time.Now()
		got, err := Ask(t.Context(), chain, question())
		require.NoError(t, err)
		require.Equal(t, "p/b", got.Ref)
		require.Equal(t, time.Minute+time.Second, time.Since(start), "without a deadline the models are asked one after the other")
		require.Equal(t, []string{"p/a late 1m0s", "p/b ok 1s"}, seen.summary())
		require.EqualError(t, seen.list[0].Err, "no answer within 1m0s: context deadline exceeded")
	})
}

func TestChainSharesNothingBetweenTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &counting{completer: ok(time.Second)}
		chain := NewChain(model, Options{}, "p/a")
		texts := Question[string]{Request: question().Request, Parse: func(text string) (string, error) { return text, nil }}
		text := Start(t.Context(), NewLimit(1), 1, func(ctx context.Context) (Answer[string], error) { return Ask(ctx, chain, texts) })
		got, err := Ask(t.Context(), chain, question())
		require.NoError(t, err)
		require.Equal(t, goodVerdict(), got.Value)
		raw, err := text()
		require.NoError(t, err)
		require.Equal(t, goodAnswer, raw.Value)
		require.Equal(t, 2, model.calls)
	})
}

func TestObserve(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		outcome Outcome
	}{
		{"an answer", nil, OutcomeOK},
		{"a failure", errors.New("HTTP status 500"), OutcomeFailed},
		{"a time-out", context.DeadlineExceeded, OutcomeLate},
		{"not wanted", context.Canceled, OutcomeCanceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := &calls{}
			got, err := Observe(t.Context(), seen, "p/e", func() (int, provider.Usage, error) {
				return 7, provider.Usage{InputTokens: 3}, tt.err
			})
			require.Equal(t, tt.err, err)
			require.Equal(t, tt.err == nil, got == 7)
			require.Len(t, seen.list, 1)
			require.Equal(t, tt.outcome, seen.list[0].Outcome)
			require.Equal(t, 3, seen.list[0].Usage.InputTokens)
		})
	}
}

func TestAnOvertakenModelIsLate(t *testing.T) {
	require.ErrorIs(t, errOvertaken, context.DeadlineExceeded)
	require.EqualError(t, errOvertaken, "a model that was asked later answered first")
}
