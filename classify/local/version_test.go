//go:build amd64 && !amd64.v3

package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

// crowded is a catalogue of more than manyRows short texts.
func crowded() *intents.Catalog {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]intents.Intent, 3)
	for i := range list {
		list[i] = intents.Intent{ID: string(rune('A' + i)), Triggers: []string{"the user says it"}}
		for range manyRows/len(list) + 1 {
			list[i].Examples = append(list[i].Examples, fmt.Sprintf("say %d of %d", random.IntN(900), i*10+random.IntN(20)))
		}
	}
	return intents.NewCatalog(list)
}

// learnt is, by format version, what training makes of a small catalogue and of
// one with many texts. Other processors round the last digit in another way.
var learnt = map[uint32][2]string{
	1: {
		"8a5f6728b04b31d3117b44681b422f885620bda72bd2418274305076e1f52334",
		"c5f80dbb0558b9891dbc65df1495d262ff39e13218aa3278750c24224533a929",
	},
	2: {
		"fb53e5418cefb450e4814df105cc0d053d3f5750afc3f645f021f2a39ce6b2aa",
		"b86391b40734faf7d121aa51cd0de56d13b0411af51d703f467389a1e9f74bdf",
	},
	3: {
		"03e1b0a69bef85f241773fdfac7122b47ed6d8b0880eeb1a709ed0903e2c2d23",
		"876c29462a569b04f97c64d3ac5d254fc7c7c7d41e1765425de28ad428b81ed0",
	},
}

// A model in a cache outlives the binary that trained it.
func TestANewOutcomeOfTrainingHasANewVersion(t *testing.T) {
	var got [2]string
	for i, cat := range []*intents.Catalog{tiny(), crowded()} {
		sum := sha256.Sum256(binaryForm(t, Train(cat))[headerSize:])
		got[i] = hex.EncodeToString(sum[:])
	}
	require.Equal(t, learnt[formatVersion], got,
		"training, or the binary form, has changed: raise formatVersion and add the outcome for it; never change that of a version")
}
