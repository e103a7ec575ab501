package intents

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// beside is the intent file of the tests, whose examples are partly in the file
// beside it.
const beside = "---\nid: A\ntriggers: [t]\nexamples:\n  - one\n  - Two\n---\nbody\n"

func TestExamplesBesideAnIntentFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lines  string
		want   []string // after one, Two
		faults []string
	}{
		"one a line":                  {"three\nfour: 4\n- five\n", []string{"three", "four: 4", "- five"}, []string{`notice a.examples.txt:3: the line begins with "- ", which counts as part of the example`}},
		"no end of the last line":     {"three\nfour", []string{"three", "four"}, nil},
		"blank lines and white space": {"\n  three \t\n\u3000\n\n四\u00a0\n", []string{"three", "四"}, nil},
		"comments":                    {"# about three\nthree # 3\n  # indented\n#four\n", []string{"three # 3"}, nil},
		"texts that begin with #":     {"\\#three\n\\\\#four\n\\five\n  \\# six\n", []string{"#three", "\\#four", "\\five", "# six"}, nil},
		"carriage returns":            {"three\r\n# c\r\nfour\rfive", []string{"three", "four", "five"}, nil},
		"a byte order mark":           {"\ufeff# c\nthree", []string{"three"}, nil},
		"an empty file":               {"", nil, nil},
		"what there is already": {"two\nthree\nONE\nThree \n", []string{"three"}, []string{
			`notice a.examples.txt:1: the example "two" is already at a.md:6`,
			`notice a.examples.txt:3: the example "ONE" is already at a.md:5`,
			`notice a.examples.txt:4: the example "Three" is already at a.examples.txt:2`,
		}},
		"a very long line": {
			strings.Repeat("three ", 60) + "\n" + strings.Repeat("四", longExample),
			[]string{strings.TrimSpace(strings.Repeat("three ", 60)), strings.Repeat("四", longExample)},
			[]string{"warning a.examples.txt:1: the line has 359 characters; one example stands on one line, and of more than 320 only the beginning and the end count"},
		},
		"what is no UTF-8":          {"three\nf\xffour\n", nil, []string{"error a.examples.txt:2: the file is not valid UTF-8"}},
		"UTF-16":                    {"\xff\xfet\x00", nil, []string{"error a.examples.txt:1: the file is UTF-16; it must be UTF-8"}},
		"a NUL":                     {"three\n\n\x00", nil, []string{"error a.examples.txt:3: the file contains a NUL character"}},
		"more than a file may have": {strings.Repeat("three\n", maxFileBytes/6+1), nil, []string{"error a.examples.txt:1: the file is larger than 1048576 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := mapFS(map[string]string{"a.md": beside, "a.examples.txt": tc.lines})
			files, faults, err := Load(fsys)
			require.NoError(t, err)
			require.Equal(t, append([]string{}, tc.faults...), strs(faults))
			require.Equal(t, append([]string{}, tc.faults...), strs(Lint(fsys)))
			require.Len(t, files, 1, "the intent is there without its examples")
			require.Equal(t, append([]string{"one", "Two"}, tc.want...), files[0].Intent.Examples)
			require.Equal(t, "a.md", files[0].Intent.File)
		})
	}
}

func TestExamplesOfOtherFiles(t *testing.T) {
	t.Parallel()
	fsys := mapFS(map[string]string{
		"a.md": beside, "b.md": md("B"), "b.examples.txt": "ONE\nmore\n", "c.examples.txt": "lost\n", "broken.md": "---\nid: X\n---\nbody",
		"broken.examples.txt": "x\n", ".a.examples.txt": "hidden\n", "#a.examples.txt": "hidden\n", "a.txt": "x", "d.examples.txt/x": "x",
	})
	files, faults, err := Load(fsys)
	require.NoError(t, err)
	require.Equal(t, []string{
		"error broken.md:1: triggers is missing",
		"warning c.examples.txt:1: there is no c.md beside it, so its examples are not used",
	}, strs(faults))
	require.Equal(t, []string{"one", "Two"}, files[0].Intent.Examples)
	require.Equal(t, []string{"say B", "ONE", "more"}, files[1].Intent.Examples)
	require.Contains(t, strs(Lint(fsys)), `notice b.examples.txt:1: the example "ONE" is already at a.md:5`, "an example of another intent")
	file, line := files[1].ExampleAt(2)
	require.Equal(t, place{"b.examples.txt", 2}, place{file, line})
	require.Equal(t, 3, files[0].TriggerAt(0))
}

