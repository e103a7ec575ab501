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

// startTime is for a machine that is busy with other tests.
const startTime = time.Minute

// Start starts a server that ends with the test, and waits until it accepts
// connections. nil options mean a server with JetStream. Where options leave
// them out, the host is 127.0.0.1, the port is free, and the store is a
// temporary directory.
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

// Nodes is how many servers a [Cluster] has.
const Nodes = 3

// Cluster starts servers that replicate to each other, and waits until each of
// them serves JetStream. options, if not nil, returns those of one of them as
// for [Start]; ports are where the servers listen for each other. Name, routes
// and the port of the cluster need not be in it.
func Cluster(t testing.TB, options func(node int, ports [Nodes]int) *server.Options) [Nodes]*server.Server {
	t.Helper()
	var (
		nodes  [Nodes]*server.Server
		ports  [Nodes]int
		routes []*url.URL
	)
	for i := range ports {
		// A server must be told where the others are before they listen.
		ports[i] = porttest.Free(t)
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

// JetStream returns JetStream over a connection of its own.
func JetStream(t testing.TB, ns *server.Server, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(Connect(t, ns, options...))
	require.NoError(t, err)
	return js
}
