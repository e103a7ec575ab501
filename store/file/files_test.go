package file_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func apply(t testing.TB, s *file.Store, facts ...store.Fact) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), facts))
}

// files lists the directory of a store, without the locks.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		if e.Name() != ".locks" && e.Name() != ".tmp" && e.Name() != ".lost" {
			names = append(names, e.Name())
		}
	}
	return names
}

// archived returns the run ids in a .history.jsonl, line by line.
func archived(t testing.TB, dir, token string) (runs []string, turns map[string]*store.Turn) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, token+".history.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	require.NoError(t, err)
	turns = map[string]*store.Turn{}
	for line := range bytes.Lines(data) {
		turn, err := store.DecodeTurn(line)
		if err != nil {
			runs = append(runs, "?")
			continue
		}
		runs = append(runs, turn.RunID)
		turns[turn.RunID] = turn
	}
	return runs, turns
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "sessions")
	s := open(t, dir, 0)
	apply(t, s, storetest.Begin("s", "r1", 0))
	apply(t, s, storetest.Begin("s", "r2", 1), storetest.Call("s", "cron", 2))
	require.Equal(t, []string{"s.history.jsonl", "s.json", "s.pending"}, files(t, dir))
	for _, name := range files(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), name)
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestNothingLeavesTheDirectory(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "sessions")
	s := open(t, dir, 0)
	for i, name := range storetest.StrangeNames() {
		apply(t, s, storetest.Begin(name, fmt.Sprint("r", i), 0), storetest.Call(name, "cron", 1))
		apply(t, s, storetest.Begin(name, fmt.Sprint("q", i), 9))
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		require.True(t, strings.HasPrefix(path, dir+string(filepath.Separator)), path)
		return nil
	}))
	require.Len(t, files(t, dir), 3*len(storetest.StrangeNames()))
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1)
	facts := []store.Fact{
		storetest.Begin("s", "r1", 0), storetest.Call("s", "r1", 1), storetest.Begin("s", "r2", 2),
		storetest.Begin("s", "r3", 3), storetest.Call("s", "cron", 4),
	}
	apply(t, s, facts...)
	state := func() (out []string) {
		for _, name := range files(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			out = append(out, fmt.Sprint(name, info.ModTime().UnixNano(), info.Size()))
		}
		return out
	}
	want := state()
	require.Len(t, want, 3)
	for _, handle := range []*file.Store{s, open(t, dir, 1)} {
		for range 2 {
			for _, f := range facts {
				apply(t, handle, f)
			}
			apply(t, handle, facts...)
		}
	}
	require.Equal(t, want, state())
}

func TestPendingFactsAreAJournal(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 200)
	pending := filepath.Join(dir, "s.pending")
	t.Run("is appended to", func(t *testing.T) {
		for i := range int64(3) {
			apply(t, s, storetest.Call("s", "r1", i))
		}
		data, err := os.ReadFile(pending)
		require.NoError(t, err)
		require.Equal(t, 3, bytes.Count(data, []byte("\n")))
		require.Equal(t, []string{"s.pending"}, files(t, dir))
	})
	t.Run("survives a torn write", func(t *testing.T) {
		f, err := os.OpenFile(pending, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"id":"half`)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		apply(t, s, storetest.Call("s", "r1", 3))
		data, err := os.ReadFile(pending)
		require.NoError(t, err)
		require.Equal(t, 4, bytes.Count(data, []byte("\n")))
		require.NotContains(t, string(data), "half")
		aside, err := filepath.Glob(pending + ".corrupt-*")
		require.NoError(t, err)
		require.Len(t, aside, 1)
		require.NoError(t, os.Remove(aside[0]))
	})
	t.Run("goes when all facts have their turn", func(t *testing.T) {
		apply(t, open(t, dir, 200), storetest.Begin("s", "r1", 0))
		require.Equal(t, []string{"s.json"}, files(t, dir))
		require.Len(t, storetest.Show(t, s, "s").Current.ToolCalls, 4)
	})
	t.Run("does not grow for ever", func(t *testing.T) {
		const most = 4096 // that wait
		for batch := range int64(95) {
			var calls []store.Fact
			for i := range int64(100) {
				calls = append(calls, storetest.Call("s", "cron", 100*batch+i))
			}
			apply(t, s, calls...)
		}
		data, err := os.ReadFile(pending)
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(data, []byte("\n")), 2*most+100+64)
		apply(t, s, storetest.Begin("s", "cron", 0))
		require.Len(t, storetest.Show(t, s, "s").History[0].ToolCalls, most)
		require.Equal(t, []string{"s.json"}, files(t, dir))
	})
}

