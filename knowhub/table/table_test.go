package table_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/table"
)

const (
	patience = time.Minute // for a busy machine
	tick     = 5 * time.Millisecond
)

// experiences are those of a process.
type experiences struct {
	mu      sync.Mutex
	byID    map[string]experience.Experience
	removed map[string]bool
}

func (x *experiences) Knows(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.byID[id]
	return ok || x.removed[id]
}

func (x *experiences) All() (all []*experience.Experience) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.byID {
		all = append(all, &e)
	}
	return all
}

func (x *experiences) Get(id string) (e experience.Experience, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok = x.byID[id]
	return e, ok
}

// running is a table that is written.
type running struct {
	*experiences
	*table.Table
	path  string
	log   *buffer
	ready atomic.Bool
	stop  func()
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// run writes a table of n experiences, with the ids of numbers, until the test ends.
// Those that are named were removed.
func run(t *testing.T, path string, n int, removed ...string) *running {
	t.Helper()
	r := &running{experiences: &experiences{byID: map[string]experience.Experience{}, removed: map[string]bool{}}, path: path, log: &buffer{}}
	for i := range n {
		e := of(strconv.Itoa(i))
		r.byID[e.ID] = e
	}
	for _, id := range removed {
		r.removed[id] = true
	}
	r.ready.Store(true)
	r.Table = table.New(table.Options{Path: path, Experiences: r.experiences, Ready: r.ready.Load, Log: slog.New(slog.NewJSONHandler(r.log, nil)), Pause: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	var writing sync.WaitGroup
	writing.Go(func() { r.Run(ctx) })
	r.stop = func() { cancel(); writing.Wait() }
	t.Cleanup(r.stop)
	return r
}

func of(id string) experience.Experience {
	return experience.Experience{
		ID: id, Task: "Deploy " + id, Resource: "wrangler", Result: "--env production", Confidence: 0.75, Status: experience.Approved, AgentID: "main", SubmittedBy: "jo",
		SessionKey: "agent:main:main", CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

// set changes an experience.
func (r *running) set(e experience.Experience) {
	r.mu.Lock()
	r.byID[e.ID] = e
	r.mu.Unlock()
	r.Changed(e.ID)
}

func (r *running) drop(id string) {
	r.mu.Lock()
	delete(r.byID, id)
	r.removed[id] = true
	r.mu.Unlock()
	r.Changed(id)
}

// source is the name of a file for SQLite.
func source(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String()
}

// plain opens a file as a stranger would.
func plain(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", source(path))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ids are the experiences in a file, nil if it cannot be read.
func ids(path string) (out []string) {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	db, err := sql.Open("sqlite", source(path)+"?mode=ro")
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query(`SELECT id FROM experiences ORDER BY id`)
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	out = []string{}
	for rows.Next() {
		var id string
		if rows.Scan(&id) != nil {
			return nil
		}
		out = append(out, id)
	}
	if rows.Err() != nil {
		return nil
	}
	return out
}

// holds waits until the file has exactly these experiences.
func holds(t *testing.T, path string, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return slices.Equal(ids(path), want) && ids(path) != nil }, patience, tick, "%v", want)
}

func TestColumns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "data #1?", "knowhub.db")
	r := run(t, path, 1)
	e := of("full")
	e.Seen, e.Flags, e.DecidedAt, e.DecidedBy = 3, []string{"injection"}, e.CreatedAt.Add(time.Hour+time.Millisecond), "ada"
	r.set(e)
	holds(t, path, "0", "full")
	r.stop()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{path, path + ".lock"}, files, "it is one file")

	db := plain(t, path)
	rows, err := db.Query(`SELECT id, task, resource, result, confidence, status, agent_id, submitted_by, session_key, created_at, seen, flags, decided_at, decided_by FROM experiences ORDER BY id`)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for _, want := range [][]any{
		{"0", "Deploy 0", "wrangler", "--env production", 0.75, "approved", "main", "jo", "agent:main:main", "2026-03-01T12:00:00Z", int64(0), "[]", "", ""},
		{"full", "Deploy full", "wrangler", "--env production", 0.75, "approved", "main", "jo", "agent:main:main", "2026-03-01T12:00:00Z", int64(3), `["injection"]`, "2026-03-01T13:00:00.001Z", "ada"},
	} {
		require.True(t, rows.Next())
		got, to := make([]any, len(want)), make([]any, len(want))
		for i := range got {
			to[i] = &got[i]
		}
		require.NoError(t, rows.Scan(to...))
		require.Equal(t, want, got)
	}
	require.False(t, rows.Next())
	var column string
	require.NoError(t, db.QueryRow(`SELECT i.name FROM pragma_index_list('experiences') l, pragma_index_info(l.name) i WHERE l.name = 'experiences_agent_id'`).Scan(&column))
	require.Equal(t, "agent_id", column)
}

func TestFollowsChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "knowhub.db")
		r := run(t, path, 2)
		holds(t, path, "0", "1")
		before, err := os.Stat(path)
		require.NoError(t, err)
		r.set(of("2"))
		r.drop("0")
		r.drop("never there")
		e := of("1")
		e.Status = experience.Rejected
		r.set(e)
		holds(t, path, "1", "2")
		require.Eventually(t, func() bool {
			var n int
			return plain(t, path).QueryRow(`SELECT count(*) FROM experiences WHERE status = 'rejected'`).Scan(&n) == nil && n == 1
		}, patience, tick)
		after, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after), "only what changed is written")

		r.mu.Lock()
		r.byID = map[string]experience.Experience{"9": of("9")}
		r.mu.Unlock()
		r.Renew()
		holds(t, path, "9")
		r.set(of("last"))
		r.stop()
		require.Equal(t, []string{"9", "last"}, ids(path), "a stop writes what is left")
	})
}

