package kv_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// newCluster starts three servers that are one.
func newCluster(t *testing.T) []*server.Server {
	t.Helper()
	// A server of a cluster must be told where the others are.
	var ports [3]int
	var routes []*url.URL
	for i := range ports {
		ports[i] = porttest.Free(t)
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
	}
	var servers []*server.Server
	for i, port := range ports {
		ns, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
			NoLog: true, NoSigs: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port},
		})
		require.NoError(t, err)
		servers = append(servers, ns)
	}
	for _, ns := range servers {
		go ns.Start()
		t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	}
	for _, ns := range servers {
		require.True(t, ns.ReadyForConnections(10*time.Second))
	}
	require.Eventually(t, func() bool {
		for _, ns := range servers {
			if !ns.JetStreamIsCurrent() {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)
	return servers
}

// Three replicas, and a process at each server: most do not speak to the
// leader.
func TestConformanceInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	servers := newCluster(t)
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