func TestADeathBetweenSessionFileAndJournalRepeatsNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 200)
	apply(t, s, storetest.Call("s", "r1", 1), storetest.Call("s", "", 2))
	journal, err := os.ReadFile(filepath.Join(dir, "s.pending"))
	require.NoError(t, err)
	apply(t, s, storetest.Begin("s", "r1", 0))
	want := storetest.Show(t, s, "s")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.pending"), journal, 0o600))
	for _, handle := range []*file.Store{s, open(t, dir, 200)} {
		apply(t, handle, storetest.Begin("s", "r1", 0))
		require.Equal(t, want, storetest.Show(t, handle, "s"))
	}
}

func TestRetiredTurns(t *testing.T) {
	const limit = 3
	dir := t.TempDir()
	s := open(t, dir, limit)
	for i := range int64(10) {
		run := fmt.Sprint("r", i)
		apply(t, s, storetest.Begin("s", run, i*100), storetest.Call("s", run, i*100+1))
	}
	runs, _ := archived(t, dir, "s")
	require.Equal(t, []string{"r0", "r1", "r2", "r3", "r4", "r5"}, runs)
	session, err := os.ReadFile(filepath.Join(dir, "s.json"))
	require.NoError(t, err)

	for _, handle := range []*file.Store{s, open(t, dir, limit)} {
		t.Run("a late call amends", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			late := storetest.Call("s", "r2", 250+int64(len(before)))
			apply(t, handle, late)
			apply(t, handle, late)
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r2"), runs)
			require.Equal(t, late.ID, turns["r2"].ToolCalls[len(turns["r2"].ToolCalls)-1].ToolCallID)
			require.Greater(t, len(turns["r2"].ToolCalls), 1)
		})
		t.Run("a late end amends", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			apply(t, handle, storetest.End("s", "r4", 460+int64(len(before))))
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r4"), runs)
			require.Equal(t, "result of r4", turns["r4"].Result)
		})
		t.Run("a call without a run id amends the turn of its time", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			apply(t, handle, storetest.Call("s", "", 350+int64(len(before))))
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r3"), runs)
			require.True(t, turns["r3"].ToolCalls[len(turns["r3"].ToolCalls)-1].Loose)
		})
		t.Run("a retry amends", func(t *testing.T) {
			before, turns := archived(t, dir, "s")
			retry := storetest.Begin("s", "r5", 0)
			retry.ID, retry.TS = fmt.Sprint("retry", len(before)), turns["r5"].Begin.TS-1
			apply(t, handle, retry)
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r5"), runs)
			require.Equal(t, retry.Key(), turns["r5"].Begin)
		})
		t.Run("a redelivered event appends nothing", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			for i := range int64(6) {
				run := fmt.Sprint("r", i)
				apply(t, handle, storetest.Begin("s", run, i*100))
				apply(t, handle, storetest.Call("s", run, i*100+1))
			}
			runs, _ := archived(t, dir, "s")
			require.Equal(t, before, runs)
		})
	}
	t.Run("a turn older than the retired ones is retired too", func(t *testing.T) {
		before, _ := archived(t, dir, "s")
		apply(t, s, storetest.Begin("s", "oldest", -50), storetest.Call("s", "oldest", -40))
		runs, turns := archived(t, dir, "s")
		require.Equal(t, append(slices.Clone(before), "oldest"), runs)
		require.Len(t, turns["oldest"].ToolCalls, 1)
	})
	after, err := os.ReadFile(filepath.Join(dir, "s.json"))
	require.NoError(t, err)
	require.Equal(t, string(session), string(after))

	t.Run("they can be read", func(t *testing.T) {
		turns, err := s.Retired(t.Context(), "s")
		require.NoError(t, err)
		require.Len(t, turns, 7)
		for i, run := range []string{"oldest", "r0", "r1", "r2", "r3", "r4", "r5"} {
			turn, err := store.DecodeTurn(turns[i])
			require.NoError(t, err)
			require.Equal(t, run, turn.RunID)
		}
		turns, err = s.Retired(t.Context(), "another")
		require.NoError(t, err)
		require.Empty(t, turns)
	})
}

