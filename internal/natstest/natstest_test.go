package natstest

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestStart(t *testing.T) {
	for _, tc := range []struct {
		row     string
		options *server.Options
		works   bool // JetStream
	}{
		{"the usual", nil, true},
		{"without JetStream", &server.Options{}, false},
		{"with users", &server.Options{JetStream: true, Username: "u", Password: "p"}, true},
	} {
		t.Run(tc.row, func(t *testing.T) {
			ns := Start(t, tc.options)
			_, err := JetStream(t, ns, nats.UserInfo("u", "p")).AccountInfo(t.Context())
			require.Equal(t, tc.works, err == nil, err)
		})
	}
}

func TestServerEndsWithTest(t *testing.T) {
	var ns *server.Server
	t.Run("test", func(t *testing.T) { ns = Start(t, nil) })
	require.False(t, ns.Running())
}

func TestCluster(t *testing.T) {
	nodes := Cluster(t, func(node int, _ [Nodes]int) *server.Options {
		return &server.Options{ServerName: []string{"a", "b", "c"}[node]}
	})
	js := JetStream(t, nodes[0])
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: Nodes})
	require.NoError(t, err)
	_, err = JetStream(t, nodes[1]).Publish(t.Context(), "s", []byte("x"))
	require.NoError(t, err)
	stream, err := JetStream(t, nodes[2]).Stream(t.Context(), "S")
	require.NoError(t, err)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs)
	require.Len(t, stream.CachedInfo().Cluster.Replicas, Nodes-1)
	require.Equal(t, "b", nodes[1].Name())
}
