package local_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
	"intenthint/intents"
)

// cached trains through a cache, and returns what was logged and the files
// there are.
func cached(t *testing.T, dir string, cat *intents.Catalog) (log string, files []string) {
	t.Helper()
	var b bytes.Buffer
	m := local.TrainCached(dir, cat, slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.Equal(t, "WEATHER", ask(m, cat, "will it rain tomorrow").Intent)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return b.String(), files
}

func TestTrainCached(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "cache")
	log, files := cached(t, dir, assistant())
	require.Contains(t, log, "no cached classifier")
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}

	log, again := cached(t, dir, assistant())
	require.Contains(t, log, "classifier read")
	require.Equal(t, files, again)

	_, err = local.ReadCached(dir, assistant())
	require.NoError(t, err)
	_, err = local.ReadCached(dir, intents.Bundled())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestTrainCachedRepairs(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"cut short", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 1000)) }},
		{"empty", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) }},
		{"text", func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("hello"), 0o600)) }},
		{"far too long", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 1<<31)) }},
		{"a link to nowhere", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink("nowhere", path))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			_, files := cached(t, dir, assistant())
			row.damage(t, files[0])
			log, after := cached(t, dir, assistant())
			require.Contains(t, log, "level=WARN")
			require.Equal(t, files, after)
			log, _ = cached(t, dir, assistant())
			require.Contains(t, log, "classifier read")
		})
	}
}

func TestTrainCachedWithoutADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	log, _ := cached(t, filepath.Join(file, "cache"), assistant())
	require.Contains(t, log, "level=WARN")

	dir := t.TempDir()
	_, files := cached(t, dir, assistant())
	require.NoError(t, os.Remove(files[0]))
	require.NoError(t, os.MkdirAll(filepath.Join(files[0], "inside"), 0o700))
	log, after := cached(t, dir, assistant())
	require.Contains(t, log, "level=WARN")
	require.Equal(t, files, after, "no temporary file stays")
}

func TestTrainCachedKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	catalog := func(i int) *intents.Catalog {
		cat := assistant()
		list := append([]intents.Intent(nil), cat.Enabled()...)
		return intents.NewCatalog(append(list, intent("EXTRA", "extra", "this is number "+string(rune('a'+i)))))
	}
	for _, name := range []string{"classifier-1.tmp", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-24*time.Hour)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "classifier-2.tmp"), nil, 0o600))
	const kept = 4
	seen := map[string]bool{}
	for i := range kept + 2 {
		_, files := cached(t, dir, catalog(i))
		for _, f := range files {
			if filepath.Ext(f) == ".bin" && !seen[f] {
				seen[f] = true
				// As if it had been written some time ago.
				at := time.Now().Add(time.Duration(i-100) * time.Hour)
				require.NoError(t, os.Chtimes(f, at, at))
			}
		}
		if i > 0 {
			log, _ := cached(t, dir, catalog(0))
			require.Contains(t, log, "classifier read", "a model in use is not among the oldest")
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, kept+2, "and a temporary file that is being written, and what is no model: %v", files)
	require.NoFileExists(t, filepath.Join(dir, "classifier-1.tmp"))
	for i, want := range []bool{true, false, false, true, true, true} {
		_, err := local.ReadCached(dir, catalog(i))
		require.Equal(t, want, err == nil, "catalogue %d: %v", i, err)
	}
}
