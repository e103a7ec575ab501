//go:build release

package safety

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTrainedWithWhatIsHere keeps trained.bin in step with the words, rules and
// texts.
func TestTrainedWithWhatIsHere(t *testing.T) {
	t.Parallel()
	require.Equal(t, checksum(t), binary.LittleEndian.Uint64(trained), "run: make weights")
}
