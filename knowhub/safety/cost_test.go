//go:build unix

package safety_test

import (
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
			// the longer texts.
			require.Less(t, cost(many, times), 3*cost(few, factor*times))
		})
	}
}

// cost is the processor time that the marks of a text take in nanoseconds, so many
// times, the least of several runs. Other processes do not change it. It is counted in
// steps of milliseconds: shorter work cannot be compared.
func cost(s string, times int) float64 {
	least := 0.0
	for range 3 {
		begun := processor()
		for range times {
			safety.Marks(s)
		}
		if took := processor() - begun; least == 0 || took < least {
			least = took
		}
	}
	return least
}

func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
