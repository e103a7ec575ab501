package intents

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// record is a log that can be read while it is written.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) count(level slog.Level, words ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for line := range strings.Lines(r.buf.String()) {
		if strings.Contains(line, "level="+level.String()) && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// bench is a watched directory.
type bench struct {
	*testing.T
	dir     string
	d       *Directory
	log     *record
	changes chan *Catalog
	faults  chan Fault
}

func watching(t *testing.T, dir string, set func(*Directory)) *bench {
	t.Helper()
	b := &bench{T: t, dir: dir, log: &record{}, changes: make(chan *Catalog, 1000), faults: make(chan Fault, 1000)}
	var err error
	b.d, err = OpenDirectory(dir, slog.New(slog.NewTextHandler(b.log, nil)))
	require.NoError(t, err)
	if set != nil {
		set(b.d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.d.Watch(ctx, func(c *Catalog) { b.changes <- c }, func(f Fault) { b.faults <- f })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string) {
	b.Helper()
	require.NoError(b, os.WriteFile(b.path(name), []byte(text), 0o600))
}

// replace writes a file in the way of editors: beside it, then renamed.
func (b *bench) replace(name, text string) {
	b.Helper()
	b.write("."+name+".swp", text)
	require.NoError(b, os.Rename(b.path("."+name+".swp"), b.path(name)))
}

func (b *bench) eventually(ok func() bool) {
	b.Helper()
	require.Eventually(b, ok, time.Minute, 5*time.Millisecond)
}

func (b *bench) becomes(want ...string) {
	b.Helper()
	b.eventually(func() bool { return slices.Equal(want, ids(b.d.Catalog())) })
}

func (b *bench) promptBecomes(id, want string) {
	b.Helper()
	b.eventually(func() bool {
		in, ok := b.d.Catalog().Lookup(id)
		return ok && in.Prompt == want
	})
}

func directoryOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "intents")
	require.NoError(t, os.Mkdir(dir, 0o750))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestOpenDirectory(t *testing.T) {
	t.Parallel()
	dir := directoryOf(t, map[string]string{"a.md": md("A"), "b.md": "---\nid: B\n---\n", "c.md": md("a", "name: late")})
	log := &record{}
	d, err := OpenDirectory(dir, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids(d.Catalog()))
	require.Equal(t, 1, log.count(slog.LevelWarn, "b.md", "triggers is missing"))
	require.Equal(t, 1, log.count(slog.LevelWarn, "a.md", "also the id of c.md"))

	_, err = OpenDirectory(filepath.Join(dir, "none"), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "none")
	_, err = OpenDirectory(filepath.Join(dir, "a.md"), slog.New(slog.DiscardHandler))
	require.Error(t, err)
}

func TestOpenDirectoryLogsWhatItAcceptsWithAWarning(t *testing.T) {
	t.Parallel()
	dir := directoryOf(t, map[string]string{"a.md": md("A", "keywords: [x]"), "b.md": md("lower case")})
	log := &record{}
	d, err := OpenDirectory(dir, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	require.Equal(t, []string{"A"}, ids(d.Catalog()))
	require.Equal(t, 1, log.count(slog.LevelWarn, "accepted with a warning", "a.md", "line=3", "fastpath.keywords"))
	require.Equal(t, 1, log.count(slog.LevelWarn, "skipped", "b.md", "line=2", "must not contain"))
}

func TestWatchFollowsDomainAndFastpath(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A")}), nil)
	is := func(ok func(Intent) bool) {
		b.eventually(func() bool { return ok(b.d.Catalog().Enabled()[0]) })
	}
	b.write("a.md", md("A", "domain: d"))
	is(func(in Intent) bool { return in.Domain == "d" })
	b.write("a.md", md("A", "fastpath: {keywords: [x]}"))
	is(func(in Intent) bool { return slices.Equal(in.Fastpath.Keywords, []string{"x"}) })
	b.write("a.md", md("A", "fastpath: {keywords: [x], hint: h}"))
	is(func(in Intent) bool { return in.Fastpath.Hint == "h" })
}

func TestWatchFollowsEdits(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A")}), nil)
	b.becomes("A")

	b.write("b.md", md("B"))
	b.becomes("A", "B")
	b.replace("b.md", md("B2"))
	b.becomes("A", "B2")
	b.write("a.md", md("A", "enabled: false"))
	b.becomes("B2")
	b.write("a.md", md("A"))
	b.becomes("A", "B2")
	require.NoError(t, os.Rename(b.path("b.md"), b.path("c.md")))
	b.eventually(func() bool { in, _ := b.d.Catalog().Lookup("B2"); return in.File == "c.md" })
	require.NoError(t, os.Remove(b.path("c.md")))
	b.becomes("A")
	b.write("o.md", md("OTHER"))
	b.eventually(func() bool { return b.d.Catalog().Fallback().Prompt == "Prompt of OTHER." })
	require.NoError(t, os.Remove(b.path("o.md")))
	b.eventually(func() bool { return b.d.Catalog().Fallback().File == Bundled().Fallback().File })
}

func TestWatchTellsTheSubscriber(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A")}), nil)
	b.write("b.md", md("B"))
	select {
	case c := <-b.changes:
		require.Equal(t, []string{"A", "B"}, ids(c))
		require.Same(t, c, b.d.Catalog())
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
}

func TestWatchKeepsTheLastGoodVersion(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A"), "b.md": md("B")}), nil)
	b.replace("a.md", "---\nid: A\n---\nbroken")
	b.eventually(func() bool {
		return b.log.count(slog.LevelWarn, "keeping its last good version", "a.md", "triggers is missing") == 1
	})
	require.Equal(t, []string{"A", "B"}, ids(b.d.Catalog()))
	require.Equal(t, "a.md", (<-b.faults).File)

	// Others still change, and the broken one is not spoken of again.
	b.replace("b.md", strings.Replace(md("B"), "Prompt of", "New for", 1))
	b.promptBecomes("B", "New for B.")
	b.promptBecomes("A", "Prompt of A.")
	require.Equal(t, 1, b.log.count(slog.LevelWarn, "a.md"))

	// A half-written file becomes whole.
	b.replace("a.md", strings.Replace(md("A"), "Prompt of", "Whole", 1))
	b.promptBecomes("A", "Whole A.")

	// What is broken and then deleted goes.
	b.replace("a.md", "")
	b.eventually(func() bool { return b.log.count(slog.LevelWarn, "a.md", "the file is empty") == 1 })
	require.NoError(t, os.Remove(b.path("a.md")))
	b.becomes("B")
}

func TestWatchOfAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A"), "b.md": md("B")}), nil)
	require.NoError(t, os.Remove(b.path("a.md")))
	require.NoError(t, os.Symlink(b.path("nowhere"), b.path("a.md")))
	b.write("c.md", md("C"))
	b.eventually(func() bool { return slices.Contains(ids(b.d.Catalog()), "C") })
	b.eventually(func() bool { return b.log.count(slog.LevelWarn, "a.md", "reading the file") == 1 })
}

func TestWatchOfTwoFilesWithOneID(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("X", "name: early")}), nil)
	b.write("b.md", md("x", "name: late"))
	b.becomes("x")
	require.Equal(t, 1, b.log.count(slog.LevelWarn, "a.md", "also the id of b.md"))
	require.NoError(t, os.Remove(b.path("b.md")))
	b.becomes("X")
}

