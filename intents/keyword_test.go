package intents

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeyword(t *testing.T) {
	c := NewCatalog([]Intent{
		{ID: "B_STOP", Fastpath: Fastpath{Keywords: []string{"Stop", "止めて", "  "}}},
		{ID: "A_HALT", Fastpath: Fastpath{Keywords: []string{"halt", "stop"}}},
		{ID: "C_STREET", Fastpath: Fastpath{Keywords: []string{"große Straße"}}},
		{ID: "D_NONE"},
		{ID: "OTHER", Fastpath: Fastpath{Keywords: []string{"ok", "halt"}}},
	})
	for _, row := range []struct{ name, message, id string }{
		{"as it is", "halt", "A_HALT"},
		{"the first id of two", "stop", "A_HALT"},
		{"of the fallback", "OK", "OTHER"},
		{"without case", "HALT", "A_HALT"},
		{"with white space", " h a\tl\u3000t \n", "A_HALT"},
		{"in full width", "\uff28\uff21\uff2c\uff34", "A_HALT"},
		{"mathematical letters with blanks", "\U0001d421 \U0001d41a \U0001d425 \U0001d42d", "A_HALT"},
		{"no Latin letters", "止めて", "B_STOP"},
		{"folded letters", "GROSSE STRASSE", "C_STREET"},
		{"more than the keyword", "please halt", ""},
		{"a part of the keyword", "hal", ""},
		{"a blank message", " ", ""},
		{"a long message", strings.Repeat("halt ", 1000), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			in, ok := c.Keyword(row.message)
			require.Equal(t, row.id != "", ok)
			require.Equal(t, row.id, in.ID)
		})
	}
	narrow := c.Without([]string{"A_*"})
	in, ok := narrow.Keyword("stop")
	require.True(t, ok)
	require.Equal(t, "B_STOP", in.ID)
	in, ok = narrow.Keyword("halt")
	require.True(t, ok)
	require.Equal(t, "OTHER", in.ID, "a denied intent has no fast path")
	_, ok = narrow.Keyword("große Strasse!")
	require.False(t, ok)
	_, ok = NewCatalog(nil).Keyword("")
	require.False(t, ok)
}

func TestKeywordOfTwoIntentsIsAWarning(t *testing.T) {
	file := func(id, keywords string) string {
		return "---\nid: " + id + "\ntriggers: [t]\nfastpath: {keywords: [" + keywords + "]}\n---\nBody.\n"
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a.md", file("STOP_ALL", "stop, halt"))
	write("b.md", file("PAUSE", `"Stop ", stop`))
	write("c.md", file("OTHER", "halt, ok"))
	write("d.md", "---\nid: OFF\nenabled: false\ntriggers: [t]\nfastpath: {keywords: [ok]}\n---\nBody.\n")
	want := []Fault{
		{File: "a.md", Line: 1, Severity: Warning, Reason: `keyword "stop" also belongs to PAUSE in b.md, which comes first by id and gets the message`},
		{File: "c.md", Line: 1, Severity: Warning, Reason: `keyword "halt" also belongs to STOP_ALL in a.md, which comes first by id and gets the message`},
	}
	_, faults, err := Load(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, want, faults)
	require.Subset(t, Lint(os.DirFS(dir)), want)

	var log bytes.Buffer
	d, err := OpenDirectory(dir, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(log.String(), "keyword of two intents"))
	require.Contains(t, log.String(), "PAUSE in b.md")

	log.Reset()
	write("e.md", file("ALSO", "halt"))
	d.refresh(t.Context(), look(dir), nil)
	require.Equal(t, 2, strings.Count(log.String(), "keyword of two intents"), "what is new: %s", log.String())
	log.Reset()
	write("e.md", file("ALSO", "go"))
	d.refresh(t.Context(), look(dir), nil)
	d.refresh(t.Context(), look(dir), nil)
	require.Equal(t, 1, strings.Count(log.String(), "keyword of two intents"), "what was so before e.md: %s", log.String())
}
