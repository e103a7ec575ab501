//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFaults kills, pauses, partitions and slows down processes for a short time.
func TestFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			newField(t, 3, settings{"HINT_STORE": store}).try(trial{seed: seed(t), lasts: 30 * time.Second, gateways: 10, pace: 100 * time.Millisecond})
		})
	}
}

// stores are the values of HINT_STORE.
var stores = []string{"file", "kv"}

// TestSoak is TestFaults for the time in SOAK.
func TestSoak(t *testing.T) {
	text := os.Getenv("SOAK")
	if text == "" {
		t.Skip("needs SOAK, a duration such as 10m")
	}
	lasts, err := time.ParseDuration(text)
	require.NoError(t, err)
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			newField(t, 3, settings{"HINT_STORE": store}).try(trial{seed: seed(t), lasts: lasts / time.Duration(len(stores)), gateways: 24, pace: 100 * time.Millisecond})
		})
	}
}
