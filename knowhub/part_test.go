package knowhub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExtractionIsRepeatedForLessThanAnHour(t *testing.T) {
	t.Parallel()
	for delivered, want := range map[uint64]time.Duration{
		0: 5 * time.Second, 1: 5 * time.Second, 2: 40 * time.Second, 3: 320 * time.Second, 4: 2560 * time.Second, 1 << 40: 2560 * time.Second,
	} {
		require.Equal(t, want, extractPause(delivered), delivered)
	}
}
