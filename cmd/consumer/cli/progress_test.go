package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressBar(t *testing.T) {
	t.Parallel()
	require.Equal(t, "["+strings.Repeat(" ", 30)+"] 0/2", progressBar(0, 2))
	require.Equal(t, "["+strings.Repeat("=", 15)+strings.Repeat(" ", 15)+"] 1/2", progressBar(1, 2))
	require.Equal(t, "["+strings.Repeat("=", 30)+"] 2/2", progressBar(2, 2))
}

func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var silent, lines bytes.Buffer
		for out, p := range map[*bytes.Buffer]*Progress{&silent: NewProgress(&silent), &lines: NewProgressLines(&lines)} {
			p.Label = "examples"
			for done := range 12 {
				p.Show(done, 12)
				time.Sleep(time.Second)
			}
			p.Clear()
			if out == &silent {
				require.Empty(t, out.String())
			}
		}
		require.Equal(t, "examples: 0 of 12\nexamples: 5 of 12\nexamples: 10 of 12\n", lines.String())
	})
}
