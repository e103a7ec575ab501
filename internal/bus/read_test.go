package bus

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
)

// A pull that the server never gets is asked again.
func TestReadStreamAsksAgain(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	// The first pull goes to a subject of the same length on which nobody answers.
	_, err := natstest.Connect(t, ns).Subscribe("$XX.>", func(*nats.Msg) {})
	require.NoError(t, err)
	pull, elsewhere := []byte("$JS.API.CONSUMER.MSG.NEXT."), []byte("$XX.API.CONSUMER.MSG.NEXT.")
	var lost atomic.Bool
	url := natstest.Through(t, ns, func(chunk []byte) []byte {
		if bytes.Contains(chunk, pull) && lost.CompareAndSwap(false, true) {
			return bytes.ReplaceAll(chunk, pull, elsewhere)
		}
		return chunk
	})
	b, err := Open(t.Context(), Options{URL: url, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	provisionTest(t, b)
	_, err = b.JS.Publish(t.Context(), testLayout().Prefix.Event("agent_end", "main", "s"), []byte("{}"))
	require.NoError(t, err)
	read := make(chan error, 1)
	events := 0
	go func() {
		config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy}
		read <- ReadStream(t.Context(), b.JS, testLayout(), config, 0, func(portion []jetstream.Msg, _ int) error {
			events += len(portion)
			return nil
		})
	}()
	select {
	case err := <-read:
		require.NoError(t, err)
		require.True(t, lost.Load())
		require.Equal(t, 1, events)
	case <-time.After(time.Minute):
		t.Fatal("the read hangs")
	}
}

// A server of a cluster that comes back has less of a stream than the leader for a
// while, and readers may be on it. A stream that lacks events stands for its copy.
func TestReadStreamTellsWhatTheLeaderHas(t *testing.T) {
	t.Parallel()
	const behind = "BEHIND_OF_EVENT" // as long as the stream's name
	l := testLayout()
	l.Stream = "LEADER_OF_EVENT"
	all := jetstream.OrderedConsumerConfig{}
	session := jetstream.OrderedConsumerConfig{FilterSubjects: []string{l.Prefix.EventsOfSession("s")}}
	later := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 2}
	for _, row := range []struct {
		name   string
		lacks  []uint64 // sequences
		config jetstream.OrderedConsumerConfig
		last   uint64
		events int
		err    string
	}{
		{"everything", nil, all, 0, 4, ""},
		{"more than there is", nil, all, 5, 0, "up to 4, not 5"},
		{"everything of a session", nil, session, 0, 3, ""},
		{"the last is missing", []uint64{4}, all, 0, 3, "3 of 4"},
		{"the last is not asked for", []uint64{4}, all, 2, 2, ""},
		{"the last of a session is missing", []uint64{4}, session, 0, 2, "2 of 3"},
		{"all of a session are missing", []uint64{1, 3, 4}, session, 0, 0, "0 of 3"},
		{"another session's event is missing", []uint64{2}, session, 0, 3, ""},
		{"a read from a later event on", []uint64{4}, later, 0, 2, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, nil)
			b, err := Open(t.Context(), Options{URL: natstest.Through(t, ns, func(chunk []byte) []byte {
				if bytes.Contains(chunk, []byte("$JS.API.CONSUMER.")) {
					return bytes.ReplaceAll(chunk, []byte(l.Stream), []byte(behind))
				}
				return chunk
			}), Log: quiet})
			require.NoError(t, err)
			t.Cleanup(b.Close)
			_, err = b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: l.Stream, Subjects: []string{l.Prefix.Events()}})
			require.NoError(t, err)
			for _, session := range []string{"s", "other", "s", "s"} {
				_, err := b.JS.Publish(t.Context(), l.Prefix.Event("agent_end", "main", session), []byte("{}"))
				require.NoError(t, err)
			}
			copied, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: behind, Mirror: &jetstream.StreamSource{Name: l.Stream}})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				info, err := copied.Info(t.Context())
				return err == nil && info.State.LastSeq == 4
			}, time.Minute, 10*time.Millisecond)
			for _, sequence := range row.lacks {
				require.NoError(t, copied.DeleteMsg(t.Context(), sequence))
			}

			events := 0
			err = ReadStream(t.Context(), b.JS, l, row.config, row.last, func(portion []jetstream.Msg, _ int) error {
				events += len(portion)
				return nil
			})
			require.Equal(t, row.events, events)
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrIncomplete)
			require.ErrorContains(t, err, row.err)
		})
	}
}

func TestRequireLeader(t *testing.T) {
	t.Parallel()
	require.NoError(t, RequireLeader(nil))
	require.NoError(t, RequireLeader(&jetstream.ClusterInfo{Leader: "n1"}))
	require.ErrorIs(t, RequireLeader(&jetstream.ClusterInfo{Name: "cluster", RaftGroup: "S-R3F-x"}), errNoLeader)

	b := openTest(t)
	provisionTest(t, b)
	stream, err := FindStream(t.Context(), b.JS, testLayout().Stream)
	require.NoError(t, err)
	require.NoError(t, RequireLeader(stream.CachedInfo().Cluster), "a server without a cluster")
}