func TestHostileFilesOfExamples(t *testing.T) {
	t.Parallel()
	dir := directoryOf(t, map[string]string{"a.md": md("A"), "b.md": md("B"), "c.md": md("C"), "real": "linked\n"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "a.examples.txt"), 0o600))
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "b.examples.txt")))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "c.examples.txt")))
	files, faults, err := Load(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, []string{
		"error a.examples.txt:1: not a regular file",
		"error b.examples.txt:1: reading the file: no such file or directory",
	}, strs(faults))
	require.Equal(t, []string{"say A"}, files[0].Intent.Examples)
	require.Equal(t, []string{"say C", "linked"}, files[2].Intent.Examples)

	log := &record{}
	d, err := OpenDirectory(dir, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	require.Equal(t, []string{"A", "B", "C"}, ids(d.Catalog()))
	require.Equal(t, 1, log.count(slog.LevelWarn, "intent file skipped", "a.examples.txt", "not a regular file"))
	require.Equal(t, 1, log.count(slog.LevelWarn, "intent file skipped", "b.examples.txt", "no such file"))
}

func TestWatchFollowsExamples(t *testing.T) {
	t.Parallel()
	dir := directoryOf(t, map[string]string{"a.md": md("A"), "lost.examples.txt": "x\n"})
	b := watching(t, dir, nil)
	b.eventually(func() bool {
		return b.log.count(slog.LevelWarn, "examples file without an intent file", "lost.examples.txt") == 1
	})
	examples := func(want ...string) {
		t.Helper()
		b.eventually(func() bool {
			in, ok := b.d.Catalog().Lookup("A")
			return ok && slices.Equal(want, in.Examples)
		})
	}
	examples("say A")
	b.write("a.examples.txt", "two\n")
	examples("say A", "two")
	b.replace("a.examples.txt", "two\nthree\n")
	examples("say A", "two", "three")
	// A broken edit of either file keeps the last good version of that file only.
	b.replace("a.examples.txt", "t\xffo\n")
	b.eventually(func() bool {
		return b.log.count(slog.LevelWarn, "keeping its last good version", "a.examples.txt", "line=1") == 1
	})
	require.Equal(t, "a.examples.txt", (<-b.faults).File)
	b.replace("a.md", strings.Replace(md("A"), "say A", "say more", 1))
	examples("say more", "two", "three")
	b.replace("a.md", "broken")
	b.replace("a.examples.txt", "four\n")
	examples("say more", "four")
	require.NoError(t, os.Remove(b.path("a.examples.txt")))
	examples("say more")
	require.NoError(t, os.Remove(b.path("a.md")))
	b.becomes()
	require.Equal(t, 1, b.log.count(slog.LevelWarn, "examples file without an intent file"), "said once")
}

func TestAppendExamples(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, out string }{
		"a new file":              {"", "new words\n\\#tag: it's new\n"},
		"lines and a comment":     {"# mine\none\n\n", "# mine\none\n\nnew words\n\\#tag: it's new\n"},
		"no end of the last line": {"one", "one\nnew words\n\\#tag: it's new\n"},
		"carriage returns":        {"\ufeffone\r\ntwo", "\ufeffone\r\ntwo\r\nnew words\r\n\\#tag: it's new\r\n"},
		"old carriage returns":    {"one\rtwo\r", "one\rtwo\rnew words\n\\#tag: it's new\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := []byte(tc.in)
			got, err := AppendExamples(in, []string{"new words", "#tag: it's new"})
			require.NoError(t, err)
			require.Equal(t, tc.out, string(got))
			require.Equal(t, tc.in, string(in))
		})
	}
	for name, tc := range map[string]struct {
		in       string
		examples []string
		err      string
	}{
		"a broken file":                      {"one\n\xff", []string{"a"}, "line 2: the file is not valid UTF-8"},
		"two lines":                          {"", []string{"a\nb"}, "is not one line"},
		"white space":                        {"", []string{"a "}, "is not one line"},
		"nothing":                            {"", []string{""}, "is not one line"},
		"too much":                           {"", []string{strings.Repeat("a", maxFileBytes)}, "the file is larger than"},
		"a byte order mark in an empty file": {"", []string{"\ufeffa"}, "cannot be written as lines"},
		"no UTF-8":                           {"", []string{"\xff"}, "is not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := AppendExamples([]byte(tc.in), tc.examples)
			require.ErrorContains(t, err, tc.err)
			require.Nil(t, got)
		})
	}
	got, err := AppendExamples([]byte("as it is"), nil)
	require.NoError(t, err)
	require.Equal(t, "as it is", string(got))
}

