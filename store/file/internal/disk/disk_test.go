package disk

import (
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// calls records how files are synced; one call takes a millisecond.
type calls struct {
	mu      sync.Mutex
	singly  map[*os.File]int
	wholes  int
	whole   time.Duration // how long a sync of everything takes
	wrong   error         // what it returns
	failing *os.File
}

func (c *calls) syncs() *contentSync {
	return &contentSync{
		one: func(f *os.File) error {
			time.Sleep(time.Millisecond)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.singly[f]++
			if f == c.failing {
				return errors.New("no space left")
			}
			return nil
		},
		all: func(*os.File) error {
			time.Sleep(c.whole)
			c.wholes++
			return c.wrong
		},
	}
}

// together syncs new files at the same time and returns the errors.
func together(s *contentSync, files ...*os.File) []error {
	errs := make([]error, len(files))
	var all sync.WaitGroup
	for i, f := range files {
		all.Go(func() { errs[i] = s.sync(f) })
		synctest.Wait() // in this order
	}
	all.Wait()
	return errs
}

func files(n int) []*os.File {
	out := make([]*os.File, n)
	for i := range out {
		out[i] = new(os.File)
	}
	return out
}

// Each caller gets the result of the first sync that began after its call.
func TestNamesAreSyncedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("the disk is gone")
		calls := 0
		n := newNameSync(func() error {
			calls++
			time.Sleep(time.Millisecond)
			if calls == 2 {
				return failure
			}
			return nil
		})
		errs := make([]error, 13)
		var all sync.WaitGroup
		ask := func(from, to int) {
			for i := from; i < to; i++ {
				all.Go(func() { errs[i] = n.sync() })
				synctest.Wait()
			}
		}
		ask(0, 7) // the first one's call, and one for six
		time.Sleep(1500 * time.Microsecond)
		ask(7, 13) // while that is under way
		all.Wait()
		require.Equal(t, 3, calls)
		for i, err := range errs {
			if i >= 1 && i < 7 {
				require.Equal(t, failure, err, i)
			} else {
				require.NoError(t, err, i)
			}
		}
	})
}

func TestFilesAreSyncedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{singly: map[*os.File]int{}, whole: time.Millisecond}
		s := c.syncs()
		require.NoError(t, s.sync(new(os.File)))
		require.Zero(t, c.wholes, "a single file")

		began := time.Now()
		require.Equal(t, make([]error, 20), together(s, files(20)...))
		require.Equal(t, 1, c.wholes)
		require.Len(t, c.singly, 2, "the file that came first")
		require.Equal(t, 2*time.Millisecond, time.Since(began))

		require.Equal(t, make([]error, 3), together(s, files(3)...))
		require.Equal(t, 1, c.wholes, "two files are too few for a sync of everything")
		require.Len(t, c.singly, 5)
	})
}

func TestFilesAreSyncedSinglyIfSyncingAllFails(t *testing.T) {
	for name, wrong := range map[string]error{
		"not supported":      nil,
		"another file fails": errors.New("input/output error"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := files(10)
				c := &calls{singly: map[*os.File]int{}, whole: time.Millisecond, wrong: wrong, failing: all[4]}
				s := c.syncs()
				if wrong == nil {
					s.all = nil
				}
				errs := together(s, all...)
				require.Len(t, c.singly, 10)
				require.ErrorContains(t, errs[4], "no space left")
				errs[4] = nil
				require.Equal(t, make([]error, 10), errs)
			})
		})
	}
}

func TestFilesAreSyncedSinglyOnABusyFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{singly: map[*os.File]int{}, whole: time.Second}
		s := c.syncs()
		together(s, files(10)...)
		require.Equal(t, 1, c.wholes)
		for range 10 {
			together(s, files(10)...)
			time.Sleep(time.Second)
		}
		require.Equal(t, 1, c.wholes)
		time.Sleep(20 * time.Second)
		c.whole = time.Millisecond
		together(s, files(10)...)
		together(s, files(10)...)
		require.Equal(t, 3, c.wholes)
	})
}

func TestSyncAllOnThisSystem(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	require.NoError(t, err)
	_, err = f.WriteString("text")
	require.NoError(t, err)
	if canSyncAll(t.TempDir()) {
		require.NoError(t, syncAll(f))
	}
	require.NoError(t, f.Close())
	require.False(t, canSyncAll("/proc"), "unsupported file system")
	require.False(t, canSyncAll("/does/not/exist"))
}
