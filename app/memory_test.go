package app

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryGoesBackAfterABurst(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name string
		held []uint64 // MiB, at each look
		want []bool
	}{
		{"quiet", []uint64{150, 150, 150}, []bool{false, false, false}},
		{"collections of garbage", []uint64{150, 220, 220, 160}, []bool{false, false, false, false}},
		{"a burst that is over", []uint64{200, 600, 600}, []bool{false, false, true}},
		{"a burst that grows", []uint64{200, 400, 600, 800}, []bool{false, false, false, false}},
		{"a small process", []uint64{20, 45, 45, 60, 60}, []bool{false, false, false, false, true}},
		{"less than at the start", []uint64{300, 100, 100, 200, 200}, []bool{false, false, false, false, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var at tide
			for i, held := range tt.held {
				require.Equal(t, tt.want[i], at.look(held*mib), "look %d", i)
			}
		})
	}
	at := tide{low: 200 * mib, last: 600 * mib}
	at.returned(250 * mib)
	require.False(t, at.look(250*mib))
	require.False(t, at.look(600*mib))
	require.True(t, at.look(600*mib), "the next burst")
}

// What was freed is counted until it is returned.
func TestHeldMemory(t *testing.T) {
	const burst = 128 << 20
	before := heldMemory()
	garbage := make([]byte, burst)
	for i := 0; i < len(garbage); i += 4096 {
		garbage[i] = 1
	}
	require.GreaterOrEqual(t, heldMemory(), before+burst/2)
	runtime.KeepAlive(garbage)
	debug.FreeOSMemory()
	require.Less(t, heldMemory(), before+burst/2)
}
