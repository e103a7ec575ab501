package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressBar(t *testing.T) {
	t.Parallel()
	require.Equal(t, "["+strings.Repeat(" ", 30)+"] 0/2", progressBar(0, 2))
	require.Equal(t, "["+strings.Repeat("=", 15)+strings.Repeat(" ", 15)+"] 1/2", progressBar(1, 2))
	require.Equal(t, "["+strings.Repeat("=", 30)+"] 2/2", progressBar(2, 2))
}
