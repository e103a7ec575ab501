package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
)

func TestFleet(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	process := func(id, fold string, started time.Duration) bus.Instance {
		i := bus.Instance{ID: id, Metadata: map[string]string{"stream": "S"}, Started: began.Add(started)}
		if fold != "" {
			i.Metadata[foldKey] = fold
		}
		return i
	}
	self := process("self", "2", 0)
	unguarded, odd, newer := process("o", "", -time.Hour), process("d", "1.5", 0), process("n", "3", time.Second)
	type look struct {
		at  time.Duration // after the first
		all []bus.Instance
	}
	for _, row := range []struct {
		name  string
		looks []look
		want  view
	}{
		{"alone", []look{{0, []bus.Instance{self}}}, view{known: true, first: true}},
		{"not seen", []look{{0, []bus.Instance{unguarded}}}, view{}},
		{"NATS is away", []look{{0, []bus.Instance{self}}, {5, nil}}, view{}},
		{"with one that began before", []look{{0, []bus.Instance{process("x", "2", -time.Second), self}}}, view{known: true}},
		{"with one that began later", []look{{0, []bus.Instance{process("x", "2", time.Second), self}}}, view{known: true, first: true}},
		{"with one that began at the same time, by its id", []look{{0, []bus.Instance{process("a", "2", 0), self}}}, view{known: true}},
		{"with one of the previous release", []look{{0, []bus.Instance{self, unguarded}}}, view{known: true, older: true, first: true}},
		{"with one of the previous release for long", []look{{0, []bus.Instance{self, unguarded}}, {5, []bus.Instance{self, unguarded}}, {3600, []bus.Instance{self, unguarded}}}, view{known: true, older: true, first: true}},
		{"with one of a version that is no number", []look{{0, []bus.Instance{self, odd}}}, view{known: true, older: true, first: true}},
		{"without one of the previous release any more", []look{{0, []bus.Instance{self, unguarded}}, {5, []bus.Instance{self}}}, view{known: true, first: true}},
		{"with a newer one", []look{{0, []bus.Instance{self, newer}}}, view{known: true, newer: true, first: true}},
		{"with a newer one that is missing for a moment", []look{{0, []bus.Instance{self, newer}}, {7, []bus.Instance{self}}, {14, []bus.Instance{self}}}, view{known: true, newer: true, first: true}},
		{"with a newer one, and NATS is away", []look{{0, []bus.Instance{self, newer}}, {7, nil}}, view{newer: true}},
		{"without a newer one any more", []look{{0, []bus.Instance{self, newer}}, {7, []bus.Instance{self}}, {14, []bus.Instance{self}}, {21, []bus.Instance{self}}}, view{known: true, first: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			left := false
			f := newFleet(5*time.Second, slog.New(slog.DiscardHandler))
			f.self, f.leave = "self", func(leave bool) { left = leave }
			for _, l := range row.looks {
				f.see(l.all, began.Add(l.at*time.Second))
			}
			require.Equal(t, row.want, f.view())
			require.Equal(t, row.want.newer, left)
		})
	}
}

// A process that leaves events to newer ones needs some looks until it does, and again
// after each time that the newer one may have been missing.
func TestFleetWithAnOlderGuardedProcess(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	f := newFleet(5*time.Second, slog.New(slog.DiscardHandler))
	f.self, f.fold = "self", 3
	all := []bus.Instance{{ID: "self", Metadata: map[string]string{foldKey: "3"}}, {ID: "g", Metadata: map[string]string{foldKey: "2"}}}
	looks := func() (n int) {
		for f.see(all, now); f.view().older; f.see(all, now) {
			now = now.Add(5 * time.Second)
			n++
			require.Less(t, n, 100)
		}
		return n
	}
	require.Equal(t, 7, looks(), "35 s")
	require.Zero(t, looks())
	now = now.Add(9 * time.Second) // paused
	require.Equal(t, 7, looks())
	f.see(nil, now) // NATS was away
	require.Equal(t, 7, looks())
}
