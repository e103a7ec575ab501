package file_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

// spoilable is a session with a damaged file, and what the store reports.
type spoilable struct {
	*file.Store
	dir    string
	facts  []store.Fact
	lost   []string
	logged bytes.Buffer
}

// newSpoilable returns a session in which all turns but the last are retired
// and some facts wait.
func newSpoilable(t *testing.T) *spoilable {
	t.Helper()
	s := &spoilable{dir: t.TempDir()}
	var err error
	s.Store, err = file.Open(s.dir, store.Options{
		Lost:   func(token string) { s.lost = append(s.lost, token) },
		Logger: slog.New(slog.NewJSONHandler(&s.logged, nil)),
		Now:    func() time.Time { return time.UnixMilli(1234567890123) },
	})
	require.NoError(t, err)
	for i := range int64(5) {
		run := fmt.Sprint("r", i)
		s.facts = append(s.facts, storetest.Begin("s", run, i*100), storetest.Call("s", run, i*100+1), storetest.End("s", run, i*100+2), storetest.Call("s", "cron", i))
	}
	for _, f := range s.facts {
		apply(t, s.Store, f)
	}
	return s
}

func (s *spoilable) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(t, err)
	return string(data)
}

func (s *spoilable) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
}

func TestCorruptLinesAreSetAside(t *testing.T) {
	t.Parallel()
	cut := func(n int) func(string) string { return func(s string) string { return s[:len(s)-n] } }
	spoils := map[string]func(string) string{
		"emptied":               func(string) string { return "" },
		"garbage":               func(string) string { return "\x00\xff\x17{]" },
		"zeros":                 func(s string) string { return strings.Repeat("\x00", len(s)) },
		"another shape":         func(string) string { return "[]\n7\n{}\n" },
		"cut":                   cut(20),
		"cut before the end":    cut(1),
		"cut at both ends":      func(s string) string { return s[7 : len(s)-7] },
		"a line in the middle":  func(s string) string { return strings.Replace(s, "\n{", "\n[", 2) },
		"garbage after the end": func(s string) string { return s + "}" },
	}
	for _, name := range []string{"s.history.jsonl", "s.pending"} {
		for how, spoil := range spoils {
			t.Run(name+" "+how, func(t *testing.T) {
				s := newSpoilable(t)
				before, pending := s.read(t, "s.history.jsonl"), s.read(t, "s.pending")
				document := s.read(t, "s.json")
				spoilt := spoil(s.read(t, name))
				s.write(t, name, spoilt)

				another := storetest.Call("s", "cron", 77)
				apply(t, s.Store, another, storetest.Call("s", "r1", 101))
				require.Equal(t, []string{"s"}, s.lost)
				require.Equal(t, 1, strings.Count(s.logged.String(), `"WARN"`), s.logged.String())
				require.Equal(t, spoilt, s.read(t, name+".corrupt-1234567890123"))
				losses, err := s.Lost(t.Context())
				require.NoError(t, err)
				require.Len(t, losses, 1)
				for line := range strings.Lines(s.read(t, "s.pending")) {
					require.True(t, json.Valid([]byte(line)), line)
				}
				runs, _ := archived(t, s.dir, "s")
				require.NotContains(t, runs, "?")

				// It is rebuilt from the stream.
				apply(t, s.Store, s.facts...)
				apply(t, s.Store, another)
				require.Equal(t, []string{"s"}, s.lost, "once")
				require.Equal(t, document, s.read(t, "s.json"))
				lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
				require.Subset(t, lines(s.read(t, "s.history.jsonl")), lines(before))
				_, turns := archived(t, s.dir, "s")
				require.Len(t, turns, 4)
				require.Subset(t, lines(s.read(t, "s.pending")), lines(pending))
				require.Contains(t, s.read(t, "s.pending"), another.ID)
			})
		}
	}
}

// Events that have left the stream exist only in the file.
func TestReadableLinesAreKept(t *testing.T) {
	t.Parallel()
	s := newSpoilable(t)
	history := strings.Replace(s.read(t, "s.history.jsonl"), `{"runId":"r1"`, `{"runId":r1"`, 1)
	s.write(t, "s.history.jsonl", history)
	pending := strings.Split(s.read(t, "s.pending"), "\n")
	pending[1] = pending[1][1:]
	s.write(t, "s.pending", strings.Join(pending, "\n"))

	turns, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	require.Len(t, turns, 3, "a reader returns the readable turns")
	require.Equal(t, history, s.read(t, "s.history.jsonl"), "a reader changes nothing")
	require.Equal(t, 1, strings.Count(s.logged.String(), `"WARN"`), s.logged.String())

	apply(t, s.Store, storetest.Begin("s", "r5", 500))
	runs, _ := archived(t, s.dir, "s")
	require.Equal(t, []string{"r0", "r2", "r3", "r4"}, runs)
	require.Equal(t, 4, strings.Count(s.read(t, "s.pending"), "\n"))
	require.Equal(t, []string{"s"}, s.lost)
}