// What is not complete does not take the place of a file that may be.
func TestWaitsUntilTheExperiencesAreComplete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "knowhub.db")
	run(t, path, 3).stop()
	x := &experiences{byID: map[string]experience.Experience{"9": of("9")}}
	ready := false
	w := table.NewWriter(path, x, func() bool { return ready })
	require.NoError(t, w.Write(t.Context()))
	require.Equal(t, []string{"0", "1", "2"}, ids(path))
	ready = true
	require.NoError(t, w.Write(t.Context()))
	require.Equal(t, []string{"9"}, ids(path))
}

// earlier is the schema of the index of earlier versions.
const earlier = `PRAGMA journal_mode = wal; PRAGMA application_id = 0x4b487562; PRAGMA user_version = 10;
	CREATE TABLE experiences (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task TEXT NOT NULL);
	CREATE TABLE place (one INTEGER PRIMARY KEY, bucket TEXT NOT NULL, revision INTEGER NOT NULL); INSERT INTO place VALUES (1, 'b', 9);
	INSERT INTO experiences VALUES (1, 'old', 'old')`

func TestIsMadeAgain(t *testing.T) {
	t.Parallel()
	overwrite := func(from int64, with string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte(with), from)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	statement := func(query string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			db := plain(t, path)
			_, err := db.Exec(query)
			require.NoError(t, err)
			require.NoError(t, db.Close())
		}
	}
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, path string)
	}{
		{"missing", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }},
		{"empty", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) }},
		{"cut", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 5000)) }},
		{"garbage", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("garbage ", 10_000)), 0o600))
		}},
		{"garbage in the header", overwrite(0, strings.Repeat("x", 200))},
		{"garbage in a page", overwrite(4096, strings.Repeat("\xff", 4096))},
		{"rows are gone", statement(`DELETE FROM experiences`)},
		{"a row is another's", statement(`UPDATE experiences SET id = 'other' WHERE id = '1'`)},
		{"the table is gone", statement(`DROP TABLE experiences`)},
		{"of an earlier version", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			statement(earlier)(t, path)
		}},
		{"behind", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			run(t, path, 1).stop()
		}},
	} {
		for _, when := range []string{"while it is written", "between two starts"} {
			t.Run(tt.name+" "+when, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "knowhub.db")
				r := run(t, path, 3)
				holds(t, path, "0", "1", "2")
				if when == "between two starts" || tt.name == "behind" { // no two write
					r.stop()
				}
				tt.harm(t, path)
				if when == "between two starts" || tt.name == "behind" {
					r = run(t, path, 3)
				}
				holds(t, path, "0", "1", "2")
				r.set(of("3"))
				holds(t, path, "0", "1", "2", "3")
				require.NoError(t, r.Fault())
				var version int
				require.NoError(t, plain(t, path).QueryRow(`PRAGMA user_version`).Scan(&version))
				require.Equal(t, 11, version)
			})
		}
	}
}

// The log of an earlier file does not come back in the new one.
func TestLogOfAnEarlierFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "knowhub.db")
	old := plain(t, path)
	_, err := old.Exec(earlier)
	require.NoError(t, err)
	require.FileExists(t, path+"-wal", "an earlier program that still runs, or was killed")
	r := run(t, path, 2)
	// Who looks at the file while it is replaced may make the log anew.
	require.Eventually(t, func() bool {
		_, err := os.Stat(path + "-wal")
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond)
	holds(t, path, "0", "1")
	r.stop()
	require.NoFileExists(t, path+"-wal")
	require.NoError(t, old.Close())
	require.Equal(t, []string{"0", "1"}, ids(path))
}