func TestAStoreWithoutRoomInMemoryStillWorks(t *testing.T) {
	s, err := file.Open(t.TempDir(), store.Options{HistoryLimit: 1, CacheBytes: 1})
	require.NoError(t, err)
	for i := range int64(5) {
		for _, session := range []string{"a", "b"} {
			apply(t, s, storetest.Begin(session, fmt.Sprint("r", i), i), storetest.Call(session, "cron", i))
		}
	}
	for _, session := range []string{"a", "b"} {
		require.Equal(t, "r4", storetest.Show(t, s, session).Current.RunID)
		turns, err := s.Retired(t.Context(), session)
		require.NoError(t, err)
		require.Len(t, turns, 3)
	}
}

func TestADeathBetweenHistoryAndSessionFileLosesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1)
	apply(t, s, storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1))
	before, err := os.ReadFile(filepath.Join(dir, "s.json"))
	require.NoError(t, err)
	apply(t, s, storetest.Begin("s", "r2", 2))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.json"), before, 0o600))
	// r0 stands in both files now; the session file is the one that counts.
	apply(t, s, storetest.Call("s", "r0", 7))
	runs, _ := archived(t, dir, "s")
	require.Equal(t, []string{"r0"}, runs)
	require.Len(t, storetest.Show(t, s, "s").History[0].ToolCalls, 1)
	apply(t, s, storetest.Begin("s", "r2", 2))
	runs, turns := archived(t, dir, "s")
	require.Equal(t, []string{"r0", "r0"}, runs)
	require.Len(t, turns["r0"].ToolCalls, 1)
}

// spoilable is a session of which a file is spoilt, and what a store says then.
type spoilable struct {
	*file.Store
	dir    string
	facts  []store.Fact
	lost   []string
	logged bytes.Buffer
}

// newSpoilable makes a session whose turns but the last are retired, and for
// which facts wait.
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
	cut := func(n int) func(string) string { return func(s string) string { return s[:len(s)-n] } }
	spoils := map[string]func(string) string{
		"emptied":               func(string) string { return "" },
		"garbage":               func(string) string { return "\x00\xff\x17{]" },
		"zeros":                 func(s string) string { return strings.Repeat("\x00", len(s)) },
		"of another shape":      func(string) string { return "[]\n7\n{}\n" },
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

				// It is made again from the stream.
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

// What has left the stream is in the file alone.
func TestLinesThatCanBeReadAreKept(t *testing.T) {
	s := newSpoilable(t)
	history := strings.Replace(s.read(t, "s.history.jsonl"), `{"runId":"r1"`, `{"runId":r1"`, 1)
	s.write(t, "s.history.jsonl", history)
	pending := strings.Split(s.read(t, "s.pending"), "\n")
	pending[1] = pending[1][1:]
	s.write(t, "s.pending", strings.Join(pending, "\n"))

	turns, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	require.Len(t, turns, 3, "a reader shows what is there")
	require.Equal(t, history, s.read(t, "s.history.jsonl"), "and changes nothing")
	require.Equal(t, 1, strings.Count(s.logged.String(), `"WARN"`), s.logged.String())

	apply(t, s.Store, storetest.Begin("s", "r5", 500))
	runs, _ := archived(t, s.dir, "s")
	require.Equal(t, []string{"r0", "r2", "r3", "r4"}, runs)
	require.Equal(t, 4, strings.Count(s.read(t, "s.pending"), "\n"))
	require.Equal(t, []string{"s"}, s.lost)
}

// It is tried again and again while it fails, and would fill the disk.
func TestLinesThatCannotTakeTheirPlaceLeaveNothing(t *testing.T) {
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

// The last line of a turn is lost, and the one before it has a fact that has
// moved to another turn since.
func TestAnEarlierLineOfATurnHasNothingOfOthers(t *testing.T) {
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

// archivedCalls are the tool calls of the turns of session s, wherever they are.
func archivedCalls(t *testing.T, s *file.Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	retired, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	for _, raw := range retired {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		out[turn.RunID] = len(turn.ToolCalls)
	}
	doc := storetest.Show(t, s, "s")
	for _, turn := range append(doc.History, *doc.Current) {
		out[turn.RunID] = len(turn.ToolCalls)
	}
	return out
}

func TestCorruptSessionFileIsSetAside(t *testing.T) {
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

func TestABadSessionDisturbsNoOther(t *testing.T) {
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

func TestAnotherProcesssWriteIsSeen(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, 200), open(t, dir, 200)
	for i := range int64(60) {
		writer := a
		if i%2 == 1 {
			writer = b
		}
		apply(t, writer, storetest.Begin("s", fmt.Sprint("r", i), i))
	}
	require.Len(t, storetest.Show(t, a, "s").History, 59)
	require.NoError(t, os.Remove(filepath.Join(dir, "s.json")))
	apply(t, a, storetest.Begin("s", "anew", 100))
	require.Empty(t, storetest.Show(t, a, "s").History)
}

func TestAFailedWriteIsRepeatedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	apply(t, s, storetest.Begin("s", "r0", 0))
	// The turn cannot be retired: its archive is a directory.
	archive := filepath.Join(dir, "s.history.jsonl")
	require.NoError(t, os.Mkdir(archive, 0o700))
	require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r1", 1)}))
	require.Equal(t, "r0", storetest.Show(t, s, "s").Current.RunID)
	require.NoError(t, os.Remove(archive))
	apply(t, s, storetest.Begin("s", "r1", 1))
	runs, _ := archived(t, dir, "s")
	require.Equal(t, []string{"r0"}, runs)
	require.Equal(t, "r1", storetest.Show(t, s, "s").Current.RunID)
}

func TestTheDirectoryMayVanish(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	s := open(t, dir, 0)
	apply(t, s, storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1))
	for _, f := range []store.Fact{storetest.Begin("s", "r2", 2), storetest.Call("s", "cron", 3)} {
		require.NoError(t, os.RemoveAll(dir))
		summaries, err := s.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, summaries)
		_, err = s.Sweep(t.Context(), time.Hour)
		require.NoError(t, err)
		apply(t, s, f)
		require.Len(t, files(t, dir), 1)
	}
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, s.Check(t.Context()))
	require.Empty(t, files(t, dir))
}

func TestCheckFindsAStoreThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	s := open(t, dir, 0)
	require.NoError(t, s.Check(t.Context()))
	require.Empty(t, files(t, dir))
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	require.Error(t, s.Check(t.Context()))
	require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r", 0)}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Check(ctx), context.Canceled)
	_, err := file.Open(dir, store.Options{})
	require.Error(t, err)
}

func TestALockHeldElsewhereIsWaitedForNoLongerThanTheContext(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	locks, err := filepath.Glob(filepath.Join(dir, ".locks", "*"))
	require.NoError(t, err)
	require.Empty(t, locks)
	apply(t, s, storetest.Begin("s", "r", 0))
	locks, err = filepath.Glob(filepath.Join(dir, ".locks", "*"))
	require.NoError(t, err)
	require.Len(t, locks, 1)

	held := flock.New(locks[0])
	require.NoError(t, held.Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Apply(ctx, []store.Fact{storetest.Begin("s", "q", 1)}), context.DeadlineExceeded)
	require.Equal(t, "r", storetest.Show(t, s, "s").Current.RunID, "readers do not wait")
	done := make(chan error, 1)
	go func() { done <- s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "q", 1)}) }()
	require.NoError(t, held.Unlock())
	require.NoError(t, <-done)
	require.Equal(t, "q", storetest.Show(t, s, "s").Current.RunID)
}

