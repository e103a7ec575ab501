package model

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

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
			name: "the first cannot be parsed", models: resolver{"p/a": {text: "I think RESPOND"}, "p/b": ok(0)},
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
			in := question()
			in.RunModel = tt.run
			synctest.Test(t, func(t *testing.T) {
				seen := &calls{}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				got, err := Ask(ctx, NewChain(tt.models, Options{Observer: seen}, tt.refs...), in)
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
				asked := 0
				for _, call := range seen.list {
					if call.Outcome.Sent() {
						asked++
					}
				}
				require.Equal(t, Answer[verdict]{Value: goodVerdict(), Ref: tt.model, Usage: provider.Usage{InputTokens: 7}, Calls: asked}, got)
			})
		})
	}
}

func TestChainErrorNamesEachModel(t *testing.T) {
	models := resolver{"p/a": {err: errors.New("HTTP status 500")}, "p/b": {text: "hm"}}
	_, err := Ask(t.Context(), NewChain(models, Options{}, "p/a", "p/b", "p/c"), question())
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, ErrUnparsable)
	require.ErrorIs(t, err, provider.ErrUnresolved)
	for _, part := range []string{"p/a: HTTP status 500", "p/b: unusable answer: neither RESPOND nor SKIP", "p/c: model cannot be resolved"} {
		require.ErrorContains(t, err, part)
	}
}

func TestChainObserverSeesUsageAndError(t *testing.T) {
	broken := errors.New("broken")
	seen := &calls{}
	models := resolver{"p/a": {err: broken}, "p/b": ok(0)}
	_, err := Ask(t.Context(), NewChain(models, Options{Observer: seen}, "p/a", "p/b"), question())
	require.NoError(t, err)
	require.ErrorIs(t, seen.list[0].Err, broken)
	require.NoError(t, seen.list[1].Err)
	require.Equal(t, 7, seen.list[1].Usage.InputTokens)
}

func TestChainContextAlreadyDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	seen := &calls{}
	_, err := Ask(ctx, NewChain(resolver{"p/a": ok(0)}, Options{Observer: seen}, "p/a"), question())
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
			in := question()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				m := &completer{delay: tt.after, err: timeout{errors.New("i/o timeout")}}
				_, err := Ask(ctx, NewChain(resolver{"p/a": m}, Options{}, "p/a"), in)
				require.ErrorIs(t, err, tt.want)
			})
		})
	}
}
