package watch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
)

// text is the state of a file or of all files in a directory.
type text string

func (t text) Equal(other text) bool { return t == other }

func read(path string) text {
	entries, err := os.ReadDir(path)
	if err != nil {
		content, err := os.ReadFile(path) //nolint:gosec // a test's own file
		if err != nil {
			return "missing"
		}
		return text(content)
	}
	var all strings.Builder
	for _, e := range entries {
		if content, err := os.ReadFile(filepath.Join(path, e.Name())); err == nil { //nolint:gosec // a test's own file
			all.WriteString(e.Name() + "=" + string(content) + " ")
		}
	}
	return text(strings.TrimSpace(all.String()))
}

// follow watches path until the test ends.
func follow(t *testing.T, path string, poll time.Duration) <-chan text {
	t.Helper()
	states := make(chan text, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	w := Watch[text]{Path: path, Look: func() text { return read(path) }, Changed: func(s text) { states <- s }, Log: slog.New(slog.DiscardHandler), Poll: poll}
	last := read(path)
	go func() {
		defer close(done)
		w.Run(ctx, last)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return states
}

// becomes waits for a state. Others may come before it: a machine that stalls
// shows what is between two steps.
func becomes(t *testing.T, states <-chan text, want text) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case s := <-states:
			if s == want {
				return
			}
		case <-timeout:
			require.FailNow(t, "no such state", want)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.Rename(from, to))
}

func link(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, name+".new"))
	rename(t, name+".new", name)
}

// rarely is a poll that no test waits for.
const rarely = time.Hour

// Each row is a change of which the notifications tell.
func TestNotifications(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		row, path string
		before    func(t *testing.T, dir string)
		steps     []func(t *testing.T, dir string)
		want      []text
	}{
		{
			row: "a file is written in place", path: "f",
			before: func(t *testing.T, dir string) { write(t, dir+"/f", "1") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { write(t, dir+"/f", "2") },
				func(t *testing.T, dir string) { write(t, dir+"/f", "3") },
			},
			want: []text{"2", "3"},
		},
		{
			row: "a file is replaced, as editors do", path: "f",
			before: func(t *testing.T, dir string) { write(t, dir+"/f", "1") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { write(t, dir+"/.f.swp", "2"); rename(t, dir+"/.f.swp", dir+"/f") },
				func(t *testing.T, dir string) { write(t, dir+"/.f.swp", "3"); rename(t, dir+"/.f.swp", dir+"/f") },
			},
			want: []text{"2", "3"},
		},
		{
			row: "a file goes and comes", path: "f",
			before: func(t *testing.T, dir string) { write(t, dir+"/f", "1") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { require.NoError(t, os.Remove(dir+"/f")) },
				func(t *testing.T, dir string) { write(t, dir+"/f", "2") },
			},
			want: []text{"missing", "2"},
		},
		{
			row: "the directory of a file goes and comes", path: "d/e/f",
			before: func(t *testing.T, dir string) { write(t, dir+"/d/e/f", "1") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir+"/d")) },
				func(t *testing.T, dir string) { write(t, dir+"/d/e/f", "2") },
				func(t *testing.T, dir string) { write(t, dir+"/d/e/f", "3") },
			},
			want: []text{"missing", "2", "3"},
		},
		{
			row: "a file is made with its directories", path: "d/e/f",
			before: func(*testing.T, string) {},
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { write(t, dir+"/d/e/f", "1") },
				func(t *testing.T, dir string) { write(t, dir+"/d/e/f", "2") },
			},
			want: []text{"1", "2"},
		},
		{
			row: "a file of a ConfigMap", path: "f",
			before: func(t *testing.T, dir string) {
				write(t, dir+"/..1/f", "1")
				write(t, dir+"/..2/f", "2")
				link(t, "..1", dir+"/..data")
				link(t, "..data/f", dir+"/f")
			},
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { link(t, "..2", dir+"/..data") },
				func(t *testing.T, dir string) { write(t, dir+"/..3/f", "3"); link(t, "..3", dir+"/..data") },
			},
			want: []text{"2", "3"},
		},
		{
			row: "a chain of links", path: "f",
			before: func(t *testing.T, dir string) {
				write(t, dir+"/a/f", "1")
				write(t, dir+"/b/f", "2")
				write(t, dir+"/links/x", "")
				link(t, dir+"/a/f", dir+"/links/f")
				link(t, "links/f", dir+"/f")
			},
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { link(t, dir+"/b/f", dir+"/links/f") },
				func(t *testing.T, dir string) { write(t, dir+"/b/f", "3") },
				func(t *testing.T, dir string) { link(t, "a/f", dir+"/f") },
			},
			want: []text{"2", "3", "1"},
		},
		{
			row: "files in a directory", path: "d",
			before: func(t *testing.T, dir string) { write(t, dir+"/d/a", "1") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { write(t, dir+"/d/b", "2") },
				func(t *testing.T, dir string) { rename(t, dir+"/d/b", dir+"/d/c") },
				func(t *testing.T, dir string) { require.NoError(t, os.Remove(dir+"/d/a")) },
			},
			want: []text{"a=1 b=2", "a=1 c=2", "c=2"},
		},
		{
			row: "a directory vanishes and returns", path: "d",
			before: func(t *testing.T, dir string) { write(t, dir+"/d/a", "1") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir+"/d")) },
				func(t *testing.T, dir string) { write(t, dir+"/d/a", "2") },
				func(t *testing.T, dir string) { write(t, dir+"/d/a", "3") },
			},
			want: []text{"missing", "a=2", "a=3"},
		},
		{
			row: "a directory is replaced", path: "d",
			before: func(t *testing.T, dir string) { write(t, dir+"/d/a", "1"); write(t, dir+"/new/a", "2") },
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { rename(t, dir+"/d", dir+"/old"); rename(t, dir+"/new", dir+"/d") },
				func(t *testing.T, dir string) { write(t, dir+"/d/a", "3") },
			},
			want: []text{"a=2", "a=3"},
		},
		{
			row: "a link to a directory", path: "d",
			before: func(t *testing.T, dir string) {
				write(t, dir+"/1/a", "1")
				write(t, dir+"/2/a", "2")
				link(t, "1", dir+"/d")
			},
			steps: []func(*testing.T, string){
				func(t *testing.T, dir string) { link(t, "2", dir+"/d") },
				func(t *testing.T, dir string) { write(t, dir+"/2/a", "3") },
			},
			want: []text{"a=2", "a=3"},
		},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tc.before(t, dir)
			states := follow(t, filepath.Join(dir, tc.path), rarely)
			for i, step := range tc.steps {
				step(t, dir)
				becomes(t, states, tc.want[i])
			}
		})
	}
}

func TestAChangeBeforeTheWatchIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "2")
	states := make(chan text, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go Watch[text]{Path: path, Look: func() text { return read(path) }, Changed: func(s text) { states <- s }, Log: slog.New(slog.DiscardHandler), Poll: rarely}.Run(ctx, "1")
	becomes(t, states, "2")
}

// No notification tells of a parent that is moved.
func TestPollFindsChangesWithoutNotifications(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/p/q/f", "1")
	states := follow(t, dir+"/p/q/f", 20*time.Millisecond)
	rename(t, dir+"/p", dir+"/old")
	becomes(t, states, "missing")
}

func TestTrail(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, dir+"/a/b/f", "")
	link(t, "b", dir+"/a/relative")
	link(t, dir+"/a", dir+"/absolute")
	link(t, "../a/b/f", dir+"/a/up")
	link(t, "loop", dir+"/loop")
	for _, tc := range []struct {
		row, path string
		want      []string
	}{
		{"no link", "/a/b/f", []string{"/a/b/f"}},
		{"a directory", "/a/b", []string{"/a/b"}},
		{"missing", "/a/x/y/z", []string{"/a/x"}},
		{"a relative link", "/a/relative/f", []string{"/a/relative", "/a/b/f"}},
		{"two links", "/absolute/relative/f", []string{"/absolute", "/a/relative", "/a/b/f"}},
		{"up", "/a/up", []string{"/a/up", "/a/b/f"}},
	} {
		t.Run(tc.row, func(t *testing.T) {
			want := make([]string, len(tc.want))
			for i, place := range tc.want {
				want[i] = dir + place
			}
			require.Equal(t, want, trail(dir+tc.path))
		})
	}
	require.LessOrEqual(t, len(trail(dir+"/loop")), maxLinks+1)
	require.Equal(t, []string{string(filepath.Separator)}, trail(string(filepath.Separator)))
}

func TestAStateMustSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu          sync.Mutex // guards state and looks
			state       = text("old")
			looks       int
			events      = make(chan fsnotify.Event)
			lost        = make(chan error)
			got         []text
			ctx, cancel = context.WithCancel(t.Context())
			done        = make(chan struct{})
		)
		w := Watch[text]{Look: func() text {
			mu.Lock()
			defer mu.Unlock()
			looks++
			return state
		}, Changed: func(s text) { got = append(got, s) }}
		go func() {
			defer close(done)
			w.loop(ctx, pollEvery, events, func(e fsnotify.Event) bool { return e.Name != "other" }, lost, "old")
		}()
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		put := func(s text) {
			mu.Lock()
			defer mu.Unlock()
			state = s
		}
		pass(time.Second)
		require.Empty(t, got, "nothing has changed")

		// An editor writes piece by piece; each piece is an event.
		for _, piece := range []text{"n", "ne", "new"} {
			put(piece)
			events <- fsnotify.Event{}
			pass(settleTime * 3 / 4)
		}
		pass(2 * settleTime)
		require.Equal(t, []text{"new"}, got)

		// A directory in which something happens all the time.
		put("newer")
		for range 40 {
			events <- fsnotify.Event{}
			pass(settleTime / 4)
		}
		require.Equal(t, []text{"new", "newer"}, got)

		// A change that is not notified is found by the poll, and one whose
		// notification was lost is found at once.
		put("newest")
		pass(pollEvery + 2*settleTime)
		require.Equal(t, text("newest"), got[len(got)-1])
		put("gone")
		lost <- errors.New("overflow")
		pass(2 * settleTime)
		require.Equal(t, text("gone"), got[len(got)-1])

		// A change that is undone within the settling time is not reported.
		n := len(got)
		put("away")
		events <- fsnotify.Event{}
		pass(settleTime * 3 / 2)
		put("gone")
		pass(pollEvery)
		require.Len(t, got, n)

		// An event that does not concern the path causes no look.
		pass(settleTime * 2)
		mu.Lock()
		before := looks
		mu.Unlock()
		events <- fsnotify.Event{Name: "other"}
		pass(settleTime * 2)
		require.Equal(t, before, looks)

		// What never settles is reported after a second.
		started := time.Now()
		for i := 0; len(got) == n; i++ {
			put(text(rune('a' + i)))
			events <- fsnotify.Event{}
			pass(settleTime / 2)
		}
		require.LessOrEqual(t, time.Since(started), settleAtMost+3*settleTime)

		cancel()
		<-done
	})
}
