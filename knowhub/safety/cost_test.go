//go:build unix

package safety_test

import (
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/safety"
)

func TestMarksIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const short, factor, times = 1 << 10, 8, 4
	for name, unit := range hostile {
		t.Run(name, func(t *testing.T) {
			few := strings.Repeat(unit, short/len(unit))
			many := strings.Repeat(few, factor)
			// As many bytes both times. Quadratic work takes eight times as long for
			// the longer texts. What disturbs a run only makes it longer, so the least
			// of more runs is closer to the work itself.
			long, all := math.Inf(1), math.Inf(1)
			for round := 1; round <= 20; round++ {
				long, all = min(long, cost(many, times)), min(all, cost(few, factor*times))
				if round > 1 && long < 3*all {
					return
				}
			}
			require.Less(t, long, 3*all)
		})
	}
}

// cost is the processor time that the marks of a text take in nanoseconds, so many
// times. It is counted in steps of milliseconds: shorter work cannot be compared.
func cost(s string, times int) float64 {
	begun := processor()
	for range times {
		safety.Marks(s)
	}
	return processor() - begun
}

func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
