package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestRegistryHasTheRuntimeAndTheVersion(t *testing.T) {
	r := NewRegistry("v1.2.3")
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "intenthint_build_info"} {
		n, err := testutil.GatherAndCount(r, name)
		require.NoError(t, err)
		require.Equal(t, 1, n, name)
	}
}

func TestLabelIsBounded(t *testing.T) {
	label := NewLabel(2)
	for _, row := range []struct{ value, want string }{{"a", "a"}, {"b", "b"}, {"c", "other"}, {"a", "a"}} {
		require.Equal(t, row.want, label.Bound(row.value))
	}
}
