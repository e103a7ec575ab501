package index_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// made returns the path of a closed index of n experiences.
func made(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "knowhub.db")
	x := open(t, path)
	require.NoError(t, x.Reset(t.Context(), "bucket"))
	require.NoError(t, x.Apply(t.Context(), some(n)))
	require.NoError(t, x.Close())
	return path
}

func TestReopen(t *testing.T) {
	path := made(t, 30)
	for _, suffix := range []string{"-wal", "-shm"} {
		require.NoFileExists(t, path+suffix, "what is closed is one file")
	}
	x := open(t, path)
	_, revision, err := x.Place(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 30, revision)
	require.Equal(t, []string{"id0012"}, search(t, x, "number12"))
	require.NoError(t, x.Close())
}

func TestMadeAgain(t *testing.T) {
	overwrite := func(from, to float64, with byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			for i := int(from * float64(len(b))); i < int(to*float64(len(b))); i++ {
				b[i] = with
			}
			require.NoError(t, os.WriteFile(path, b, 0o600))
		}
	}
	truncate := func(share float64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, int64(share*float64(info.Size()))))
		}
	}
	statement := func(query string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			_, err := plain(t, path).Exec(query)
			require.NoError(t, err)
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, path string)
		logged bool
	}{
		{"missing", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, false},
		{"empty", truncate(0), false},
		{"cut in the header", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 50)) }, true},
		{"cut in the middle", truncate(0.5), true},
		{"cut by a byte", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, info.Size()-1))
		}, true},
		{"garbage", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("garbage ", 10_000)), 0o600))
		}, true},
		{"zeros in the middle", overwrite(0.3, 0.7, 0), true},
		{"ones in the middle", overwrite(0.4, 0.6, 0xff), true},
		{"garbage header", overwrite(0, 0.01, 'x'), true},
		{"older", statement("PRAGMA user_version = 2; ALTER TABLE place DROP COLUMN held; ALTER TABLE place DROP COLUMN checksum; DROP TABLE removed; DROP INDEX terms_words"), false},
		{"newer", statement("PRAGMA user_version = 99"), true},
		{"no version", statement("PRAGMA user_version = 0"), true},
		{"a page too few", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, info.Size()-4096))
		}, true},
		{"no place", statement("DELETE FROM place"), true},
		{"some rows are gone", statement("DELETE FROM experiences WHERE n % 2 = 0"), true},
		{"a row is another's", statement("UPDATE experiences SET id = 'other' WHERE n = 7"), true},
		{"a row is older", statement("UPDATE experiences SET revision = revision - 1 WHERE n = 7"), true},
		{"a row without a revision", statement("UPDATE experiences SET revision = 'x' WHERE n = 7"), true},
		{"a row too many", statement("INSERT INTO experiences SELECT n + 1000, 'copy', task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, created_ms, seen, flags, decided_at, decided_by, revision FROM experiences WHERE n = 7"), true},
		{"a table is gone", statement("DROP TABLE postings"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := made(t, 200)
			tt.damage(t, path)
			var log bytes.Buffer
			x, err := index.Open(t.Context(), path, slog.New(slog.NewJSONHandler(&log, nil)))
			require.NoError(t, err)
			defer func() { require.NoError(t, x.Close()) }()
			require.Equal(t, tt.logged, strings.Contains(log.String(), "rebuilding index"), log.String())
			bucket, revision, err := x.Place(t.Context())
			require.NoError(t, err)
			require.Empty(t, bucket)
			require.Zero(t, revision)
			require.NoError(t, x.Reset(t.Context(), "bucket"))
			require.NoError(t, x.Apply(t.Context(), some(20)))
			require.Equal(t, []string{"id0012"}, search(t, x, "number12"))
		})
	}
}

// A log that was left behind by an index that somebody removed does not come back.
func TestLogOfARemovedIndex(t *testing.T) {
	path := made(t, 5)
	x := open(t, path)
	require.NoError(t, x.Apply(t.Context(), []index.Change{change(6, approved("late", "late", "late", "late"))}))
	wal, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.NotEmpty(t, wal)
	require.NoError(t, x.Close())
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600))
	x = open(t, path)
	require.Empty(t, search(t, x, "late"))
	require.NoError(t, x.Apply(t.Context(), some(5)))
}

func TestDamageMetWhileOpen(t *testing.T) {
	path := made(t, 300)
	x := open(t, path)
	_, err := plain(t, path).Exec(`UPDATE postings SET rows = x'ff'`)
	require.NoError(t, err)
	_, err = x.Search(t.Context(), index.Query{Text: "task"})
	require.ErrorIs(t, err, index.ErrDamaged)
	require.NoError(t, x.Close())
	require.NoFileExists(t, path, "the next one is new")
}

