package events

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGathererCollectsSessionAndLetsItRest(t *testing.T) {
	t.Parallel()
	start := time.Unix(1763680000, 0)
	g := newGatherer[int](start, rest)
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }

	_, some := g.wait(start)
	require.False(t, some)
	g.add("a", 1, at(3))
	g.add("b", 10, at(9))
	g.add("late", 20, at(11)) // less than gatherTime before the beat
	g.add("a", 2, at(15))
	require.Nil(t, g.next(at(19.9), false))
	wait, some := g.wait(at(15))
	require.True(t, some)
	require.Equal(t, 5*time.Millisecond, wait)

	a, b := g.next(at(20), false), g.next(at(20), false) // on the same beat
	if a.session == "b" {
		a, b = b, a
	}
	require.Equal(t, "a", a.session)
	require.Equal(t, []int{1, 2}, a.working)
	require.Equal(t, "b", b.session)
	require.Nil(t, g.next(at(39.9), false))
	late := g.next(at(40), false)
	require.Equal(t, []int{20}, late.working)
	g.add("a", 3, at(50)) // while a is being applied
	require.Nil(t, g.next(at(100000), false), "a session is applied once at a time")

	g.finished(a, 2*time.Millisecond, at(70)) // rests for 200 ms and until the next beat
	require.Nil(t, g.next(at(279.9), false))
	again := g.next(at(280), false)
	require.Equal(t, []int{3}, again.working)
	for _, s := range []*gathered[int]{again, b, late} {
		g.finished(s, 0, at(1000))
	}
	require.Len(t, g.sessions, 3)
	require.Nil(t, g.next(at(1000).Add(minRest), false))
	require.Empty(t, g.sessions, "quiet sessions are removed")
}

func TestGathererInAHurry(t *testing.T) {
	t.Parallel()
	start := time.Unix(1763680000, 0)
	g := newGatherer[int](start, rest)
	g.add("a", 1, start)
	a := g.next(start.Add(beat), false)
	g.add("a", 2, start)
	g.add("b", 3, start)
	var held []int
	g.each(func(i int) { held = append(held, i) })
	slices.Sort(held)
	require.Equal(t, []int{1, 2, 3}, held)

	g.finished(a, 0, start)
	var got []int
	for s := g.next(start, true); s != nil; s = g.next(start, true) {
		got = append(got, s.working...)
	}
	require.Equal(t, []int{3, 2}, got, "the session that was written last is the last")
}

func TestRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, minRest, rest(0))
	require.Equal(t, 300*time.Millisecond, rest(3*time.Millisecond))
	require.Equal(t, maxRest, rest(time.Minute))
}
