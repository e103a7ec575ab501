package fair

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWorkIsNeverHeldUp(*testing.T) {
	p := newPool()
	const n = 100
	var wg sync.WaitGroup
	release := make(chan struct{})
	wg.Add(n)
	for range n {
		p.run(func() { wg.Done(); <-release })
	}
	wg.Wait() // all of them run at the same time
	close(release)
}

func TestGoroutinesAreUsedAgainAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		before := runtime.NumGoroutine()
		for range 50 {
			done := make(chan struct{})
			p.run(func() { close(done) })
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
		p, done := newPool(), make(chan struct{})
		b.ReportAllocs()
		for b.Loop() {
			p.run(func() { deep(done) })
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
