package local_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

func TestShippedIsForTheBuiltInIntentsAlone(t *testing.T) {
	require.False(t, local.HasShipped(intents.NewCatalog(intents.Bundled().Enabled()[1:])))
}

// What is shipped may be older than the training: it is made once a release.
func TestShippedAnswersAsTrainingDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on the built-in intents")
	}
	t.Parallel()
	catalog := intents.Bundled()
	shipped, trained := local.Trained(catalog), local.TrainAnew(catalog)
	asked, same := 0, 0
	for _, in := range catalog.Enabled() {
		for i := 0; i < len(in.Examples); i += 20 {
			words := strings.Fields(in.Examples[i])
			if len(words) < 4 {
				continue
			}
			message := strings.Join(words[:len(words)-1], " ") // which is no example
			asked++
			if shipped.Predict(message, nil, nil).Intent == trained.Predict(message, nil, nil).Intent {
				same++
			}
		}
	}
	require.Greater(t, asked, 200)
	require.Greater(t, float64(same), 0.98*float64(asked), "%d of %d", same, asked)
}

// What is shipped is used where it lies: beside it there are the catalogue's texts by row
// and little else.
func TestShippedTakesLittleMemory(t *testing.T) {
	catalog := intents.Bundled()
	if !local.HasShipped(catalog) {
		t.Skip("the weights in the binary are older than the built-in intents")
	}
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	m := local.Train(catalog)
	e := local.ShippedEmbedded(m, vectors.OpenBundled())
	after := live()
	require.NotNil(t, e)
	require.Less(t, int64(after)-int64(before), int64(4<<20), "bytes on the heap")
	runtime.KeepAlive(m)
}
