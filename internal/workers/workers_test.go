package workers_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/workers"
)

func TestWorkIsNeverHeldUp(*testing.T) {
	pool := workers.New()
	const n = 100
	var wg sync.WaitGroup
	release := make(chan struct{})
	wg.Add(n)
	for range n {
		pool.Go(func() { wg.Done(); <-release })
	}
	wg.Wait() // all of them run at the same time
	close(release)
}

func TestGoroutinesAreUsedAgainAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := workers.New()
		before := runtime.NumGoroutine()
		for range 50 {
			done := make(chan struct{})
			pool.Go(func() { close(done) })
			<-done
			synctest.Wait() // it waits for more
		}
		require.Equal(t, before+1, runtime.NumGoroutine())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, before, runtime.NumGoroutine())
	})
}

func BenchmarkGo(b *testing.B) {
	deep := func(done chan struct{}) {
		var stack [16 << 10]byte
		stack[len(done)] = 1
		runtime.KeepAlive(&stack)
		done <- struct{}{}
	}
	b.Run("pool", func(b *testing.B) {
		pool, done := workers.New(), make(chan struct{})
		b.ReportAllocs()
		for b.Loop() {
			pool.Go(func() { deep(done) })
			<-done
		}
	})
	b.Run("go statement", func(b *testing.B) {
		done := make(chan struct{})
		b.ReportAllocs()
		for b.Loop() {
			go func() { deep(done) }()
			<-done
		}
	})
}
