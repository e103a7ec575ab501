package fair

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is a queue whose places take a while for every request.
type machine struct {
	*Queue
	each time.Duration

	mu      sync.Mutex
	served  map[string]int
	refused map[string]int
	longest map[string]time.Duration // from coming to being served
}

func newMachine(each time.Duration) *machine {
	q := New(4)
	q.pace.least, q.pace.interval = 500*window.Seconds(), time.Millisecond // as on two processors
	return &machine{Queue: q, each: each, served: map[string]int{}, refused: map[string]int{}, longest: map[string]time.Duration{}}
}

// ask asks once and calls done with the answer.
func (m *machine) ask(name string, done func()) {
	came := time.Now()
	m.Came(name, came)
	ok := m.Go(context.Background(), name, 1, func(context.Context) {
		m.mu.Lock()
		m.served[name]++
		m.longest[name] = max(m.longest[name], time.Since(came))
		m.mu.Unlock()
		time.Sleep(m.each)
		done()
	})
	if !ok {
		m.mu.Lock()
		m.refused[name]++
		m.mu.Unlock()
		done()
	}
}

// every asks for a time without waiting for answers.
func (m *machine) every(name string, pause, long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(pause) {
		m.ask(name, func() {})
	}
}

// loop asks for a time with so many requests on their way.
func (m *machine) loop(name string, n int, long time.Duration) {
	end := time.Now().Add(long)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for time.Now().Before(end) {
				answered := make(chan struct{})
				m.ask(name, func() { close(answered) })
				<-answered
			}
		})
	}
	all.Wait()
}

func together(all ...func()) {
	var group sync.WaitGroup
	for _, one := range all {
		group.Go(one)
	}
	group.Wait()
}

func TestWhoAsksForMuchMoreThanOthersIsHeldBack(t *testing.T) {
	const each, long = time.Millisecond, 10 * time.Second // 4000 a second
	for _, row := range []struct {
		name  string
		load  func(m *machine)
		check func(t *testing.T, m *machine)
	}{
		{"a flood that waits for answers", func(m *machine) {
			together(func() { m.loop("flood", 64, long) }, func() { m.every("calm", 20*time.Millisecond, long) })
		}, func(t *testing.T, m *machine) {
			require.InDelta(t, 10_150, m.served["flood"], 100, "1000 a second, and 4000 in the first twentieth of one")
			require.Equal(t, 500, m.served["calm"])
		}},
		{"a flood that does not", func(m *machine) {
			together(func() { m.every("flood", 100*time.Microsecond, long) }, func() { m.every("calm", 20*time.Millisecond, long) })
		}, func(t *testing.T, m *machine) {
			require.InDelta(t, 11_100, m.served["flood"], 100, "and what stands in its line in the end")
			require.Positive(t, m.refused["flood"])
			require.Equal(t, 500, m.served["calm"])
			require.Zero(t, m.refused["calm"])
		}},
		{"two floods", func(m *machine) {
			together(func() { m.loop("flood", 64, long) }, func() { m.loop("other flood", 64, long) }, func() { m.every("calm", 20*time.Millisecond, long) })
		}, func(t *testing.T, m *machine) {
			require.InDelta(t, 10_150, m.served["flood"]+m.served["other flood"], 100)
			require.InDelta(t, 1, float64(m.served["flood"])/float64(m.served["other flood"]), 0.2)
		}},
		{"nobody else", func(m *machine) { m.loop("flood", 64, long) }, func(t *testing.T, m *machine) {
			require.InDelta(t, 40_000, m.served["flood"], 100)
		}},
		{"somebody else, before", func(m *machine) {
			m.every("calm", 20*time.Millisecond, time.Second)
			m.loop("flood", 64, long)
		}, func(t *testing.T, m *machine) {
			require.Greater(t, m.served["flood"], 30_000)
		}},
		{"all ask for the same", func(m *machine) {
			var all []func()
			for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				all = append(all, func() { m.loop(name, 2, long) })
			}
			together(all...)
		}, func(t *testing.T, m *machine) {
			sum := 0
			for _, n := range m.served {
				sum += n
			}
			require.InDelta(t, 40_000, sum, 100)
		}},
		{"twice as much as the other", func(m *machine) {
			together(func() { m.every("busy", time.Millisecond, long) }, func() { m.every("other", 2*time.Millisecond, long) })
		}, func(t *testing.T, m *machine) {
			require.Equal(t, 10_000, m.served["busy"])
		}},
		{"much more than the other, but little", func(m *machine) {
			together(func() { m.every("busy", 3*time.Millisecond, long) }, func() { m.every("other", time.Second, long) })
		}, func(t *testing.T, m *machine) {
			require.Less(t, m.longest["busy"], 2*time.Millisecond)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(each)
				row.load(m)
				synctest.Wait()
				time.Sleep(5 * time.Second) // what waits is served
				synctest.Wait()
				require.Zero(t, m.waiting)
				require.Equal(t, 4, m.free)
				require.Empty(t, m.lines)
				row.check(t, m)
				time.Sleep(2 * idleTime) // the goroutines of the pool end
			})
		})
	}
}
