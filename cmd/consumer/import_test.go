package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/workbench"
)

// foreign are the intent files of another program.
var foreign = map[string]string{
	"memory-lookup.md": "---\ntriggers: [The user asks what was said.]\nexamples: [what did I say, when was that]\n---\nLook it up with skill: memory.\n",
	"old.md":           "---\nid: OLD\nname: Old one\nenabled: false\nkeywords: [old]\ntriggers: [t]\ncolour: red\n---\nBody.\n",
	"broken.md":        "---\nid: BROKEN\n---\nBody.\n",
	"a-twin.md":        "---\nid: TWIN\ntriggers: [t]\n---\nFirst.\n",
	"b-twin.md":        "---\nid: twin\ntriggers: [t]\n---\nSecond.\n",
	"notes.txt":        "no intent",
}

// importFrom runs the command in this process, with a directory of foreign files.
func importFrom(t *testing.T, into string, args ...string) (code int, stdout, stderr, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, data := range foreign {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	settings := map[string]string{}
	if into != "" {
		settings["HINT_INTENTS_DIR"] = into
	}
	env := settle(t, settings)
	var out, errs bytes.Buffer
	code = env.run(t.Context(), append([]string{"intents", "import", dir}, args...), &out, &errs)
	return code, out.String(), errs.String(), dir
}

// columns are the fields of each line of a table.
func columns(table string) (out []string) {
	for line := range strings.Lines(table) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

func TestImportShowsWhatADirectoryGives(t *testing.T) {
	t.Parallel()
	code, stdout, stderr, dir := importFrom(t, "", "--dry-run")
	require.Equal(t, exitFailed, code, "files are left out")
	require.Equal(t, []string{
		"FILE ID NAME EXAMPLES WARNINGS STATE REASON",
		"a-twin.md - - 0 0 unusable line 2: id TWIN is also the id of b-twin.md, which overrides this file",
		"b-twin.md twin Twin 0 0 new -",
		"broken.md - - 0 0 unusable line 1: triggers is missing",
		"memory-lookup.md MEMORY_LOOKUP Memory Lookup 2 0 new -",
		"old.md OLD Old one 0 2 new (disabled) -",
	}, columns(stdout))
	require.Contains(t, stderr, filepath.Join(dir, "broken.md")+":1: triggers is missing\n")
	require.Contains(t, stderr, filepath.Join(dir, "old.md")+":5: keywords stands outside of fastpath")
}

func TestImportCopies(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	code, _, stderr, _ := importFrom(t, into)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "nothing was changed: standard input is not a terminal, add --yes")
	require.Empty(t, content(t, os.DirFS(into)))

	code, _, stderr, _ = importFrom(t, into, "--yes")
	require.Equal(t, exitFailed, code, "files are left out")
	require.Contains(t, stderr, "3 files copied to "+into)
	want := map[string]string{}
	for _, name := range []string{"memory-lookup.md", "old.md", "b-twin.md"} {
		want[name] = foreign[name]
	}
	require.Equal(t, want, content(t, os.DirFS(into)))

	code, stdout, stderr, _ := importFrom(t, into, "--yes")
	require.Equal(t, exitFailed, code)
	require.Equal(t, 3, strings.Count(stdout, " same"))
	require.Contains(t, stderr, "nothing to copy")
	require.Equal(t, want, content(t, os.DirFS(into)))
}

func TestImportOverwritesNothingUnasked(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	own := map[string]string{
		"old.md":    "---\nid: OLD\ntriggers: [t]\n---\nMine.\n",
		"recall.md": "---\nid: memory_lookup\ntriggers: [t]\n---\nMine.\n",
	}
	for name, data := range own {
		require.NoError(t, os.WriteFile(filepath.Join(into, name), []byte(data), 0o600))
	}
	code, stdout, _, _ := importFrom(t, into, "--yes")
	require.Equal(t, exitFailed, code)
	require.Contains(t, columns(stdout), "old.md OLD Old one 0 2 differs (disabled) a file of this name has other content")
	require.Contains(t, columns(stdout), "memory-lookup.md MEMORY_LOOKUP Memory Lookup 2 0 taken recall.md has the id memory_lookup")
	now := content(t, os.DirFS(into))
	require.Equal(t, foreign["b-twin.md"], now["b-twin.md"])
	delete(now, "b-twin.md")
	require.Equal(t, own, now)

	_, _, stderr, _ := importFrom(t, into, "--yes", "--overwrite")
	require.Contains(t, stderr, "1 file copied")
	now = content(t, os.DirFS(into))
	require.Equal(t, foreign["old.md"], now["old.md"])
	require.Equal(t, own["recall.md"], now["recall.md"], "an id has one file")
}

func TestImportTakesExamplesAlong(t *testing.T) {
	t.Parallel()
	const file, lines = "---\nid: A\ntriggers: [t]\n---\nBody.\n", "one\ntwo\n"
	type dir = map[string]string
	for _, row := range []struct {
		name  string
		from  dir
		into  dir
		args  []string
		state string
		want  dir
		code  int
		err   string
	}{
		{"both are new", dir{"a.md": file, "a.examples.txt": lines}, dir{}, nil, "a.md A A 2 0 new -", dir{"a.md": file, "a.examples.txt": lines}, exitOK, "2 files copied"},
		{"the examples are new", dir{"a.md": file, "a.examples.txt": lines}, dir{"a.md": file}, nil, "a.md A A 2 0 new -", dir{"a.md": file, "a.examples.txt": lines}, exitOK, "1 file copied"},
		{"both are there", dir{"a.md": file, "a.examples.txt": lines}, dir{"a.md": file, "a.examples.txt": lines}, nil, "a.md A A 2 0 same -", dir{"a.md": file, "a.examples.txt": lines}, exitOK, "nothing to copy"},
		{"examples that only the target has", dir{"a.md": file}, dir{"a.md": file, "a.examples.txt": lines}, nil, "a.md A A 0 0 same -", dir{"a.md": file, "a.examples.txt": lines}, exitOK, "nothing to copy"},
		{"other examples", dir{"a.md": file, "a.examples.txt": lines}, dir{"a.examples.txt": "mine\n"}, nil, "a.md A A 2 0 differs a.examples.txt has other content", dir{"a.examples.txt": "mine\n"}, exitFailed, "nothing to copy"},
		{"other examples are overwritten", dir{"a.md": file, "a.examples.txt": lines}, dir{"a.md": file, "a.examples.txt": "mine\n"}, []string{"--overwrite"}, "a.md A A 2 0 overwrite -", dir{"a.md": file, "a.examples.txt": lines}, exitOK, "1 file copied"},
		{"broken examples", dir{"a.md": file, "a.examples.txt": "one\n\xff"}, dir{}, nil, "a.md A A 0 0 unusable a.examples.txt:2: the file is not valid UTF-8", dir{}, exitFailed, "a.examples.txt:2: the file is not valid UTF-8"},
		{"an example twice", dir{"a.md": file, "a.examples.txt": "one\nOne\n"}, dir{}, nil, "a.md A A 1 1 new -", dir{"a.md": file, "a.examples.txt": "one\nOne\n"}, exitOK, "a.examples.txt:2: the example"},
		{"examples alone", dir{"a.md": file, "b.examples.txt": lines}, dir{}, nil, "b.examples.txt - - 0 0 unusable line 1: there is no b.md beside it, so its examples are not used", dir{"a.md": file}, exitFailed, "1 file copied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			from, into := t.TempDir(), t.TempDir()
			for path, files := range map[string]dir{from: row.from, into: row.into} {
				for name, data := range files {
					require.NoError(t, os.WriteFile(filepath.Join(path, name), []byte(data), 0o600))
				}
			}
			env := settle(t, map[string]string{"HINT_INTENTS_DIR": into})
			var stdout, stderr bytes.Buffer
			code := env.run(t.Context(), append([]string{"intents", "import", from, "--yes"}, row.args...), &stdout, &stderr)
			require.Equal(t, row.code, code, stderr.String())
			require.Contains(t, columns(stdout.String()), row.state)
			require.Contains(t, stderr.String(), row.err)
			require.Equal(t, row.want, content(t, os.DirFS(into)))
		})
	}
}

