package workbench

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestAFileIsCreatedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	full := io.MultiReader(strings.NewReader("half of "), iotest.ErrReader(syscall.ENOSPC))
	for _, row := range []struct {
		name    string
		there   string // "" for no file
		content io.Reader
		fault   error // nil for none
		want    string
	}{
		{"a new file", "", strings.NewReader("all of it"), nil, "all of it"},
		{"a full disk", "", full, syscall.ENOSPC, ""},
		{"a file that is there", "mine", strings.NewReader("all of it"), fs.ErrExist, "mine"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			path, want := filepath.Join(dir, "a.md"), map[string]string{}
			if row.there != "" {
				require.NoError(t, os.WriteFile(path, []byte(row.there), 0o600))
			}
			if row.want != "" {
				want["a.md"] = row.want
			}
			require.ErrorIs(t, createFile(path, row.content), row.fault)
			got := map[string]string{}
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			for _, name := range names {
				data, err := os.ReadFile(name)
				require.NoError(t, err)
				got[filepath.Base(name)] = string(data)
			}
			require.Equal(t, want, got)
		})
	}
}