func TestSweep(t *testing.T) {
	const age = time.Hour
	now := time.Now()
	dir := t.TempDir()
	s, err := file.Open(dir, store.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	put := func(name string, old time.Duration) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		}
		require.NoError(t, os.Chtimes(path, now.Add(-old), now.Add(-old)))
	}
	for _, session := range []string{"stale", "live", "amended"} {
		apply(t, s, storetest.Begin(session, "r0", 0), storetest.Begin(session, "r1", 1), storetest.Call(session, "cron", 2))
	}
	for _, name := range []string{"stale.json", "stale.history.jsonl", "stale.pending", "live.history.jsonl", "amended.json", "orphan.history.jsonl", "alone.pending"} {
		put(name, age+time.Minute)
	}
	for _, name := range []string{"live.json", "live.pending", "amended.history.jsonl", "amended.pending", ".tmp-123", ".probe-9"} {
		put(name, age-time.Minute)
	}
	put(fmt.Sprint("old.corrupt-", now.Add(-2*age).UnixMilli()), 2*age)
	put(fmt.Sprint("new.corrupt-", now.UnixMilli()), 2*age)
	// What stood in the way of a session file, and what was spoilt.
	directory := filepath.Join(dir, fmt.Sprint("way.corrupt-", now.Add(-2*age).UnixMilli()))
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "deep"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "deep", "file"), nil, 0o600))
	put(fmt.Sprint("old.history.jsonl.corrupt-", now.Add(-2*age).UnixMilli()), 0)
	put(fmt.Sprint("old.pending.corrupt-", now.Add(-2*age).UnixMilli()), 0)
	put(fmt.Sprint("new.pending.corrupt-", now.UnixMilli()), 2*age)
	put("notes.txt", 3*age)
	put("README", 3*age)
	put(".tmp-fresh", time.Second)
	all := files(t, dir)

	t.Run("0 keeps all but strays", func(t *testing.T) {
		removed, err := s.Sweep(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, removed)
		require.Equal(t, slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == ".tmp-123" || n == ".probe-9" }), files(t, dir))
	})
	t.Run("what is stale goes", func(t *testing.T) {
		removed, err := s.Sweep(t.Context(), age)
		require.NoError(t, err)
		require.Equal(t, 1, removed)
		require.Equal(t, []string{
			".tmp-fresh", "README", "amended.history.jsonl", "amended.json", "amended.pending",
			"live.history.jsonl", "live.json", "live.pending",
			fmt.Sprint("new.corrupt-", now.UnixMilli()), fmt.Sprint("new.pending.corrupt-", now.UnixMilli()), "notes.txt",
		}, files(t, dir))
	})
	t.Run("a swept session begins anew", func(t *testing.T) {
		apply(t, s, storetest.Begin("stale", "r2", 5))
		doc := storetest.Show(t, s, "stale")
		require.Equal(t, "r2", doc.Current.RunID)
		require.Empty(t, doc.History)
	})
	t.Run("an ended context stops it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Sweep(ctx, age)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// Processes write to one store at the same time; every event is delivered to
// two of them.
func TestManyProcesses(t *testing.T) {
	const processes, runs, calls = 3, 6, 10
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		var me int
		_, err := fmt.Sscan(os.Getenv("STORE_TEST_ME"), &me)
		require.NoError(t, err)
		s := open(t, dir, 2)
		for i := range int64(calls) {
			for run := range int64(runs) {
				if (int(run)+int(i)+me)%processes == 0 {
					continue
				}
				name := fmt.Sprint("r", run)
				apply(t, s, storetest.Call("s", name, run*100+i))
				if i == 4 {
					apply(t, s, storetest.Begin("s", name, run*100), storetest.End("s", name, run*100+50))
				}
			}
		}
		return
	}
	dir := t.TempDir()
	var commands []*exec.Cmd
	for me := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyProcesses$")
		cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, fmt.Sprint("STORE_TEST_ME=", me))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(out.String())
			}
		})
		commands = append(commands, cmd)
	}
	for _, cmd := range commands {
		require.NoError(t, cmd.Wait())
	}
	doc := storetest.Show(t, open(t, dir, 2), "s")
	_, turns := archived(t, dir, "s")
	require.Len(t, doc.History, 2)
	for i := range doc.History {
		turns[doc.History[i].RunID] = &doc.History[i]
	}
	turns[doc.Current.RunID] = doc.Current
	require.Len(t, turns, runs)
	for _, turn := range turns {
		require.Len(t, turn.ToolCalls, calls, turn.RunID)
		require.Equal(t, "result of "+turn.RunID, turn.Result)
	}
	for _, name := range files(t, dir) {
		require.False(t, strings.HasPrefix(name, ".tmp-"), name)
	}
}

