package state_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/triage/state"
)

// Messages of one group that come at once to one process do not make each other
// fail: each is one write.
func TestABurstIsWrittenOnce(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s := open(t, ns)
	nc := natstest.Connect(t, ns)
	writes, err := nc.SubscribeSync("$KV." + buckets.Recent.Bucket + ".>")
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	const messages = 100
	var remembering sync.WaitGroup
	for i := range messages {
		remembering.Go(func() {
			if _, err := s.Remember(t.Context(), group, state.RecentMessage{ID: strconv.Itoa(i), At: 1000, Text: "x"}, state.Keep{People: messages}); err != nil {
				t.Error(err)
			}
		})
	}
	remembering.Wait()
	var n int
	require.Eventually(t, func() bool {
		n, _, err = writes.Pending()
		return err == nil && n >= messages
	}, time.Minute, time.Millisecond)
	require.Equal(t, messages, n)
}
