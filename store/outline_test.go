package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

// A document restored from its outline and encoding behaves like the original.
func TestOutlineRestoresTheDocument(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		facts := storetest.Facts(r, "s", 60, 8, 20_000)
		stays, comes := &store.Document{}, &store.Document{}
		var outline store.Outline
		for len(facts) > 0 {
			n := 1 + r.IntN(len(facts))
			_, err := stays.Fold(facts[:n], -1, nil)
			require.NoError(t, err)
			_, err = comes.Fold(facts[:n], -1, nil)
			require.NoError(t, err)
			facts = facts[n:]

			want, err := stays.Session()
			require.NoError(t, err)
			got, err := comes.AppendSession([]byte("before"))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got[len("before"):]))
			waiting := comes.Waiting()
			comes.Outline(&outline)
			comes = outline.Document(want)
			for _, f := range waiting {
				comes.Apply(f)
			}
		}
	}
}
