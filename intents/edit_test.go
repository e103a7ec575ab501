package intents

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendExamples(t *testing.T) {
	t.Parallel()
	const body = "---\nBody: [stays]\n- as it is\n"
	for name, tc := range map[string]struct{ in, out string }{
		"a list of lines": {
			"---\nid: X\ntriggers:\n  - t\nexamples:\n  - one\n" + body,
			"---\nid: X\ntriggers:\n  - t\nexamples:\n  - one\n  - new words\n  - 'it''s: new'\n" + body,
		},
		"a list that is not indented, and a field after it": {
			"---\nid: X\nexamples:\n- one\n- \"two\"\n\n# about the triggers\ntriggers:\n- t\n" + body,
			"---\nid: X\nexamples:\n- one\n- \"two\"\n- new words\n- 'it''s: new'\n\n# about the triggers\ntriggers:\n- t\n" + body,
		},
		"comments within and after the list": {
			"---\nid: X # the id\ntriggers: [t]\nexamples: # what people say\n    # first\n    - one # 1\n    # - two\n" + body,
			"---\nid: X # the id\ntriggers: [t]\nexamples: # what people say\n    # first\n    - one # 1\n    - new words\n    - 'it''s: new'\n    # - two\n" + body,
		},
		"a last example of several lines": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - one\n  - two\n    goes on\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples:\n  - one\n  - two\n    goes on\n  - new words\n  - 'it''s: new'\n" + body,
		},
		"a last example that is a block with what looks like a comment": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - |\n    one\n    # two\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples:\n  - |\n    one\n    # two\n  - new words\n  - 'it''s: new'\n" + body,
		},
		"a flow list": {
			"---\nid: X\ntriggers: [t]\nexamples: [one, \"t]wo\"] # few\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: [one, \"t]wo\", 'new words', 'it''s: new'] # few\n" + body,
		},
		"a flow list with spaces": {
			"---\nid: X\nexamples: [ one ]\ntriggers: [ t ]\n" + body,
			"---\nid: X\nexamples: [ one, 'new words', 'it''s: new' ]\ntriggers: [ t ]\n" + body,
		},
		"an empty flow list": {
			"---\nid: X\ntriggers: [t]\nexamples: []\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: ['new words', 'it''s: new']\n" + body,
		},
		"a flow list of many lines": {
			"---\nid: X\ntriggers: [t]\nexamples: [\n  one,\n  two\n]\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: [\n  one,\n  two,\n  'new words',\n  'it''s: new'\n]\n" + body,
		},
		"a flow list of many lines that ends with a comma": {
			"---\nid: X\ntriggers: [t]\nexamples: [\n    one,\n  ]\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: [\n    one,\n    'new words',\n    'it''s: new',\n  ]\n" + body,
		},
		"a flow list of many lines whose last one has a comment": {
			"---\nid: X\ntriggers: [t]\nexamples: [\n  one # 1\n]\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: [\n  one # 1\n, 'new words', 'it''s: new']\n" + body,
		},
		"no examples": {
			"---\nid: X\ntriggers:\n- t\n# the end\n" + body,
			"---\nid: X\ntriggers:\n- t\nexamples:\n- new words\n- 'it''s: new'\n# the end\n" + body,
		},
		"no examples, indented": {
			"---\n  id: X\n  triggers: [t]\n" + body,
			"---\n  id: X\n  triggers: [t]\n  examples:\n    - new words\n    - 'it''s: new'\n" + body,
		},
		"examples without a value": {
			"---\nid: X\nexamples: # none yet\ntriggers: [t]\n" + body,
			"---\nid: X\nexamples: # none yet\n  - new words\n  - 'it''s: new'\ntriggers: [t]\n" + body,
		},
		"fields in braces": {
			"---\n{id: X, examples: [one], triggers: [t]}\n" + body,
			"---\n{id: X, examples: [one, 'new words', 'it''s: new'], triggers: [t]}\n" + body,
		},
		"fields in braces without examples": {
			"---\n{id: X, triggers: [t]}\n" + body,
			"---\n{id: X, triggers: [t], examples: ['new words', 'it''s: new']}\n" + body,
		},
		"an anchor": {
			"---\nid: X\ntriggers: [t]\nexamples: &all\n  - one\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: &all\n  - one\n  - new words\n  - 'it''s: new'\n" + body,
		},
		"carriage returns, a byte order mark and no end of line": {
			"\ufeff---\r\nid: X\r\ntriggers: [t]\r\nexamples:\r\n  - one\r\n---\r\nbody\r\nend",
			"\ufeff---\r\nid: X\r\ntriggers: [t]\r\nexamples:\r\n  - one\r\n  - new words\r\n  - 'it''s: new'\r\n---\r\nbody\r\nend",
		},
		"old carriage returns": {
			"---\rid: X\rtriggers: [t]\rexamples:\r  - one\r---\rbody",
			"---\rid: X\rtriggers: [t]\rexamples:\r  - one\r  - new words\r  - 'it''s: new'\r---\rbody",
		},
		"no body": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - one\n---",
			"---\nid: X\ntriggers: [t]\nexamples:\n  - one\n  - new words\n  - 'it''s: new'\n---",
		},
		"other scripts": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - 一\n  - 'два: 2'\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples:\n  - 一\n  - 'два: 2'\n  - new words\n  - 'it''s: new'\n" + body,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := AppendExamples([]byte(tc.in), []string{"new words", "it's: new"})
			require.NoError(t, err)
			require.Equal(t, tc.out, string(got))
		})
	}
}

func TestAppendExamplesRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in       string
		examples []string
		err      string
	}{
		"a broken file":           {"---\nid: X\n---\n", []string{"a"}, "line 1: triggers is missing"},
		"a list that is an alias": {"---\nid: X\ntriggers: &t\n  - t\nexamples: *t\n---\n", []string{"a"}, errUneditable.Error()},
		"a list that an alias repeats": {
			"---\nid: X\nexamples: &e\n  - t\ntriggers: *e\n---\n", []string{"a"}, errUneditable.Error(),
		},
		"a null in words": {"---\nid: X\ntriggers: [t]\nexamples: null\n---\n", []string{"a"}, errUneditable.Error()},
		"two lines":       {good, []string{"a\nb"}, "is not one line"},
		"white space":     {good, []string{"a "}, "is not one line"},
		"nothing":         {good, []string{""}, "is not one line"},
		"too much":        {good, []string{strings.Repeat("a", maxFrontMatterBytes)}, errUneditable.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := AppendExamples([]byte(tc.in), tc.examples)
			require.ErrorContains(t, err, tc.err)
			require.Nil(t, got)
		})
	}
	got, err := AppendExamples([]byte(good), nil)
	require.NoError(t, err)
	require.Equal(t, good, string(got))
}

// oddities are texts that are not strings, or not themselves, in YAML without
// quotes.
var oddities = []string{
	"null", "true", "Yes", "~", "12", "1e3", "0x1F", ".inf", "2026-01-01", "- a", "? a", "a: b", "a:", ": a", "a #b", "#a",
	"[a", "a]", "{a}", "a, b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "'", "\"", "''", "'a' b", "\"a\"", "---", "...",
	"a\\nb", "it's", "“q”", "提醒我：九點", "👍🏽", "<<", "=", "a\u00a0b",
}

func TestAppendedExamplesParseBack(t *testing.T) {
	t.Parallel()
	for _, front := range []string{"triggers: [t]\n", "triggers: [t]\nexamples:\n  - one\n", "triggers: [t]\nexamples: [one]\n"} {
		for _, odd := range oddities {
			data := []byte("---\nid: X\n" + front + "---\nbody\n")
			before, _ := Parse("", data)
			got, err := AppendExamples(data, []string{odd})
			require.NoError(t, err, odd)
			after, faults := Parse("", got)
			require.Empty(t, faults)
			require.Equal(t, append(before.Intent.Examples, odd), after.Intent.Examples)
		}
	}
}

func TestBundledFilesCanBeExtended(t *testing.T) {
	t.Parallel()
	names, err := fileNames(BundledFS())
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		data, err := fs.ReadFile(BundledFS(), name)
		require.NoError(t, err)
		got, err := AppendExamples(data, []string{"one more"})
		require.NoError(t, err, name)
		require.Len(t, got, len(data)+len("  - one more\n"), name)
	}
}

func FuzzAppendExamples(f *testing.F) {
	f.Add([]byte(good), "new", "it's: new")
	f.Add([]byte("\ufeff---\r\nid: X\r\ntriggers: [t]\r\n---\r\nb"), "- a", "#")
	f.Add([]byte("---\n{id: X, triggers: [t], examples: [a]}\n---\n"), "]", "}")
	f.Add([]byte("---\nid: X\ntriggers: [t]\nexamples: [\n a, # ]\n]\n---\n"), "a", "b")
	f.Add([]byte("---\nid: X\ntriggers: [t]\nexamples:\n- |\n  a\n  # b\n\n# c\nname: n\n---\n"), "a", "b")
	f.Fuzz(func(t *testing.T, data []byte, one, two string) {
		before, faults := Parse("x.md", data)
		got, err := AppendExamples(data, []string{one, two})
		if err != nil {
			return
		}
		require.False(t, HasErrors(faults))
		after, found := Parse("x.md", got)
		require.Len(t, found, len(faults))
		want := before.Intent
		want.Examples = slices.Concat(want.Examples, []string{one, two})
		require.Equal(t, want, after.Intent)
		require.Equal(t, before.Enabled, after.Enabled)

		// One run of bytes was put in, before the closing fence.
		head, tail := 0, 0
		for head < len(data) && got[head] == data[head] {
			head++
		}
		for tail < len(data) && got[len(got)-1-tail] == data[len(data)-1-tail] {
			tail++
		}
		require.GreaterOrEqual(t, head+tail, len(data))
		p := fileParser{}
		p.parse(data)
		require.True(t, bytes.HasSuffix(got, data[lineStarts(data)[p.closing-1]:]))
	})
}

