package intents

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func md(id string, more ...string) string {
	return "---\nid: " + id + "\n" + strings.Join(append(more, "triggers: [when "+id+"]", "examples: [say "+id+"]", "---", "Prompt of "+id+"."), "\n")
}

func mapFS(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func ids(c *Catalog) []string {
	out := []string{}
	for _, in := range c.Enabled() {
		out = append(out, in.ID)
	}
	return out
}

func strs(faults []Fault) []string {
	out := []string{}
	for _, f := range faults {
		out = append(out, []string{"notice", "warning", "error"}[f.Severity]+" "+f.Error())
	}
	return out
}

func TestLoadSkipsInvalidFiles(t *testing.T) {
	t.Parallel()
	files, faults, err := Load(mapFS(map[string]string{
		"b.md":       md("B"),
		"a.md":       md("A"),
		"README.md":  "# Our intents\n",
		"broken.md":  "---\nid: Q\n---\n",
		"off.md":     md("OFF", "enabled: false"),
		".#a.md":     "junk",
		"#a.md":      "junk",
		"~a.md":      "junk",
		".hidden.md": md("HIDDEN"),
		"a.md~":      "junk",
		"a.md.swp":   "junk",
		"notes.txt":  "junk",
		"sub/c.md":   md("C"),
		"dir.md/x":   "junk",
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"A", "B"}, ids(CatalogOf(files)))
	require.Equal(t, []string{
		"error README.md:1: no front matter: the first line must be ---",
		"error broken.md:1: triggers is missing",
		"notice broken.md:3: no prompt after the front matter",
	}, strs(faults))
}

func TestLoadOfTwoFilesWithOneIDTheLaterNameWins(t *testing.T) {
	t.Parallel()
	files, faults, err := Load(mapFS(map[string]string{
		"1.md": md("Same", "name: first"),
		"2.md": md("SAME", "name: second"),
		"3.md": md("same", "name: third"),
	}))
	require.NoError(t, err)
	in, ok := CatalogOf(files).Lookup("SAME")
	require.True(t, ok)
	require.Equal(t, "third", in.Name)
	require.Equal(t, []string{
		"warning 1.md:2: id Same is also the id of 3.md, which overrides this file",
		"warning 2.md:2: id SAME is also the id of 3.md, which overrides this file",
	}, strs(faults))
}

func TestLoadOfALaterFileThatIsDisabled(t *testing.T) {
	t.Parallel()
	files, _, err := Load(mapFS(map[string]string{"1.md": md("X"), "2.md": md("X", "enabled: false")}))
	require.NoError(t, err)
	require.Empty(t, ids(CatalogOf(files)))
}

func TestLoadOfAFileNameThatIsAnotherFilesID(t *testing.T) {
	t.Parallel()
	files, faults, err := Load(mapFS(map[string]string{
		"a-b.md": "---\ntriggers: [t]\n---\nfirst",
		"c.md":   md("A_B"),
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"A_B"}, ids(CatalogOf(files)))
	require.Equal(t, []string{"warning a-b.md:1: id A_B is also the id of c.md, which overrides this file"}, strs(faults))
}

func TestLoadReplacesTheFallback(t *testing.T) {
	t.Parallel()
	files, _, err := Load(mapFS(map[string]string{"o.md": md("other", "name: Whatever")}))
	require.NoError(t, err)
	c := CatalogOf(files)
	require.Empty(t, c.Enabled())
	require.Equal(t, FallbackID, c.Fallback().ID)
	require.Equal(t, "Whatever", c.Fallback().Name)
}

func TestLoadKeepsTheBuiltInFallbackWhenOtherIsDisabled(t *testing.T) {
	t.Parallel()
	files, _, err := Load(mapFS(map[string]string{"o.md": md("OTHER", "enabled: false", "name: Mine")}))
	require.NoError(t, err)
	require.Equal(t, Bundled().Fallback(), CatalogOf(files).Fallback())
}

func TestLoadOfADirectoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, _, err := Load(os.DirFS(filepath.Join(t.TempDir(), "none")))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLoadOfWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte(md("A")), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "dangling.md")))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "loop.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "huge.md"), make([]byte, maxFileBytes+1), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")))
	files, faults, err := Load(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, []string{"A"}, ids(CatalogOf(files)))
	require.Equal(t, []string{
		"warning a.md:2: id A is also the id of b.md, which overrides this file",
		"error dangling.md:1: reading the file: no such file or directory",
		"error huge.md:1: the file is larger than 1048576 bytes",
		"error loop.md:1: not a regular file",
		"error pipe.md:1: not a regular file",
	}, strs(faults))
}

func TestLint(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		files map[string]string
		want  []string
		fails bool
	}{
		"clean": {map[string]string{"a.md": md("A"), "b.md": md("B")}, []string{}, false},
		"nothing there": {
			map[string]string{},
			[]string{"notice .:1: no intent files (*.md)"},
			false,
		},
		"one id twice": {
			map[string]string{"a.md": md("A", "name: x"), "b.md": strings.Replace(md("a"), "say a", "do a", 1)},
			[]string{"error a.md:2: id A is also the id of b.md, which overrides this file"},
			true,
		},
		"keywords outside of fastpath": {
			map[string]string{"a.md": md("A", "keywords: [x]")},
			[]string{"warning a.md:3: keywords stands outside of fastpath and is read as fastpath.keywords"},
			false,
		},
		"an id with a space": {
			map[string]string{"a.md": md("lower case")},
			[]string{`error a.md:2: id "lower case" must not contain ' '`},
			true,
		},
		"one example twice": {
			map[string]string{"a.md": md("A"), "b.md": strings.Replace(md("B"), "[say B]", "\n  - x\n  - Say  a", 1)},
			[]string{`notice b.md:6: the example "Say  a" is already at a.md:4`},
			false,
		},
		"directories with names of files": {
			map[string]string{"a.md": md("A"), "a.examples.txt/x": "x", "b.md/x": "x", ".c.md/x": "x", "d/x": "x"},
			[]string{
				"warning a.examples.txt:1: this is a directory, and what is in it is not used",
				"warning b.md:1: this is a directory, and what is in it is not used",
			},
			false,
		},
		"a file that does not hold, in order of lines": {
			map[string]string{"a.md": md("A"), "b.md": "---\nid: 1\ntriggers: 2\nexamples: []\n---\n"},
			[]string{
				"error b.md:2: id must be a string, not a number; put it in quotes",
				"error b.md:3: triggers must be a list of strings, not a number",
				"notice b.md:5: no prompt after the front matter",
			},
			true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := Lint(mapFS(c.files))
			require.Equal(t, c.want, strs(faults))
			require.Equal(t, c.fails, HasErrors(faults))
		})
	}
	faults := Lint(os.DirFS(filepath.Join(t.TempDir(), "none")))
	require.True(t, HasErrors(faults))
}
