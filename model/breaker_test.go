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

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

// switches records what a breaker's observer is told.
type switches struct {
	mu   sync.Mutex
	list []string
}

func (s *switches) BreakerOpened(ref string, pause time.Duration, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, fmt.Sprintf("%s open %s: %v", ref, pause, cause))
}

func (s *switches) BreakerClosed(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, ref+" closed")
}

var (
	errBroken = errors.New("HTTP status 500")
	errBusy   = &provider.StatusError{Code: 429, RetryAfter: 20 * time.Second}
)

func TestBreakerOpensOnFailuresOfTheModel(t *testing.T) {
	tests := []struct {
		name   string
		models resolver
		budget time.Duration
		cancel time.Duration // when the caller leaves; 0 for never
		calls  int           // that it takes to open; 0 for never
		fails  bool          // every question fails, though the breaker stays closed
	}{
		{name: "failures", models: resolver{"p/a": {err: errBroken}}, calls: breakerFailures},
		{name: "late", models: resolver{"p/a": ok(time.Hour)}, calls: breakerLates},
		{name: "answers that cannot be used", models: resolver{"p/a": {text: "hm"}}},
		{name: "not resolved", models: resolver{}, fails: true},
		{name: "busy", models: resolver{"p/a": {err: errBusy}}, calls: 1},
		{name: "unavailable for a time", models: resolver{"p/a": {err: fmt.Errorf("x: %w", &provider.StatusError{Code: 503, RetryAfter: time.Second})}}, calls: 1},
		{name: "unavailable", models: resolver{"p/a": {err: &provider.StatusError{Code: 503}}}, calls: breakerFailures},
		{name: "another status with a time", models: resolver{"p/a": {err: &provider.StatusError{Code: 500, RetryAfter: time.Second}}}, calls: breakerFailures},
		{name: "callers who leave", models: resolver{"p/a": ok(time.Hour)}, cancel: time.Second},
		{name: "callers in a hurry", models: resolver{"p/a": ok(time.Second)}, budget: 200 * time.Millisecond},
		{name: "answers", models: resolver{"p/a": ok(time.Second)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := question()
			synctest.Test(t, func(t *testing.T) {
				seen, told := &calls{}, &switches{}
				chain := NewChain(tt.models, Options{Observer: seen, Breakers: NewBreakers(told)}, "p/a")
				const n = breakerFailures + 5
				for range n {
					budget := tt.budget
					if budget == 0 {
						budget = time.Second
					}
					if tt.cancel > 0 {
						budget *= 10
					}
					ctx, cancel := context.WithTimeout(t.Context(), budget)
					if tt.cancel > 0 {
						time.AfterFunc(tt.cancel, cancel)
					}
					_, err := Ask(ctx, chain, in)
					cancel()
					if asked := len(seen.list); tt.calls > 0 && asked > tt.calls {
						break
					} else if tt.calls > 0 || tt.cancel > 0 || tt.fails {
						require.Error(t, err)
					}
				}
				if tt.calls == 0 {
					require.Empty(t, told.list)
					require.Len(t, seen.list, n)
					return
				}
				require.Len(t, told.list, 1, "one line when it opens")
				require.Equal(t, "p/a open 0s", fmt.Sprintf("%s %s %s", seen.list[tt.calls].Ref, seen.list[tt.calls].Outcome, seen.list[tt.calls].Duration))
				require.ErrorIs(t, seen.list[tt.calls].Err, ErrOpen)
				for _, call := range seen.list[:tt.calls] {
					require.NotEqual(t, OutcomeOpen, call.Outcome)
				}
			})
		})
	}
}

func TestBreakerSuccessResetsTheFailures(t *testing.T) {
	in := question()
	told := &switches{}
	m := &completer{err: errBroken, text: goodAnswer}
	chain := NewChain(resolver{"p/a": m}, Options{Breakers: NewBreakers(told)}, "p/a")
	for range 3 {
		for range breakerFailures - 1 {
			_, err := Ask(t.Context(), chain, in)
			require.Error(t, err)
		}
		m.err = nil
		_, err := Ask(t.Context(), chain, in)
		require.NoError(t, err)
		m.err = errBroken
	}
	require.Empty(t, told.list)
}