func TestRemoveExample(t *testing.T) {
	t.Parallel()
	const body = "---\nBody: [stays]\n"
	for name, tc := range map[string]struct{ in, out string }{
		"of a list of lines": {
			"---\nid: X\ntriggers:\n  - t\nexamples:\n  - one\n  - 'it''s: old' # why\n  # about three\n  - three\n" + body,
			"---\nid: X\ntriggers:\n  - t\nexamples:\n  - one\n  # about three\n  - three\n" + body,
		},
		"the last of a list": {
			"---\nid: X\nexamples:\n- one\n- \"it's: old\"\n\n# about the triggers\ntriggers:\n- t\n" + body,
			"---\nid: X\nexamples:\n- one\n\n# about the triggers\ntriggers:\n- t\n" + body,
		},
		"the only one": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - \"it's:\n    old\"\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples:\n" + body,
		},
		"a block": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - |\n    it's: old\n\n  - one\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples:\n\n  - one\n" + body,
		},
		"the first of two": {
			"---\nid: X\ntriggers: [t]\nexamples:\n  - 'it''s: old'\n  - one\n  - \"it's: old\"\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples:\n  - one\n  - \"it's: old\"\n" + body,
		},
		"of a list in brackets": {
			"---\nid: X\ntriggers: [t]\nexamples: [one, 'it''s: old', \"t]wo\"] # few\n" + body,
			"---\nid: X\ntriggers: [t]\nexamples: ['one', 't]wo'] # few\n" + body,
		},
		"of a list in brackets over several lines": {
			"---\nid: X\nexamples: [\n  one,\n  'it''s: old'\n]\ntriggers: [t]\n" + body,
			"---\nid: X\nexamples: ['one']\ntriggers: [t]\n" + body,
		},
		"with carriage returns": {
			"---\r\nid: X\r\ntriggers: [t]\r\nexamples:\r\n  - one\r\n  - 'it''s: old'\r\n" + body,
			"---\r\nid: X\r\ntriggers: [t]\r\nexamples:\r\n  - one\r\n" + body,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := RemoveExample([]byte(tc.in), "it's: old")
			require.NoError(t, err)
			require.Equal(t, tc.out, string(got))
		})
	}
	_, err := RemoveExample([]byte(good), "never said")
	require.ErrorIs(t, err, errNotInFile)
	_, err = RemoveExample([]byte("---\nid: X\nexamples: &e\n  - t\n  - u\ntriggers: *e\n---\nb\n"), "u")
	require.ErrorIs(t, err, errUneditable, "an alias repeats the list")
	_, err = RemoveExample([]byte("---\nid: X\n---\n"), "u")
	require.ErrorContains(t, err, "triggers is missing")
}

func TestReplaceTrigger(t *testing.T) {
	t.Parallel()
	const body = "---\nbody\n"
	for name, tc := range map[string]struct{ in, out string }{
		"a line":     {"---\nid: X\ntriggers:\n  - one\n  - old\n" + body, "---\nid: X\ntriggers:\n  - one\n  - 'new: narrower'\n" + body},
		"brackets":   {"---\nid: X\ntriggers: [old] # few\n" + body, "---\nid: X\ntriggers: ['new: narrower'] # few\n" + body},
		"over lines": {"---\nid: X\ntriggers:\n- >\n  old\n\nexamples:\n- a\n" + body, "---\nid: X\ntriggers:\n- 'new: narrower'\n\nexamples:\n- a\n" + body},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReplaceTrigger([]byte(tc.in), "old", "new: narrower")
			require.NoError(t, err)
			require.Equal(t, tc.out, string(got))
		})
	}
	_, err := ReplaceTrigger([]byte(good), "never", "new")
	require.ErrorIs(t, err, errNotInFile)
	_, err = ReplaceTrigger([]byte(good), "t", " ")
	require.ErrorContains(t, err, "is not one line")
}

func TestNewFile(t *testing.T) {
	t.Parallel()
	in := Intent{ID: "HOME.GARDEN", Name: "Home: Garden", Triggers: append([]string{"The user gardens."}, "null"), Examples: slices.Clone(oddities), Prompt: "One.\n\n- two"}
	in.Examples = slices.DeleteFunc(in.Examples, func(s string) bool { return strings.TrimSpace(s) != s })
	data, err := NewFile(in)
	require.NoError(t, err)
	file, faults := Parse("home-garden.md", data)
	require.Empty(t, faults)
	in.File = "home-garden.md"
	require.Equal(t, in, file.Intent)
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