func TestImportAsJSON(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	code, stdout, _, dir := importFrom(t, into, "--yes", "--json")
	require.Equal(t, exitFailed, code)
	var out workbench.Importing
	require.NoError(t, json.Unmarshal([]byte(stdout), &out))
	require.Equal(t, []string{dir, into}, []string{out.Dir, out.Into})
	require.Len(t, out.Copied, 3)
	require.Len(t, out.Files, 5)
	require.Equal(t, workbench.Imported{
		File: "memory-lookup.md", ID: "MEMORY_LOOKUP", Name: "Memory Lookup", Enabled: true, Examples: 2,
		Skills: []string{"memory"}, State: workbench.ImportNew, Warnings: []string{},
	}, out.Files[3])
	old := out.Files[4]
	require.Equal(t, 1, old.Keywords)
	require.Equal(t, []string{"line 5: keywords stands outside of fastpath and is read as fastpath.keywords", `line 7: the field "colour" is unknown and ignored`}, old.Warnings)
	require.Equal(t, "line 1: triggers is missing", out.Files[2].Reason)
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nowhere to copy to", []string{"intents", "import", apptest.WriteIntents(t), "--yes"}, exitUsage, "set HINT_INTENTS_DIR"},
		{"an empty directory", []string{"intents", "import", empty, "--dry-run"}, exitFailed, "no intent files (*.md) in " + empty},
		{"no directory", []string{"intents", "import", filepath.Join(empty, "x"), "--dry-run"}, exitFailed, "no such file or directory"},
		{"a question in JSON", []string{"intents", "import", empty, "--json"}, exitUsage, "--json never asks"},
		{"yes and no", []string{"intents", "import", empty, "--yes", "--dry-run"}, exitUsage, "cannot be used together"},
	} {
		t.Run(row.name, func(t *testing.T) {
			env := settle(t, nil)
			var stdout, stderr bytes.Buffer
			require.Equal(t, row.code, env.run(t.Context(), row.args, &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), row.want)
		})
	}
}