// oddities are texts that are not strings, or not themselves, in YAML without
// quotes.
var oddities = []string{
	"null", "true", "Yes", "~", "12", "1e3", "0x1F", ".inf", "2026-01-01", "- a", "? a", "a: b", "a:", ": a", "a #b", "#a",
	"[a", "a]", "{a}", "a, b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "'", "\"", "''", "'a' b", "\"a\"", "---", "...",
	"a\\nb", "\\", "\\#", "\\\\#a", "\\a", "it's", "“q”", "提醒我：九點", "👍🏽", "<<", "=", "a\u00a0b",
}

func TestAppendedExamplesParseBack(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "one\n", "# c"} {
		got, err := AppendExamples([]byte(before), oddities)
		require.NoError(t, err)
		after, faults := parse("a.examples.txt", got)
		require.False(t, HasErrors(faults))
		require.Equal(t, oddities, after.Intent.Examples[len(after.Intent.Examples)-len(oddities):])
	}
}

func FuzzAppendExamples(f *testing.F) {
	f.Add([]byte("one\n"), "new", "it's: new")
	f.Add([]byte("\ufeff# a\r\ntwo\r\n"), "- a", "#")
	f.Add([]byte("\\#a\n\\\\#b"), "\\", "\\#")
	f.Fuzz(func(t *testing.T, data []byte, one, two string) {
		before, _ := parse("x.examples.txt", data)
		got, err := AppendExamples(data, []string{one, two})
		if err != nil {
			return
		}
		require.True(t, bytes.HasPrefix(got, data))
		after, faults := parse("x.examples.txt", got)
		require.False(t, HasErrors(faults))
		require.Equal(t, append(before.Intent.Examples, one, two), after.Intent.Examples)
	})
}

func TestReadExamples(t *testing.T) {
	t.Parallel()
	fsys := mapFS(map[string]string{"a.examples.txt": "one\n", "b.examples.txt": "\x00", "c.examples.txt/x": ""})
	for name, want := range map[string]struct{ data, err string }{
		"a.examples.txt": {"one\n", ""},
		"b.examples.txt": {"", "b.examples.txt:1: the file contains a NUL character"},
		"c.examples.txt": {"", "c.examples.txt: not a regular file"},
		"d.examples.txt": {"", ""},
	} {
		data, err := ReadExamples(fsys, name)
		if want.err != "" {
			require.EqualError(t, err, want.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want.data, string(data))
		require.Equal(t, want.data == "", data == nil)
	}
}

func TestNewFile(t *testing.T) {
	t.Parallel()
	in := Intent{ID: "HOME.GARDEN", Name: "Home: Garden", Triggers: append([]string{"The user gardens."}, oddities...), Prompt: "One.\n\n- two"}
	data, err := NewFile(in)
	require.NoError(t, err)
	require.Equal(t, "home-garden.md", FileName(in.ID))
	file, faults := Parse("home-garden.md", data)
	require.Empty(t, faults)
	in.File = "home-garden.md"
	require.Equal(t, in, file.Intent)
	data, err = NewFile(Intent{ID: "GARDEN", Name: "Garden", Triggers: []string{"The user gardens."}, Prompt: "Help."})
	require.NoError(t, err)
	require.Equal(t, "---\nid: GARDEN\nname: 'Garden'\ntriggers:\n  - 'The user gardens.'\n---\nHelp.\n", string(data))
	for name, broken := range map[string]Intent{
		"no trigger":   {ID: "X", Name: "X", Prompt: "p"},
		"no prompt":    {ID: "X", Name: "X", Triggers: []string{"t"}},
		"a wrong id":   {ID: "X, Y", Name: "X", Triggers: []string{"t"}, Prompt: "p"},
		"no id":        {Name: "X", Triggers: []string{"t"}, Prompt: "p"},
		"two lines":    {ID: "X", Name: "X", Triggers: []string{"a\nb"}, Prompt: "p"},
		"white prompt": {ID: "X", Name: "X", Triggers: []string{"t"}, Prompt: " p"},
	} {
		_, err := NewFile(broken)
		require.Error(t, err, name)
	}
}

func TestBundledExamplesCanBeExtended(t *testing.T) {
	t.Parallel()
	files, _, err := Load(BundledFS())
	require.NoError(t, err)
	for _, f := range files {
		data, err := ReadExamples(BundledFS(), ExamplesName(f.Name))
		require.NoError(t, err)
		require.NotNil(t, data, f.Name)
		_, err = AppendExamples(data, []string{"one more"})
		require.NoError(t, err, f.Name)
		_, err = fs.Stat(BundledFS(), f.Name)
		require.NoError(t, err)
	}
}
