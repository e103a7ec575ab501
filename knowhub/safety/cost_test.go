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
	const short, factor = 4 << 10, 8
	for name, unit := range hostile {
		t.Run(name, func(t *testing.T) {
			few := strings.Repeat(unit, short/len(unit))
			many := strings.Repeat(few, factor)
			// Quadratic work takes 64 times as long for the longer text.
			require.Less(t, cost(many), 3*factor*cost(few))
		})
	}
}

// cost is the processor time that the marks of a text take in nanoseconds, the
// least of several runs. Other processes do not change it.
func cost(s string) float64 {
	least := 0.0
	for range 3 {
		begun := processor()
		for range 4 {
			safety.Marks(s)
		}
		if took := processor() - begun; least == 0 || took < least {
			least = took
		}
	}
	return max(least, 1000) // the clock's step
}

func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
