package bus

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGathererCollectsASessionAndLetsItRest(t *testing.T) {
	g := newGatherer[int]()
	start := time.Unix(1763680000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }

	_, some := g.wait(start)
	require.False(t, some)
	g.add("a", 1, start)
	g.add("b", 10, at(5*time.Millisecond))
	g.add("a", 2, at(15*time.Millisecond))
	require.Nil(t, g.next(at(gatherTime-1)))
	wait, some := g.wait(at(15 * time.Millisecond))
	require.True(t, some)
	require.Equal(t, 5*time.Millisecond, wait)

	a := g.next(at(gatherTime))
	require.Equal(t, "a", a.session)
	require.Equal(t, []int{1, 2}, a.working)
	g.add("a", 3, at(gatherTime)) // while a is in work
	b := g.next(at(time.Hour))
	require.Equal(t, "b", b.session)
	require.Nil(t, g.next(at(time.Hour)), "a session is in work once")

	g.finished(a, 2*time.Millisecond, at(30*time.Millisecond))
	require.Nil(t, g.next(at(230*time.Millisecond-1)), "it rests")
	again := g.next(at(230 * time.Millisecond))
	require.Equal(t, []int{3}, again.working)
	g.finished(again, 0, at(time.Second))
	g.finished(b, 0, at(time.Second))
	require.Len(t, g.sessions, 2)
	require.Nil(t, g.next(at(time.Second+minRest)))
	require.Empty(t, g.sessions, "a quiet session is forgotten")
}

func TestGathererKnowsWhatIsHeldAndHurries(t *testing.T) {
	g := newGatherer[int]()
	start := time.Unix(1763680000, 0)
	g.add("a", 1, start)
	a := g.next(start.Add(gatherTime))
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