// A process is killed while it writes; what it had reported as stored is there,
// once, and the next process goes on.
func TestKilledProcesses(t *testing.T) {
	const kills = 5
	if dir := os.Getenv("STORE_TEST_KILLED"); dir != "" {
		s := open(t, dir, 1)
		// What was reported before is delivered again, then it goes on.
		for n := int64(0); ; n++ {
			run := fmt.Sprint("r", n/10)
			f := storetest.Call("s", run, n)
			if n%10 == 3 {
				f = storetest.Begin("s", run, n-3)
			}
			apply(t, s, f)
			fmt.Println("stored", n)
		}
	}
	dir := t.TempDir()
	last := int64(-1)
	for i := range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcesses$")
		cmd.Env = append(os.Environ(), "STORE_TEST_KILLED="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var n int64
			if _, err := fmt.Sscanf(lines.Text(), "stored %d", &n); err != nil {
				continue
			}
			last = max(last, n)
			if n == int64(40+20*i) {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
	}
	s := open(t, dir, 1)
	turns := map[string]*store.Turn{}
	retired, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	for _, raw := range retired {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		turns[turn.RunID] = turn
	}
	doc := storetest.Show(t, s, "s")
	require.Len(t, doc.History, 1)
	turns[doc.History[0].RunID], turns[doc.Current.RunID] = &doc.History[0], doc.Current
	require.GreaterOrEqual(t, last, int64(120))
	for run := range last / 10 {
		turn := turns[fmt.Sprint("r", run)]
		require.NotNil(t, turn, "r%d", run)
		require.Len(t, turn.ToolCalls, 9, "r%d", run)
	}
}

func TestSessionFileIsJSONWithAllArrays(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 200)
	apply(t, s, store.Fact{ID: "b", TS: 1, SessionKey: "k", Begin: &store.Begin{Input: "<x> & y"}})
	data, err := os.ReadFile(filepath.Join(dir, "k.json"))
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	require.JSONEq(t, `{"sessionKey":"k","current":{"runId":"b","input":"<x> & y","intent":{"input":[]},"skillsUsed":[],"toolCalls":[],
		"timestamps":{"start":"1970-01-01T00:00:00.001Z"},"begin":{"ts":1,"id":"b"}},"history":[],"namedBy":{"sessionKey":{"ts":1,"id":"b"}}}`, string(data))
	require.Contains(t, string(data), "<x> & y")
}

func TestAnotherProcesssJournalIsRead(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, 200), open(t, dir, 200)
	for i := range int64(40) {
		writer := a
		if i%3 == 1 {
			writer = b
		}
		apply(t, writer, storetest.Call("s", "r1", i))
	}
	pending := filepath.Join(dir, "s.pending")
	data, err := os.ReadFile(pending)
	require.NoError(t, err)
	require.Equal(t, 40, bytes.Count(data, []byte("\n")))

	// The same file with other and more content, as after a new one got the
	// number of the old.
	other, err := json.Marshal(storetest.Call("s", "r1", 1000))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pending, append(append(other, '\n'), data...), 0o600))
	apply(t, a, storetest.Call("s", "r1", 1001))
	apply(t, b, storetest.Begin("s", "r1", 0))
	require.Len(t, storetest.Show(t, a, "s").Current.ToolCalls, 42)
	require.Equal(t, []string{"s.json"}, files(t, dir))
}

// Sessions that left the memory are told from files that somebody has changed,
// also where both are of one size.
func TestAnEditedFileIsNotTakenForTheOneThatWasWritten(t *testing.T) {
	s, err := file.Open(t.TempDir(), store.Options{HistoryLimit: 5, CacheBytes: 1})
	require.NoError(t, err)
	apply := func(facts ...store.Fact) {
		t.Helper()
		require.NoError(t, s.Apply(t.Context(), facts))
	}
	for _, session := range []string{"edited", "other"} {
		apply(storetest.Begin(session, "r1", 1000), storetest.Begin(session, "r2", 2000))
	}
	path := filepath.Join(s.Dir(), "edited.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	// A letter goes from the text of one turn to that of the other.
	input := []byte(`"input":"`)
	first, last := bytes.Index(data, input)+len(input), bytes.LastIndex(data, input)+len(input)
	require.Less(t, first, last)
	edited := slices.Concat(data[:first], data[first+1:last], []byte("X"), data[last:])
	require.NoError(t, os.WriteFile(path, edited, 0o600))
	apply(storetest.End("other", "r2", 2500))
	apply(storetest.End("edited", "r2", 2500))
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, json.Valid(now), string(now))
	require.Contains(t, string(now), string(edited[last-1:last+10]))
}