// Retries of a failing repair must not fill the disk.
func TestFailedRepairLeavesNoFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"s.history.jsonl", "s.pending"} {
		t.Run(name, func(t *testing.T) {
			s := newSpoilable(t)
			s.write(t, name, s.read(t, name)+"}")
			marks := filepath.Join(s.dir, ".lost")
			require.NoError(t, os.Remove(marks))
			require.NoError(t, os.WriteFile(marks, nil, 0o600))
			temps := func() int {
				files, err := os.ReadDir(filepath.Join(s.dir, ".tmp"))
				require.NoError(t, err)
				return len(files)
			}
			before := temps()
			for range 3 {
				require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Call("s", "r1", 101)}))
			}
			require.LessOrEqual(t, temps(), before)
			require.NoError(t, os.Remove(marks))
			apply(t, s.Store, storetest.Call("s", "r1", 101))
		})
	}
}

// The last line of a turn is lost, and the line before it has a fact that has
// since moved to another turn.
func TestEarlierLineOfATurnLosesMovedFacts(t *testing.T) {
	t.Parallel()
	earlier := storetest.Begin("s", "r1", 50)
	earlier.ID = "earlier"
	for name, late := range map[string]store.Fact{
		"in the history":      storetest.Begin("s", "late", 50),
		"in the session file": earlier,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, 1)
			facts := []store.Fact{storetest.Begin("s", "r0", 0), storetest.Call("s", "", 60), storetest.Begin("s", "r1", 300), storetest.Begin("s", "r2", 400)}
			apply(t, s, facts...)
			apply(t, s, late)
			want := archivedCalls(t, s)
			path := filepath.Join(dir, "s.history.jsonl")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			// r0 is amended, without the call.
			i := bytes.LastIndex(data, []byte(`{"runId":"r0"`))
			require.Positive(t, i)
			data[i] = '?'
			require.NoError(t, os.WriteFile(path, data, 0o600))
			apply(t, s, append(facts, late)...)
			require.Equal(t, want, archivedCalls(t, s))
		})
	}
}

func TestCorruptSessionFileIsSetAside(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "cut short": `{"sessionId":"s","current":{"runId":`, "an array": `[]`, "a string": `"x"`,
		"current of another shape": `{"current":"x","history":[]}`, "history of another shape": `{"history":{}}`,
		"turn without a time":    `{"current":{"runId":"r"},"history":[]}`,
		"calls of another shape": `{"current":null,"history":[{"runId":"r","begin":{"ts":1,"id":"a"},"toolCalls":"none"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var (
				logged bytes.Buffer
				lost   []string
				s      *file.Store
			)
			s, err := file.Open(dir, store.Options{
				HistoryLimit: 200,
				// The store can be used in it: the session is not locked.
				Lost: func(token string) {
					lost = append(lost, token)
					apply(t, s, storetest.Begin(token, "r0", -1))
				},
				Logger: slog.New(slog.NewJSONHandler(&logged, nil)),
				Now:    func() time.Time { return time.UnixMilli(1234567890123) },
			})
			require.NoError(t, err)
			apply(t, s, storetest.Begin("other", "r", 0))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "s.json"), []byte(content), 0o600))
			apply(t, s, storetest.Begin("s", "r1", 0))
			require.Equal(t, []string{"other.json", "s.corrupt-1234567890123", "s.json"}, files(t, dir))
			kept, err := os.ReadFile(filepath.Join(dir, "s.corrupt-1234567890123"))
			require.NoError(t, err)
			require.Equal(t, content, string(kept))
			doc := storetest.Show(t, s, "s")
			require.Equal(t, "r1", doc.Current.RunID)
			require.Equal(t, []string{"s"}, lost)
			require.Len(t, doc.History, 1)
			require.Equal(t, 1, strings.Count(logged.String(), `"WARN"`), logged.String())
		})
	}
}

func TestForeignSessionFileIsContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 200)
	foreign := `{
		"sessionId": "s",
		"current": {"runId": "old", "input": "hi", "timestamps": {"start": "2020-01-02T03:04:05Z"}},
		"history": []
	}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.json"), []byte(foreign), 0o600))
	apply(t, s, storetest.Begin("s", "new", 0), storetest.Call("s", "old", 1))
	doc := storetest.Show(t, s, "s")
	require.Equal(t, "new", doc.Current.RunID)
	require.Equal(t, "hi", doc.History[0].Input)
	require.Len(t, doc.History[0].ToolCalls, 1)
	require.Equal(t, []string{"s.json"}, files(t, dir))
}

func TestBadSessionDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"link to itself": func(path string) error { return os.Symlink(path, path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, 200)
			require.NoError(t, spoil(filepath.Join(dir, "bad.json")))
			require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("bad", "r", 0)}))
			_, err := s.Get(t.Context(), "bad")
			require.Error(t, err)
			require.NotErrorIs(t, err, store.ErrNotFound)
			require.NoError(t, s.Check(t.Context()))
			apply(t, s, storetest.Begin("good", "r", 0))
			summaries, err := s.List(t.Context())
			require.NoError(t, err)
			require.Len(t, summaries, 1)
			_, err = s.Sweep(t.Context(), time.Hour)
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "bad.json")))
			apply(t, s, storetest.Begin("bad", "r", 0))
			require.Equal(t, "r", storetest.Show(t, s, "bad").Current.RunID)
		})
	}
}
