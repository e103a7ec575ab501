//go:build release

package licenses

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTextsAreThoseOfTheModules(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out))
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", "intenthint/cmd/consumer").Output()
	require.NoError(t, err)
	for module := range strings.FieldsFuncSeq(string(list), func(r rune) bool { return r == '\n' }) {
		require.Contains(t, out.String(), module+"\n", "go generate ./cmd/consumer/licenses")
	}
}