func TestWatchMakesNoCatalogueWhenNothingChanges(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A")}), nil)
	before := b.d.Catalog()
	b.write("notes.txt", "nothing of interest")
	b.replace("a.md", md("A")+"\n\n")
	require.NoError(t, os.Chtimes(b.path("a.md"), time.Now(), time.Now()))
	b.write("bad.md", "broken")
	// By the time the warning is out the others were read as well.
	b.eventually(func() bool { return b.log.count(slog.LevelWarn, "bad.md") == 1 })
	require.Same(t, before, b.d.Catalog())
	require.Empty(t, b.changes)
}

func TestWatchGathersManyEdits(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, nil), nil)
	want := []string{}
	for i := range 100 {
		id := fmt.Sprintf("I%02d", i)
		want = append(want, id)
		b.write(id+".md", md(id))
	}
	b.becomes(want...)
	require.Less(t, len(b.changes), 20)
}

func TestWatchOfADirectoryThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"removed", "moved away", "replaced"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := watching(t, directoryOf(t, map[string]string{"a.md": md("A")}), nil)
			switch how {
			case "removed":
				require.NoError(t, os.Rename(b.dir, b.dir+".old"))
				require.NoError(t, os.RemoveAll(b.dir+".old"))
			case "moved away":
				require.NoError(t, os.Rename(b.dir, b.dir+".old"))
			}
			if how != "replaced" {
				b.eventually(func() bool { return b.log.count(slog.LevelWarn, "directory unreadable") == 1 })
				require.Equal(t, []string{"A"}, ids(b.d.Catalog()), "what was there stays")
				require.NoError(t, os.Mkdir(b.dir, 0o750))
			} else {
				require.NoError(t, os.Mkdir(b.dir+".new", 0o750))
				require.NoError(t, os.Rename(b.dir, b.dir+".old"))
				require.NoError(t, os.Rename(b.dir+".new", b.dir))
			}
			b.write("b.md", md("B"))
			b.becomes("B")
			b.write("c.md", md("C"))
			b.becomes("B", "C")
		})
	}
}

