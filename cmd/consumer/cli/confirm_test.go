package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, typed string
		yes         bool
	}{
		{"y", "y\n", true},
		{"YES with spaces", " YES \n", true},
		{"nothing", "\n", false},
		{"no", "no\n", false},
		{"end of input", "", false},
		{"y without a new line", "y", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			err := ask(strings.NewReader(row.typed), &out, "Really?")
			require.Equal(t, "Really? [y/N] ", out.String())
			if row.yes {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "nothing was changed")
		})
	}
	inv := &Invocation{Ctx: context.Background(), Stdin: strings.NewReader("y\n")}
	require.ErrorContains(t, inv.Confirm("Really?", false), "--yes", "a pipe is not a terminal")
	require.NoError(t, inv.Confirm("Really?", true))
}
