package bus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// lined is a line whose requests end when the test says so.
type lined struct {
	*line
	end map[string]chan struct{}

	begins sync.Mutex // guards list
	list   []string
}

func newLined(room int) *lined {
	l := &lined{end: map[string]chan struct{}{}}
	l.line = newLine(func(answer func()) { go answer() })
	l.room = room
	return l
}

// asks lets a caller ask for the nth time.
func (l *lined) asks(caller string, n int) {
	name := fmt.Sprint(caller, n)
	end := make(chan struct{})
	l.end[name] = end
	l.serve(caller, func() {
		l.begins.Lock()
		l.list = append(l.list, name)
		l.begins.Unlock()
		<-end
	})
	synctest.Wait()
}

func (l *lined) begun() []string {
	l.begins.Lock()
	defer l.begins.Unlock()
	return slices.Clone(l.list)
}

func (l *lined) ends(name string) {
	close(l.end[name])
	synctest.Wait()
}

func TestALineTakesCallersInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLined(2)
		for n := range 6 {
			l.asks("a", n)
		}
		l.asks("b", 0)
		l.asks("b", 1)
		l.asks("c", 0)
		require.Equal(t, []string{"a0", "a1"}, l.begun())
		for _, name := range []string{"a0", "a1", "a2", "b0", "c0", "a3", "b1", "a4", "a5"} {
			l.ends(name)
		}
		require.Equal(t, []string{"a0", "a1", "a2", "b0", "c0", "a3", "b1", "a4", "a5"}, l.begun())
		require.Empty(t, l.waiting)
		require.Empty(t, l.serving)
		require.Zero(t, l.taken)
		l.asks("d", 0)
		require.Equal(t, "d0", l.begun()[9], "at once")
		l.ends("d0")
		time.Sleep(stayTime) // the last look
	})
}

// Requests that wait for a model do not hold up others.
func TestWhoOverstaysTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLined(2)
		for n := range 5 {
			l.asks("a", n)
		}
		require.Len(t, l.begun(), 2)
		time.Sleep(stayTime)
		synctest.Wait()
		require.Len(t, l.begun(), 4)
		time.Sleep(stayTime)
		synctest.Wait()
		require.ElementsMatch(t, []string{"a0", "a1", "a2", "a3", "a4"}, l.begun(), "two begin at once")
		l.asks("b", 0)
		require.Len(t, l.begun(), 6, "at once, as only one takes room")
		for _, name := range l.begun() {
			l.ends(name)
		}
		require.Zero(t, l.taken)
		require.Empty(t, l.serving)
		time.Sleep(stayTime)
		require.False(t, l.looking)
	})
}

// A caller with a thousand requests in flight does not delay another's by all of them.
func TestACallerIsServedBesideAFlood(t *testing.T) {
	t.Parallel()
	const flood = 1000
	b := openTest(t)
	release := make(chan struct{})
	var begun atomic.Int64
	startEndpoints(t, b, endpointOf("before_prompt_build", Bound{}, func(_ context.Context, r Request) Reply {
		if string(r.Data) == "other" {
			return Reply{Body: fmt.Append(nil, begun.Load())}
		}
		begun.Add(1)
		<-release
		return Reply{}
	}))
	defer close(release)
	one, other := client(t, b), client(t, b)
	for i := range flood {
		require.NoError(t, one.PublishRequest("openclaw.request.before_prompt_build.main", fmt.Sprintf("_INBOX.one.%d", i), nil))
	}
	require.NoError(t, one.Flush())
	reply, err := other.Request("openclaw.request.before_prompt_build.main", []byte("other"), time.Minute)
	require.NoError(t, err)
	before := 0
	_, err = fmt.Sscan(string(reply.Data), &before)
	require.NoError(t, err)
	require.Less(t, before, flood)
}