func TestSetsAside(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
			path := filepath.Join(t.TempDir(), "knowhub.db")
			tt.prepare(t, path)
			r := run(t, path, 1)
			holds(t, path, "0")
			aside, err := filepath.Glob(path + ".aside-*")
			require.NoError(t, err)
			require.Len(t, aside, 1)
			tt.kept(t, aside[0])
			require.Contains(t, r.log.String(), aside[0])
		})
	}
}

// Of those with one directory one writes. When it ends, another writes all.
func TestOneWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "knowhub.db")
	ready := func() bool { return true }
	x, y := &experiences{byID: map[string]experience.Experience{"x": of("x")}}, &experiences{byID: map[string]experience.Experience{"y": of("y")}}
	first, second := table.NewWriter(path, x, ready), table.NewWriter(path, y, ready)
	require.NoError(t, first.Write(t.Context()))
	second.Changed("y")
	for range 3 {
		require.NoError(t, second.Write(t.Context()))
		require.NoError(t, first.Write(t.Context()))
	}
	require.Equal(t, []string{"x"}, ids(path))
	require.NoError(t, first.Unlock())
	require.NoError(t, second.Write(t.Context()))
	require.Equal(t, []string{"y"}, ids(path))
}

// Somebody who reads for long does not hold up what is written.
func TestWhileSomebodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "knowhub.db")
		r := run(t, path, 2)
		holds(t, path, "0", "1")
		reader := plain(t, path)
		reader.SetMaxOpenConns(1)
		_, err := reader.Exec("BEGIN")
		require.NoError(t, err)
		var n int
		require.NoError(t, reader.QueryRow("SELECT count(*) FROM experiences").Scan(&n))
		r.set(of("2"))
		holds(t, path, "0", "1", "2")
		require.NoError(t, reader.QueryRow("SELECT count(*) FROM experiences").Scan(&n))
		require.Equal(t, 2, n, "what was begun stays as it was")
	})
}

// A file that cannot be written is a fault until it can.
func TestFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		r := run(t, filepath.Join(dir, "knowhub.db"), 1)
		require.Eventually(t, func() bool { return r.Fault() != nil }, patience, tick)
		require.ErrorContains(t, r.Fault(), "not a directory")
		require.NoError(t, os.Remove(dir))
		require.Eventually(t, func() bool { return r.Fault() == nil }, patience, tick)
		holds(t, r.path, "0")
		require.Equal(t, 1, strings.Count(r.log.String(), "table of experiences not written"), "it is said once")
	})
}

// BenchmarkTable writes all of 10,000 experiences, and then one that has changed.
func BenchmarkTable(b *testing.B) {
	x := &experiences{byID: map[string]experience.Experience{}, removed: map[string]bool{}}
	for i := range 10_000 {
		e := of(strconv.Itoa(i))
		e.Result = strings.Repeat("a result of some length ", 15)
		x.byID[e.ID] = e
	}
	for _, tt := range []struct {
		name string
		what string
	}{{"all", ""}, {"one", "7"}} {
		b.Run(tt.name, func(b *testing.B) {
			w := table.NewWriter(filepath.Join(b.TempDir(), "knowhub.db"), x, func() bool { return true })
			require.NoError(b, w.Write(b.Context()))
			for b.Loop() {
				w.Changed(tt.what)
				require.NoError(b, w.Write(b.Context()))
			}
		})
	}
}

// What a deletion removes leaves a marker; what is gone without one is named once, by
// whoever replaces the file.
func TestMissingExperiencesAreNamed(t *testing.T) {
	t.Parallel()
	const line = "experiences are missing that the bucket held before"
	for _, tt := range []struct {
		name    string
		now     int      // experiences of the bucket, of five
		removed []string // and markers
		renew   bool     // while the process runs; else before its start
		want    string
	}{
		{"none, before a start", 5, nil, false, ""},
		{"two, before a start", 3, nil, false, `"missing":2,"held":3`},
		{"two, one was deleted", 3, []string{"4"}, false, `"missing":1,"held":3`},
		{"all, before a start", 0, nil, false, `"missing":5,"held":0`},
		{"all were deleted", 0, []string{"0", "1", "2", "3", "4"}, false, ""},
		{"two, while it runs", 3, nil, true, `"missing":2,"held":3`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "knowhub.db")
			r := run(t, path, 5)
			require.Eventually(t, func() bool { return len(ids(path)) == 5 }, patience, tick)
			if !tt.renew {
				r.stop()
				r = run(t, path, tt.now, tt.removed...)
			} else {
				r.mu.Lock()
				for i := tt.now; i < 5; i++ {
					delete(r.byID, strconv.Itoa(i))
				}
				r.mu.Unlock()
				r.Renew()
			}
			require.Eventually(t, func() bool { return len(ids(path)) == tt.now }, patience, tick)
			r.stop()
			require.Equal(t, min(len(tt.want), 1), strings.Count(r.log.String(), line), r.log.String())
			require.Contains(t, r.log.String(), tt.want)
		})
	}
}
