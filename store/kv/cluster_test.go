package kv_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// Three replicas, and a process at each server: most are not connected to the
// leader.
func TestConformanceInACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	servers := natstest.Cluster(t, nil)
	buckets := 0
	storetest.Run(t, func(t *testing.T, limit int) []store.Store {
		buckets++
		cfg := bucket(fmt.Sprint("C", buckets))
		cfg.Replicas = 3
		out := make([]store.Store, len(servers))
		for i, ns := range servers {
			js := connect(t, ns)
			require.Eventually(t, func() bool {
				s, err := kv.Open(t.Context(), js, cfg, store.Options{HistoryLimit: limit})
				out[i] = s
				return err == nil
			}, time.Minute, 50*time.Millisecond)
		}
		return out
	}, nil)
}
