package events

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGathererCollectsASessionAndLetsItRest(t *testing.T) {
	start := time.Unix(1763680000, 0)
	g := newGatherer[int](start, rest)
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }

	_, some := g.wait(start)
	require.False(t, some)
	g.add("a", 1, at(3))
	g.add("b", 10, at(9))
	g.add("late", 20, at(11)) // less than gatherTime before the beat
	g.add("a", 2, at(15))
	require.Nil(t, g.next(at(19.9)))
	wait, some := g.wait(at(15))
	require.True(t, some)
	require.Equal(t, 5*time.Millisecond, wait)

	a, b := g.next(at(20)), g.next(at(20)) // on one beat
	if a.session == "b" {
		a, b = b, a
	}
	require.Equal(t, "a", a.session)
	require.Equal(t, []int{1, 2}, a.working)
	require.Equal(t, "b", b.session)
	require.Nil(t, g.next(at(39.9)))
	late := g.next(at(40))
	require.Equal(t, []int{20}, late.working)
	g.add("a", 3, at(50)) // while a is in work
	require.Nil(t, g.next(at(100000)), "a session is in work once")

	g.finished(a, 2*time.Millisecond, at(70)) // it rests for 200 ms, and to the next beat
	require.Nil(t, g.next(at(279.9)))
	again := g.next(at(280))
	require.Equal(t, []int{3}, again.working)
	for _, s := range []*gathered[int]{again, b, late} {
		g.finished(s, 0, at(1000))
	}
	require.Len(t, g.sessions, 3)
	require.Nil(t, g.next(at(1000).Add(minRest)))
	require.Empty(t, g.sessions, "a quiet session is forgotten")
}

func TestGathererKnowsWhatIsHeldAndHurries(t *testing.T) {
	start := time.Unix(1763680000, 0)
	g := newGatherer[int](start, rest)
	g.add("a", 1, start)
	a := g.next(start.Add(beat))
	g.add("a", 2, start)
	g.add("b", 3, start)
	var held []int
	g.each(func(i int) { held = append(held, i) })
	slices.Sort(held)
	require.Equal(t, []int{1, 2, 3}, held)

	g.finished(a, 0, start)
	g.hurry(start)
	var got []int
	for s := g.next(start); s != nil; s = g.next(start) {
		got = append(got, s.working...)
	}
	slices.Sort(got)
	require.Equal(t, []int{2, 3}, got)
}

func TestRestGrowsWithTheCostOfAWrite(t *testing.T) {
	require.Equal(t, minRest, rest(0))
	require.Equal(t, 300*time.Millisecond, rest(3*time.Millisecond))
	require.Equal(t, maxRest, rest(time.Minute))
}
