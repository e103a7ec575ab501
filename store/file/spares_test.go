package file

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

func write1(t *testing.T, s *Store, run int) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r"+strconv.Itoa(run), int64(run))}))
}

func temps(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, tempDir, "*"))
	require.NoError(t, err)
	return paths
}

func TestReplacedFileIsReused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux exchanges names")
	}
	dir := t.TempDir()
	s, err := Open(dir, store.Options{HistoryLimit: 200})
	require.NoError(t, err)
	write1(t, s, 0)
	require.Empty(t, temps(t, dir))
	for run := range 20 {
		write1(t, s, run+1)
		require.Len(t, temps(t, dir), 1, "one file is written, one is read")
	}
	require.Len(t, storetest.Show(t, s, "s").History, 20)

	// A shorter document leaves no rest of a longer one.
	require.NoError(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("short", "r", 0)}))
	require.NoError(t, s.Apply(t.Context(), []store.Fact{storetest.End("short", "r", 5)}))
	require.Equal(t, "result of r", storetest.Show(t, s, "short").Current.Result)
}

// A version of a session file that another process has open or has linked, as
// backups with hard links do, is not overwritten.
func TestVersionInUseIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, path string) (read func() ([]byte, error)){
		"opened": func(t *testing.T, path string) func() ([]byte, error) {
			t.Helper()
			f, err := os.Open(path)
			require.NoError(t, err)
			t.Cleanup(func() { _ = f.Close() })
			return func() ([]byte, error) { return io.ReadAll(f) }
		},
		"linked": func(t *testing.T, path string) func() ([]byte, error) {
			t.Helper()
			link := filepath.Join(t.TempDir(), "s.json")
			require.NoError(t, os.Link(path, link))
			return func() ([]byte, error) { return os.ReadFile(link) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(dir, store.Options{HistoryLimit: 200})
			require.NoError(t, err)
			write1(t, s, 0)
			write1(t, s, 1)
			path := filepath.Join(dir, "s.json")
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			read := use(t, path)
			for run := range 10 {
				write1(t, s, run+2)
			}
			got, err := read()
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
			require.Len(t, storetest.Show(t, s, "s").History, 11)
		})
	}
}

func TestSparesOfDeadProcessesAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, store.Options{})
	require.NoError(t, err)
	old := filepath.Join(dir, tempDir, "old")
	require.NoError(t, os.WriteFile(old, []byte("x"), 0o600))
	require.NoError(t, os.Chtimes(old, time.Now(), time.Now().Add(-time.Hour)))
	fresh := filepath.Join(dir, tempDir, "fresh")
	require.NoError(t, os.WriteFile(fresh, []byte("x"), 0o600))
	_, err = s.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []string{fresh}, temps(t, dir))
}
