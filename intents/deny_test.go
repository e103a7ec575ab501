package intents

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDenyFor(t *testing.T) {
	t.Parallel()
	deny := NewDeny(map[string][]string{
		"*":     {"MEMORY_*"},
		"ops":   {"CODE", "MEMORY_*"},
		"O?S":   {"FUN"},
		"other": {"NEWS"},
		"none":  nil,
	})
	cases := map[string]struct {
		agent string
		want  []string
	}{
		"everybody":           {"main", []string{"MEMORY_*"}},
		"entries add up":      {"ops", []string{"CODE", "FUN", "MEMORY_*"}},
		"in any case":         {"OPS", []string{"CODE", "FUN", "MEMORY_*"}},
		"an entry of its own": {"other", []string{"MEMORY_*", "NEWS"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, deny.For(c.agent))
		})
	}
	require.Empty(t, NewDeny(map[string][]string{"ops": {"X"}}).For("main"))
	require.Empty(t, NewDeny(nil).For("main"))
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	root := catalogOf("A_1", "A_2", "B_1")
	f := NewDeny(map[string][]string{"ops": {"a_*"}, "*": {"OTHER"}})
	narrowed := f.Narrow(root, "ops")
	require.Equal(t, []string{"B_1"}, ids(narrowed))
	require.Same(t, narrowed, f.Narrow(root, "ops"))
	require.Same(t, root, f.Narrow(root, "main"))

	reloaded := catalogOf("A_1", "C_1")
	require.Equal(t, []string{"C_1"}, ids(f.Narrow(reloaded, "ops")))
	require.Equal(t, []string{"B_1"}, ids(f.Narrow(root, "ops")), "a request keeps the catalogue that it began with")

	require.Same(t, root, NewDeny(nil).Narrow(root, "ops"))
}

func TestNarrowIsBounded(t *testing.T) {
	t.Parallel()
	root := catalogOf("A", "B")
	f := NewDeny(map[string][]string{"*": {"A"}})
	for i := range 3 * maxNarrowed {
		require.Equal(t, []string{"B"}, ids(f.Narrow(root, fmt.Sprint("agent", i))))
	}
	require.LessOrEqual(t, f.seen.Len(), maxNarrowed)
}

func TestNarrowUnderConcurrency(t *testing.T) {
	t.Parallel()
	roots := []*Catalog{catalogOf("A", "B"), catalogOf("A", "B", "C")}
	f := NewDeny(map[string][]string{"x*": {"A"}})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				root := roots[(g+i)%2]
				if got := f.Narrow(root, fmt.Sprint("x", i%5)); got.Root() != root || len(got.Enabled()) != len(root.Enabled())-1 {
					t.Errorf("narrowed to %v", ids(got))
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkNarrow(b *testing.B) {
	f := NewDeny(map[string][]string{"*": {"MEMORY_*"}, "ops": {"CODE*"}})
	c := Bundled()
	b.ReportAllocs()
	for b.Loop() {
		f.Narrow(c, "ops")
	}
}