// TestBreakerOutage is an outage of three minutes with a question each second.
func TestBreakerOutage(t *testing.T) {
	in := question()
	synctest.Test(t, func(t *testing.T) {
		seen, told := &calls{}, &switches{}
		breakers := NewBreakers(told)
		m := &completer{err: errBroken, text: goodAnswer}
		start := time.Now()
		var asked []string
		for i := range 220 {
			if i == 180 {
				m.err = nil
			}
			// A new configuration each time: what is known of the model stays.
			chain := NewChain(resolver{"p/a": m}, Options{Observer: seen, Breakers: breakers}, "p/a")
			began := time.Now()
			_, err := patient(t, chain, in)
			require.Zero(t, time.Since(began), "no wait for a model whose breaker is open")
			if last := seen.list[len(seen.list)-1]; last.Outcome != OutcomeOpen {
				asked = append(asked, fmt.Sprint(time.Since(start), " ", last.Outcome))
			} else {
				require.ErrorIs(t, err, ErrFailed)
				require.ErrorIs(t, err, ErrOpen)
			}
			time.Sleep(time.Second)
		}
		require.Greater(t, len(asked), breakerFailures)
		require.Equal(t, []string{"18s failed", "19s failed"}, asked[breakerFailures-2:breakerFailures])
		require.Equal(t, []string{
			"20s failed", "22s failed", "26s failed", "34s failed", "50s failed", "1m22s failed", "2m22s failed", "3m22s ok",
		}, asked[breakerFailures:][:8])
		require.Equal(t, []string{"p/a open 1s: HTTP status 500", "p/a closed"}, told.list)
	})
}

func TestBreakerProbesWithOneRequestAtATime(t *testing.T) {
	in := question()
	synctest.Test(t, func(t *testing.T) {
		seen := &calls{}
		m := &completer{err: errBroken}
		chain := NewChain(resolver{"p/a": m}, Options{Observer: seen, Breakers: NewBreakers(nil)}, "p/a")
		for range breakerFailures {
			_, err := patient(t, chain, in)
			require.Error(t, err)
		}
		time.Sleep(breakerPause)
		m.delay, m.err, m.text = time.Second, nil, goodAnswer
		seen.list = nil
		var asking sync.WaitGroup
		for i := range 10 {
			asking.Go(func() {
				own := in
				own.Request.User = fmt.Sprint("question ", i)
				_, _ = patient(t, chain, own)
			})
		}
		asking.Wait()
		outcomes := map[Outcome]int{}
		for _, call := range seen.list {
			outcomes[call.Outcome]++
		}
		require.Equal(t, map[Outcome]int{OutcomeOK: 1, OutcomeOpen: 9}, outcomes)
		_, err := patient(t, chain, in)
		require.NoError(t, err, "closed again")
	})
}

func TestBreakerCanceledProbeAllowsAnother(t *testing.T) {
	in := question()
	synctest.Test(t, func(t *testing.T) {
		m := &completer{err: errBroken}
		chain := NewChain(resolver{"p/a": m}, Options{Breakers: NewBreakers(nil)}, "p/a")
		for range breakerFailures {
			_, err := patient(t, chain, in)
			require.Error(t, err)
		}
		time.Sleep(breakerPause)
		m.delay, m.err, m.text = 2*time.Second, nil, goodAnswer
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		time.AfterFunc(time.Second, cancel)
		_, err := Ask(ctx, chain, in)
		require.Error(t, err)
		_, err = patient(t, chain, in)
		require.NoError(t, err)
	})
}

func TestBreakerRetryAfter(t *testing.T) {
	tests := []struct {
		name string
		wait time.Duration
		want string
		open time.Duration
	}{
		{"as long as it says", 20 * time.Second, "p/a open 20s: ", 20 * time.Second},
		{"shorter than the usual pause", time.Second, "p/a open 1s: ", time.Second},
		{"bounded", time.Hour, "p/a open 1m0s: ", time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := question()
			synctest.Test(t, func(t *testing.T) {
				told := &switches{}
				m := &completer{text: goodAnswer, err: &provider.StatusError{Code: 429, RetryAfter: tt.wait}}
				chain := NewChain(resolver{"p/a": m, "p/b": ok(0)}, Options{Breakers: NewBreakers(told)}, "p/a", "p/b")
				got, err := patient(t, chain, in)
				require.NoError(t, err)
				require.Equal(t, "p/b", got.Ref)
				require.Contains(t, told.list[0], tt.want)
				m.err = nil
				time.Sleep(tt.open - time.Millisecond)
				got, err = patient(t, chain, in)
				require.NoError(t, err)
				require.Equal(t, "p/b", got.Ref)
				time.Sleep(time.Millisecond)
				got, err = patient(t, chain, in)
				require.NoError(t, err)
				require.Equal(t, "p/a", got.Ref)
			})
		})
	}
}

func TestBreakerRetryAfterFromAnEarlierCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breakers := NewBreakers(nil)
		slow, err := breakers.admit("p/a")
		require.NoError(t, err)
		for range breakerFailures {
			report, err := breakers.admit("p/a")
			require.NoError(t, err)
			report(errBroken)
		}
		slow(errBusy)
		time.Sleep(errBusy.RetryAfter - time.Millisecond)
		_, err = breakers.admit("p/a")
		require.ErrorIs(t, err, ErrOpen)
		time.Sleep(time.Millisecond)
		_, err = breakers.admit("p/a")
		require.NoError(t, err)
	})
}