func TestSetAside(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		kept    func(t *testing.T, aside string)
	}{
		{"a directory", func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o750))
			require.NoError(t, os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
		}, func(t *testing.T, aside string) { require.FileExists(t, filepath.Join(aside, "file")) }},
		{"a database of another program", func(t *testing.T, path string) {
			_, err := plain(t, path).Exec("CREATE TABLE other (a); INSERT INTO other VALUES (7)")
			require.NoError(t, err)
		}, func(t *testing.T, aside string) {
			var n int
			require.NoError(t, plain(t, aside).QueryRow("SELECT a FROM other").Scan(&n))
			require.Equal(t, 7, n)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "knowhub.db")
			tt.prepare(t, path)
			var log bytes.Buffer
			x, err := index.Open(t.Context(), path, slog.New(slog.NewJSONHandler(&log, nil)))
			require.NoError(t, err)
			require.NoError(t, x.Apply(t.Context(), some(20)))
			require.Equal(t, []string{"id0012"}, search(t, x, "number12"))
			require.NoError(t, x.Close())
			aside, err := filepath.Glob(path + ".aside-*")
			require.NoError(t, err)
			require.Len(t, aside, 1)
			tt.kept(t, aside[0])
			require.Contains(t, log.String(), aside[0])
		})
	}
}

func TestCannotOpen(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		want    string
	}{
		{"a file in the place of its directory", func(t *testing.T, path string) {
			require.NoError(t, os.RemoveAll(filepath.Dir(path)))
			require.NoError(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		}, "not a directory"},
		{"a directory in its place that cannot be moved", func(t *testing.T, path string) {
			if os.Getuid() == 0 {
				t.Skip("root may write everywhere")
			}
			require.NoError(t, os.Mkdir(path, 0o750))
			require.NoError(t, os.WriteFile(path+".lock", nil, 0o600))
			require.NoError(t, os.Chmod(filepath.Dir(path), 0o500)) //nolint:gosec // a directory
			t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
		}, "not a regular file, and it cannot be renamed"},
		{"a directory that cannot be written", func(t *testing.T, path string) {
			if os.Getuid() == 0 {
				t.Skip("root may write everywhere")
			}
			require.NoError(t, os.Chmod(filepath.Dir(path), 0o500)) //nolint:gosec // a directory
			t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
		}, "permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(dir, 0o750))
			path := filepath.Join(dir, "knowhub.db")
			tt.prepare(t, path)
			_, err := index.Open(t.Context(), path, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// A disk without room fails what is written, and nothing of it is left.
func TestFull(t *testing.T) {
	path := made(t, 20)
	x := open(t, path)
	require.NoError(t, x.Exec(t.Context(), "PRAGMA max_page_count = 1"))
	more := some(400)
	err := x.Apply(t.Context(), more)
	require.ErrorContains(t, err, "full")
	require.NotErrorIs(t, err, index.ErrDamaged)
	_, revision, err := x.Place(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 20, revision)
	require.NotContains(t, search(t, x, "number300"), "id0300")
	require.Equal(t, []string{"id0012"}, search(t, x, "number12"))
	require.NoError(t, x.Exec(t.Context(), "PRAGMA max_page_count = 1000000"))
	require.NoError(t, x.Apply(t.Context(), more))
	require.Equal(t, []string{"id0300"}, search(t, x, "number300"))
}

func TestTwoHandles(t *testing.T) {
	path := made(t, 10)
	a, b := open(t, path), open(t, path)
	var both sync.WaitGroup
	for _, x := range []*index.Index{a, b} {
		both.Go(func() {
			for batch := range 20 {
				if err := x.Apply(t.Context(), some(10*(batch+1))); err != nil {
					t.Error(err)
				}
				if _, err := x.Search(t.Context(), index.Query{Text: "topic3"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	require.Equal(t, []string{"id0180"}, search(t, a, "number180"))
	require.Equal(t, []string{"id0180"}, search(t, b, "number180"))
	counts, err := b.Counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, 200, counts[experience.Approved])
}

func TestBegunAgain(t *testing.T) {
	path := made(t, 10)
	a, b := open(t, path), open(t, path)
	require.NoError(t, b.Reset(t.Context(), "bucket"))
	require.ErrorIs(t, a.Apply(t.Context(), some(12)[11:]), index.ErrBegunAgain, "1 to 11 would never come")
	_, revision, err := a.Place(t.Context())
	require.NoError(t, err)
	require.Zero(t, revision)
	require.NoError(t, a.Apply(t.Context(), some(12)))
	require.NoError(t, b.Apply(t.Context(), some(12)))
	require.Equal(t, []string{"id0011"}, search(t, b, "number11"))
}

// otherProcess is the environment variable that makes the test binary a second
// process, with the path of an index.
const otherProcess = "TEST_INDEX_OF_ANOTHER_PROCESS"

func TestMain(m *testing.M) {
	path := os.Getenv(otherProcess)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := other(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func other(path string) error {
	ctx := context.Background()
	x, err := index.Open(ctx, path, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	for i := range 30 {
		if err := x.Apply(ctx, some(10*(i+1))); err != nil {
			return err
		}
	}
	return x.Close()
}

func TestSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "knowhub.db")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
			c.Env = append(os.Environ(), otherProcess+"="+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	x := open(t, path)
	counts, err := x.Counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, 300, counts[experience.Approved])
	require.Equal(t, []string{"id0299"}, search(t, x, "number299"))
}

func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "knowhub.db")
	x := open(t, path)
	all := some(6000)
	for i := 0; i < len(all); i += 200 {
		require.NoError(t, x.Apply(t.Context(), all[i:i+200]))
	}
	require.NoError(t, x.Apply(t.Context(), []index.Change{change(7000, approved("z", "z", "z", "z"))}))
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(4*index.WALBytes))
}
