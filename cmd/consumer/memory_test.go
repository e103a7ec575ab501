package main

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryLimitLeavesRoom(t *testing.T) {
	require.Equal(t, int64(smallMemory), memoryLimit(0, false))
	require.Equal(t, int64(smallMemory), memoryLimit(40<<20, false))
	require.Equal(t, int64(237<<20), memoryLimit(200<<20, false))
	require.Equal(t, int64(156<<20), memoryLimit(40<<20, true))
}

func TestRequestsComeBeforeThrift(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	synctest.Test(t, func(t *testing.T) {
		stop := beThrifty()
		defer stop()
		percent := func(came uint64) int {
			requestsCame.Add(came)
			time.Sleep(thriftTick)
			synctest.Wait()
			now := debug.SetGCPercent(gcPercent)
			debug.SetGCPercent(now)
			return now
		}
		require.Equal(t, gcPercent, percent(busyRequests-1))
		require.Equal(t, busyPercent, percent(busyRequests))
		for range busyTicks - 1 {
			require.Equal(t, busyPercent, percent(1))
		}
		require.Equal(t, gcPercent, percent(1))
		require.Equal(t, gcPercent, percent(1))
	})
}

func TestThriftEndsWithTheProcess(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	stop := beThrifty()
	require.Equal(t, int64(smallMemory), debug.SetMemoryLimit(-1))
	stop()
	require.Equal(t, before, debug.SetMemoryLimit(-1))

	t.Setenv("GOMEMLIMIT", "1GiB")
	beThrifty()()
	require.Equal(t, before, debug.SetMemoryLimit(-1), "an operator who sets it is obeyed")
}

func TestRestBeginsOnceAfterABurst(t *testing.T) {
	var r rest
	allocated := uint64(0)
	after := func(bytes uint64) bool {
		allocated += bytes
		return r.begins(allocated)
	}
	for range 100 {
		require.False(t, after(10<<20), "at work")
	}
	for range idleTicks - 1 {
		require.False(t, after(100))
	}
	require.True(t, after(100))
	for range 100 {
		require.False(t, after(100), "once is enough")
	}
	require.False(t, after(burstBytes/2))
	for range 100 {
		require.False(t, after(0), "too little to care about")
	}
	require.False(t, after(burstBytes))
	for range idleTicks - 1 {
		require.False(t, after(0))
	}
	require.True(t, after(0))
}