// A primary that hangs costs each turn the primary's share until the fallback,
// which saves every turn, has beaten it often enough.
func TestBreakerOpensOnAnOvertakenModel(t *testing.T) {
	in := question()
	synctest.Test(t, func(t *testing.T) {
		chain := NewChain(resolver{"p/a": ok(time.Hour), "p/b": ok(time.Second)}, Options{Breakers: NewBreakers(nil)}, "p/a", "p/b")
		var took []time.Duration
		for range breakerLates + 1 {
			start := time.Now()
			got, err := patient(t, chain, in)
			require.NoError(t, err)
			require.Equal(t, "p/b", got.Ref)
			took = append(took, time.Since(start))
			synctest.Wait()
		}
		const slow, fast = 7 * time.Second, time.Second
		require.Equal(t, append(slices.Repeat([]time.Duration{slow}, breakerLates), fast), took)
	})
}

// Who loses because the first model made it after all is not to blame.
func TestBreakerStaysClosedForACanceledFallback(t *testing.T) {
	in := question()
	synctest.Test(t, func(t *testing.T) {
		told := &switches{}
		chain := NewChain(resolver{"p/a": ok(7 * time.Second), "p/b": ok(time.Hour)}, Options{Breakers: NewBreakers(told)}, "p/a", "p/b")
		for range 2 * breakerFailures {
			_, err := patient(t, chain, in)
			require.NoError(t, err)
			synctest.Wait()
		}
		require.Empty(t, told.list)
	})
}

func TestBreakerOfALateModelReportsADeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		model *completer
		calls int
		want  error
	}{
		"late":   {ok(time.Hour), breakerLates, ErrDeadline},
		"broken": {&completer{err: errors.New("broken")}, breakerFailures, ErrFailed},
	} {
		t.Run(name, func(t *testing.T) {
			in := question()
			synctest.Test(t, func(t *testing.T) {
				chain := NewChain(resolver{"p/a": tt.model}, Options{Breakers: NewBreakers(nil)}, "p/a")
				for range tt.calls {
					_, err := patient(t, chain, in)
					require.ErrorIs(t, err, tt.want)
				}
				start := time.Now()
				_, err := patient(t, chain, in)
				require.ErrorIs(t, err, ErrOpen)
				require.ErrorIs(t, err, tt.want)
				require.Zero(t, time.Since(start))
			})
		})
	}
}

func TestBreakerIgnoresUnresolvedModels(t *testing.T) {
	in := question()
	told := &switches{}
	breakers := NewBreakers(told)
	for range breakerFailures + 1 {
		_, err := Ask(t.Context(), NewChain(resolver{}, Options{Breakers: breakers}, "p/a"), in)
		require.ErrorIs(t, err, ErrFailed)
	}
	_, err := Ask(t.Context(), NewChain(resolver{"p/a": ok(0)}, Options{Breakers: breakers}, "p/a"), in)
	require.NoError(t, err, "the configuration was corrected")
	require.Empty(t, told.list)
}

func TestBreakersAreBounded(t *testing.T) {
	breakers := NewBreakers(nil)
	use := func(ref string, err error) {
		report, refused := breakers.admit(ref)
		require.NoError(t, refused)
		report(err)
	}
	use("p/failing", errBusy)
	for i := range 2 * maxBreakers {
		use(fmt.Sprint("p/fine", i), nil)
	}
	require.Len(t, breakers.byRef, maxBreakers)
	_, err := breakers.admit("p/failing")
	require.ErrorIs(t, err, ErrOpen, "what is known of a failing model is not forgotten")
	for i := range 2 * maxBreakers {
		use(fmt.Sprint("p/bad", i), errBusy)
	}
	require.Len(t, breakers.byRef, maxBreakers, "beyond the bound models are not watched")
}

func TestBreakersConcurrently(t *testing.T) {
	told := &switches{}
	breakers := NewBreakers(told)
	var using sync.WaitGroup
	for g := range 8 {
		using.Go(func() {
			for i := range 200 {
				report, err := breakers.admit("p/a")
				if err == nil {
					report([]error{nil, errBroken, errUnwanted, errBroken, errBroken}[(i+g)%5])
				}
			}
		})
	}
	using.Wait()
	require.Zero(t, breakers.byRef["p/a"].calls)
}

// What the breaker adds to one model call.
func BenchmarkBreaker(b *testing.B) {
	breakers := NewBreakers(nil)
	b.ReportAllocs()
	for b.Loop() {
		report, _ := breakers.admit("p/a")
		report(nil)
	}
}
