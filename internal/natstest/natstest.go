// Package natstest starts NATS servers for tests: on loopback, on free ports,
// with their stores in temporary directories.
package natstest

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
)

const startTime = time.Minute // for a busy machine

// Start starts a server that ends with the test, and waits until it accepts
// connections. nil options mean a server with JetStream. The defaults are host
// 127.0.0.1, a free port and a temporary store.
func Start(t testing.TB, options *server.Options) *server.Server {
	t.Helper()
	ns := start(t, options)
	require.True(t, ns.ReadyForConnections(startTime), "the server does not accept connections")
	return ns
}

func start(t testing.TB, options *server.Options) *server.Server {
	t.Helper()
	if options == nil {
		options = &server.Options{JetStream: true}
	}
	options = options.Clone()
	options.NoLog, options.NoSigs = true, true
	if options.Host == "" {
		options.Host = "127.0.0.1"
	}
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if options.JetStream && options.StoreDir == "" {
		options.StoreDir = t.TempDir()
	}
	ns, err := server.NewServer(options)
	require.NoError(t, err)
	go ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	return ns
}

// Nodes is the number of servers of a [Cluster].
const Nodes = 3

// Cluster starts a cluster and waits until each server serves JetStream. options,
// if not nil, returns the options of one server as for [Start], without names
// and routes; ports are the cluster ports.
func Cluster(t testing.TB, options func(node int, ports [Nodes]int) *server.Options) [Nodes]*server.Server {
	t.Helper()
	var (
		nodes  [Nodes]*server.Server
		ports  [Nodes]int
		routes []*url.URL
	)
	for i := range ports {
		ports[i] = porttest.Free(t) // routes need them before the servers listen
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
	}
	for i := range nodes {
		o := &server.Options{}
		if options != nil {
			o = options(i, ports).Clone()
		}
		o.JetStream = true
		o.Cluster.Host, o.Cluster.Port = "127.0.0.1", ports[i]
		if o.ServerName == "" {
			o.ServerName = fmt.Sprint("n", i)
		}
		if o.Cluster.Name == "" {
			o.Cluster.Name = "test"
		}
		if len(o.Routes) == 0 {
			o.Routes = routes
		}
		nodes[i] = start(t, o)
	}
	for _, ns := range nodes {
		require.True(t, ns.ReadyForConnections(startTime), "%s does not accept connections", ns.Name())
	}
	require.Eventually(t, func() bool {
		complete := false
		for _, ns := range nodes {
			if !ns.JetStreamIsCurrent() {
				return false
			}
			complete = complete || ns.JetStreamIsLeader() && len(ns.JetStreamClusterPeers()) == Nodes
		}
		return complete
	}, startTime, 20*time.Millisecond, "the servers are not a cluster")
	return nodes
}

// Connect returns a connection that ends with the test. Errors without a caller
// are dropped unless options handle them.
func Connect(t testing.TB, ns *server.Server, options ...nats.Option) *nats.Conn {
	t.Helper()
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc, err := nats.Connect(ns.ClientURL(), append([]nats.Option{quiet}, options...)...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// JetStream returns JetStream on its own connection.
func JetStream(t testing.TB, ns *server.Server, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(Connect(t, ns, options...))
	require.NoError(t, err)
	return js
}