func TestWatchOfALinkThatMoves(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, id := range []string{"A", "B"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, id), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(root, id, "x.md"), []byte(md(id)), 0o600))
	}
	link := filepath.Join(root, "intents")
	require.NoError(t, os.Symlink(filepath.Join(root, "A"), link))
	b := watching(t, link, nil)
	require.NoError(t, os.Symlink(filepath.Join(root, "B"), link+".new"))
	require.NoError(t, os.Rename(link+".new", link))
	b.becomes("B")
	b.write("y.md", md("Y"))
	b.becomes("B", "Y")
}

func TestWatchOfAMountedConfiguration(t *testing.T) {
	t.Parallel()
	dir := directoryOf(t, nil)
	for _, id := range []string{"A", "B"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "..rev"+id), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "..rev"+id, "x.md"), []byte(md(id)), 0o600))
	}
	require.NoError(t, os.Symlink("..revA", filepath.Join(dir, "..data")))
	require.NoError(t, os.Symlink("..data/x.md", filepath.Join(dir, "x.md")))
	b := watching(t, dir, nil)
	require.Equal(t, []string{"A"}, ids(b.d.Catalog()))
	require.NoError(t, os.Symlink("..revB", filepath.Join(dir, "..tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	b.becomes("B")
}

// TestWatchPolls moves the parent away, of which no notification tells.
func TestWatchPolls(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "parent", "intents")
	require.NoError(t, os.MkdirAll(dir, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte(md("A")), 0o600))
	b := watching(t, dir, func(d *Directory) { d.poll = 20 * time.Millisecond })
	require.NoError(t, os.Rename(filepath.Join(root, "parent"), filepath.Join(root, "old")))
	b.eventually(func() bool { return b.log.count(slog.LevelWarn, "directory unreadable") >= 1 })
	require.NoError(t, os.MkdirAll(dir, 0o750))
	b.write("b.md", md("B"))
	b.becomes("B")
}

func TestCatalogWhileItIsReloaded(t *testing.T) {
	t.Parallel()
	b := watching(t, directoryOf(t, map[string]string{"a.md": md("A")}), nil)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c := b.d.Catalog()
					for _, in := range c.Enabled() {
						if _, ok := c.Lookup(in.ID); !ok {
							t.Error("a catalogue that does not know its own intent")
							return
						}
					}
				}
			}
		})
	}
	for i := range 3 {
		b.write("b.md", md(fmt.Sprint("B", i)))
		b.becomes("A", fmt.Sprint("B", i))
	}
	close(stop)
	wg.Wait()
}
