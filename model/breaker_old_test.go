package model

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

// What a call from before the breaker opened reports does not end the pause, nor
// make it shorter, nor close the breaker.
func TestBreakerPauseOutlastsOldCalls(t *testing.T) {
	for name, result := range map[string]error{
		"an answer":                   nil,
		"a failure":                   errBroken,
		"a late answer":               errLate,
		"an answer nobody waits for":  errUnwanted,
		"a shorter Retry-After":       &provider.StatusError{Code: 429, RetryAfter: breakerPause / 2},
		"a Retry-After of no time":    &provider.StatusError{Code: 503},
		"Retry-After of other status": &provider.StatusError{Code: 500, RetryAfter: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := &switches{}
				breakers := NewBreakers(told)
				admit := func() func(error) {
					t.Helper()
					report, err := breakers.admit("p/a")
					require.NoError(t, err)
					return report
				}
				refused := func() {
					t.Helper()
					_, err := breakers.admit("p/a")
					require.ErrorIs(t, err, ErrOpen)
				}
				before, during := admit(), admit()
				for range breakerFailures {
					admit()(errBroken)
				}
				refused()
				before(result)
				refused()
				time.Sleep(breakerPause - time.Millisecond)
				refused()
				time.Sleep(time.Millisecond)
				probe := admit()
				during(result)
				refused() // one probe at a time
				probe(errBroken)
				require.Len(t, told.list, 1, "opened once and not closed")
				time.Sleep(2*breakerPause - time.Millisecond)
				refused()
				time.Sleep(time.Millisecond)
				admit()(nil)
				admit()(nil)
			})
		})
	}
}
