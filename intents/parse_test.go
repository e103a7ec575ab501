package intents

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const good = "---\nid: A_B\nname: A and B\ntriggers:\n  - asks for b\nexamples:\n  - do b\n  - 做乙\n---\nBe kind.\n"

func TestParseReadsEveryField(t *testing.T) {
	t.Parallel()
	file, faults := Parse("a.md", []byte(good))
	require.Empty(t, faults)
	require.True(t, file.Enabled)
	require.Equal(t, "a.md", file.Name)
	require.Equal(t, Intent{
		ID: "A_B", Name: "A and B", Triggers: []string{"asks for b"},
		Examples: []string{"do b", "做乙"}, Prompt: "Be kind.", File: "a.md",
	}, file.Intent)
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		in    string
		check func(*testing.T, File)
	}{
		"name defaults to the id": {
			"---\nid: X\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, "X", f.Intent.Name) },
		},
		"blank name defaults to the id": {
			"---\nid: X\nname: '  '\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, "X", f.Intent.Name) },
		},
		"null stands for absent": {
			"---\nid: X\nname:\nenabled:\nexamples:\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, "X", f.Intent.Name)
				require.True(t, f.Enabled)
				require.Empty(t, f.Intent.Examples)
			},
		},
		"disabled": {
			"---\nid: X\nenabled: false\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) { require.False(t, f.Enabled) },
		},
		"a single field document is fields": {
			"---\n{id: X, triggers: [t]}\n---\n",
			func(t *testing.T, f File) { require.Equal(t, "X", f.Intent.ID) },
		},
		"carriage returns and a byte order mark": {
			"\ufeff---\r\nid: X\r\ntriggers:\r\n  - t\r\n---\r\none\r\ntwo\r\n",
			func(t *testing.T, f File) {
				require.Equal(t, []string{"t"}, f.Intent.Triggers)
				require.Equal(t, "one\ntwo", f.Intent.Prompt)
			},
		},
		"old Macintosh line ends": {
			"---\rid: X\rtriggers: [t]\r---\rone\rtwo",
			func(t *testing.T, f File) { require.Equal(t, "one\ntwo", f.Intent.Prompt) },
		},
		"a closing fence with blanks, at the end of the file": {
			"---  \nid: X\ntriggers: [t]\n---\t",
			func(t *testing.T, f File) { require.Empty(t, f.Intent.Prompt) },
		},
		"a rule in the body stays": {
			"---\nid: X\ntriggers: [t]\n---\none\n---\ntwo",
			func(t *testing.T, f File) { require.Equal(t, "one\n---\ntwo", f.Intent.Prompt) },
		},
		"unknown fields": {
			"---\nid: X\ntriggers: [t]\nauthor: {a: [1, 2]}\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, "X", f.Intent.ID) },
		},
		"blank items are left out": {
			"---\nid: X\ntriggers: ['', t, null]\nexamples:\n  -\n  - ' e '\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, []string{"t"}, f.Intent.Triggers)
				require.Equal(t, []string{"e"}, f.Intent.Examples)
			},
		},
		"quotes, blocks, tags and anchors": {
			"---\nid: 'X'\ntriggers:\n  - &t \"a: b\"\n  - |\n    one\n    two\n  - >-\n    folded\n    text\n  - !!str 42\nexamples:\n  - *t\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, []string{"a: b", "one\ntwo", "folded text", "42"}, f.Intent.Triggers)
				require.Equal(t, []string{"a: b"}, f.Intent.Examples)
			},
		},
		"an alias of a whole list": {
			"---\nid: X\ntriggers: &all [a, b]\nexamples: *all\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, []string{"a", "b"}, f.Intent.Examples) },
		},
		"words that YAML 1.1 took for booleans": {
			"---\nid: X\ntriggers: [yes, no, on]\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, []string{"yes", "no", "on"}, f.Intent.Triggers) },
		},
		"comments": {
			"---\n# about\nid: X # the id\ntriggers: # all\n  # first\n  - t # t\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, "X", f.Intent.ID)
				require.Equal(t, []string{"t"}, f.Intent.Triggers)
			},
		},
		"an id with every kind of mark": {
			"---\nid: a-B.c:D_9\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, "a-B.c:D_9", f.Intent.ID)
				require.Equal(t, "A B C D 9", f.Intent.Name)
			},
		},
		"a domain": {
			"---\nid: X\ndomain: ' Home & garden '\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, "Home & garden", f.Intent.Domain) },
		},
		"a null domain": {
			"---\nid: X\ndomain:\nfastpath:\nkeywords:\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) {
				require.Empty(t, f.Intent.Domain)
				require.Zero(t, f.Intent.Fastpath)
			},
		},
		"a fastpath": {
			"---\nid: X\ntriggers: [t]\nfastpath:\n  keywords: [hello, 你好]\n  hint: |\n    Greet back.\n    Briefly.\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, Fastpath{Keywords: []string{"hello", "你好"}, Hint: "Greet back.\nBriefly."}, f.Intent.Fastpath)
			},
		},
		"a fastpath of one field": {
			"---\nid: X\ntriggers: [t]\nfastpath:\n  keywords: [hello]\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, []string{"hello"}, f.Intent.Fastpath.Keywords) },
		},
		"keywords outside of fastpath": {
			"---\nid: X\nkeywords: [a]\ntriggers: [t]\nfastpath: {keywords: [b], hint: h}\n---\nbody",
			func(t *testing.T, f File) {
				require.Equal(t, Fastpath{Keywords: []string{"b", "a"}, Hint: "h"}, f.Intent.Fastpath)
			},
		},
		"keywords that are no list": {
			"---\nid: X\nkeywords: a, b\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) { require.Empty(t, f.Intent.Fastpath.Keywords) },
		},
		"a complexity": {
			"---\nid: X\ntriggers: [t]\ncomplexity: high\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, "high", f.Intent.Complexity) },
		},
		"a complexity of none": {
			"---\nid: X\ntriggers: [t]\ncomplexity: none\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, ComplexityNone, f.Intent.Complexity) },
		},
		"the complexity of the classification": {
			"---\nid: X\ntriggers: [t]\ncomplexity: auto\n---\nbody",
			func(t *testing.T, f File) { require.Empty(t, f.Intent.Complexity) },
		},
		"a null complexity": {
			"---\nid: X\ntriggers: [t]\ncomplexity:\n---\nbody",
			func(t *testing.T, f File) { require.Empty(t, f.Intent.Complexity) },
		},
		"an id in another script": {
			"---\nid: 記憶_查詢\ntriggers: [t]\n---\nbody",
			func(t *testing.T, f File) { require.Equal(t, "記憶_查詢", f.Intent.ID) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, faults := Parse("x.md", []byte(c.in))
			require.False(t, HasErrors(faults), "%v", faults)
			c.check(t, file)
		})
	}
}

func TestParseDefaultsOfIDAndName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ row, file, front, id, name string }{
		{"both from the file's name", "memory-lookup.md", "", "MEMORY_LOOKUP", "Memory Lookup"},
		{"one word", "chat.md", "", "CHAT", "Chat"},
		{"underscores and dots", "a_b.c.md", "", "A_B.C", "A B C"},
		{"another script", "記憶-查詢.md", "", "記憶_查詢", "記憶 查詢"},
		{"accents", "élan-vital.md", "", "ÉLAN_VITAL", "Élan Vital"},
		{"the fallback", "other.md", "", "OTHER", "Other"},
		{"a name of its own", "memory-lookup.md", "name: Recall\n", "MEMORY_LOOKUP", "Recall"},
		{"an id of its own", "x.md", "id: CODE_REVIEW\n", "CODE_REVIEW", "Code Review"},
		{"lower case", "x.md", "id: code-review\n", "code-review", "Code Review"},
		{"mixed case stays", "x.md", "id: GitHub_search\n", "GitHub_search", "GitHub Search"},
		{"an id without words", "x.md", "id: __\n", "__", "__"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Parallel()
			file, faults := Parse(tc.file, []byte("---\n"+tc.front+"triggers: [t]\n---\nbody"))
			require.Empty(t, faults)
			require.Equal(t, tc.id, file.Intent.ID)
			require.Equal(t, tc.name, file.Intent.Name)
		})
	}
	for file, want := range map[string]string{
		"my notes.md": `my notes.md:1: id "MY NOTES", made from the file's name, must not contain ' '`,
		"a(b).md":     `a(b).md:1: id "A(B)", made from the file's name, must not contain '('`,
	} {
		_, faults := Parse(file, []byte("---\ntriggers: [t]\n---\nbody"))
		require.Len(t, faults, 1)
		require.Equal(t, want, faults[0].Error())
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, want string }{
		"an empty file":             {"", "x.md:1: the file is empty"},
		"blanks only":               {"\ufeff \r\n\t\n", "x.md:1: the file is empty"},
		"no front matter":           {"# Title\n\ntext", "x.md:1: no front matter: the first line must be ---"},
		"front matter further down": {"\n---\nid: X\ntriggers: [t]\n---\n", "x.md:1: no front matter: the first line must be ---"},
		"no closing fence":          {"---\nid: X\ntriggers: [t]\nbody", "x.md:1: the front matter is not closed: a second line --- is missing"},
		"only a fence":              {"---", "x.md:1: the front matter is not closed: a second line --- is missing"},
		"empty front matter":        {"---\n---\nbody", "x.md:1: triggers is missing"},
		"a null id":                 {"---\ntriggers: [t]\nid:\n---\nbody", "x.md:3: id must not be blank"},
		"a blank id":                {"---\ntriggers: [t]\nid: ' '\n---\nbody", "x.md:3: id must not be blank"},
		"a number as id":            {"---\nid: 7\ntriggers: [t]\n---\nbody", "x.md:2: id must be a string, not a number; put it in quotes"},
		"a list as id":              {"---\nid: [X]\ntriggers: [t]\n---\nbody", "x.md:2: id must be a string, not a list"},
		"a parenthesis in the id":   {"---\nid: A(B\ntriggers: [t]\n---\nbody", `x.md:2: id "A(B" must not contain '('`},
		"a line end in the id":      {"---\nid: \"A\\nB\"\ntriggers: [t]\n---\nbody", `x.md:2: id "A\nB" must not contain '\n'`},
		"a space in the id":         {"---\nid: lower case\ntriggers: [t]\n---\nbody", `x.md:2: id "lower case" must not contain ' '`},
		"a comma in the id":         {"---\nid: A,B\ntriggers: [t]\n---\nbody", `x.md:2: id "A,B" must not contain ','`},
		"a glob in the id":          {"---\nid: A_*\ntriggers: [t]\n---\nbody", `x.md:2: id "A_*" must not contain '*'`},
		"a wide parenthesis":        {"---\nid: A（B）\ntriggers: [t]\n---\nbody", `x.md:2: id "A（B）" must not contain '（'`},
		"a zero-width space":        {"---\nid: \"A\\u200bB\"\ntriggers: [t]\n---\nbody", `x.md:2: id "A\u200bB" must not contain '\u200b'`},
		"a slash in the id":         {"---\nid: a/b\ntriggers: [t]\n---\nbody", `x.md:2: id "a/b" must not contain '/'`},
		"a domain of two lines":     {"---\nid: X\ndomain: \"a\\nb\"\ntriggers: [t]\n---\nbody", "x.md:3: domain must be one line without control characters"},
		"a list as domain":          {"---\nid: X\ndomain: [a]\ntriggers: [t]\n---\nbody", "x.md:3: domain must be a string, not a list"},
		"a fastpath that is a list": {"---\nid: X\ntriggers: [t]\nfastpath: [a]\n---\nbody", "x.md:4: fastpath must be fields like `keywords: [hello]`, not a list"},
		"a fastpath keyword":        {"---\nid: X\ntriggers: [t]\nfastpath: {keywords: a}\n---\nbody", "x.md:4: fastpath.keywords must be a list of strings, not a string"},
		"a number as keyword":       {"---\nid: X\ntriggers: [t]\nkeywords: [88]\n---\nbody", "x.md:4: keywords: item 1 must be a string, not a number; put it in quotes"},
		"a very long id":            {"---\nid: " + strings.Repeat("A", 181) + "\ntriggers: [t]\n---\nbody", "x.md:2: id is longer than 180 bytes"},
		"an unknown complexity":     {"---\nid: X\ncomplexity: easy\ntriggers: [t]\n---\nbody", `x.md:3: complexity must be auto, low, medium, high or none, not "easy"`},
		"a number as complexity":    {"---\nid: X\ncomplexity: 3\ntriggers: [t]\n---\nbody", "x.md:3: complexity must be a string, not a number; put it in quotes"},
		"a name of two lines":       {"---\nid: X\nname: \"a\\nb\"\ntriggers: [t]\n---\nbody", "x.md:3: name must be one line without control characters"},
		"a number as name":          {"---\nid: X\nname: 1.5\ntriggers: [t]\n---\nbody", "x.md:3: name must be a string, not a number; put it in quotes"},
		"a string as enabled":       {"---\nid: X\nenabled: \"no\"\ntriggers: [t]\n---\nbody", "x.md:3: enabled must be true or false, not a string"},
		"no triggers":               {"---\nid: X\n---\nbody", "x.md:1: triggers is missing"},
		"null triggers":             {"---\nid: X\ntriggers:\n---\nbody", "x.md:3: triggers must contain at least one string that is not blank"},
		"an empty trigger list":     {"---\nid: X\ntriggers: []\n---\nbody", "x.md:3: triggers must contain at least one string that is not blank"},
		"blank triggers":            {"---\nid: X\ntriggers: [' ', '']\n---\nbody", "x.md:3: triggers must contain at least one string that is not blank"},
		"triggers as a string":      {"---\nid: X\ntriggers: t\n---\nbody", "x.md:3: triggers must be a list of strings, not a string"},
		"a number as trigger":       {"---\nid: X\ntriggers:\n  - a\n  - 42\n---\nbody", "x.md:5: triggers: item 2 must be a string, not a number; put it in quotes"},
		"a mapping as example":      {"---\nid: X\ntriggers: [t]\nexamples:\n  - a\n  - fix: it\n---\nbody", "x.md:6: examples: item 2 must be a string, not a mapping; put text with a colon in quotes"},
		"a boolean as example":      {"---\nid: X\ntriggers: [t]\nexamples:\n  - true\n---\nbody", "x.md:5: examples: item 1 must be a string, not true or false; put it in quotes"},
		"examples as a mapping":     {"---\nid: X\ntriggers: [t]\nexamples: {a: b}\n---\nbody", "x.md:4: examples must be a list of strings, not a mapping"},
		"an undefined alias":        {"---\nid: *x\ntriggers: [t]\n---\nbody", "x.md:2: id must be a string, not an undefined alias"},
		"front matter that is text": {"---\nhello\n---\nbody", "x.md:2: the front matter must be fields like `id: …`, not a string"},
		"front matter of a list":    {"---\n- id\n---\nbody", "x.md:2: the front matter must be fields like `id: …`, not a list"},
		"a tab as indentation":      {"---\nid: X\ntriggers:\n\t- t\n---\nbody", "x.md:4: the front matter is not valid YAML: found character ' ' that cannot start any token"},
		"an unclosed quote":         {"---\nid: \"X\ntriggers: [t]\n---\nbody", "x.md:2: the front matter is not valid YAML: could not find end character of double-quoted text"},
		"a field twice":             {"---\nid: X\ntriggers: [t]\nid: Y\n---\nbody", `x.md:4: the front matter is not valid YAML: mapping key "id" already defined at [1:1]`},
		"a broken byte":             {"---\nid: X\ntriggers: [\xff]\n---\nbody", "x.md:3: the file is not valid UTF-8"},
		"UTF-16":                    {"\xff\xfe-\x00", "x.md:1: the file is UTF-16; it must be UTF-8"},
		"a NUL":                     {"---\nid: X\x00\n---\n", "x.md:2: the file contains a NUL character"},
		"a huge file":               {strings.Repeat("x", maxFileBytes+1), "x.md:1: the file is larger than 1048576 bytes"},
		"huge front matter":         {"---\n" + strings.Repeat("# x\n", 1<<17) + "---\n", "x.md:1: the front matter is larger than 262144 bytes"},
		"deep lists":                {"---\nid: X\na: " + strings.Repeat("[", 1000) + "\n---\n", "x.md:3: the front matter is nested more than 100 deep"},
		"deep dashes":               {"---\nid: X\n" + strings.Repeat("- ", 1000) + "\n---\n", "x.md:3: the front matter is nested more than 100 deep"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, faults := Parse("x.md", []byte(c.in))
			require.Zero(t, file)
			var errs []string
			for _, f := range faults {
				if f.Severity == Error {
					errs = append(errs, f.Error())
				}
			}
			require.Contains(t, errs, c.want)
		})
	}
}

func TestParseNotices(t *testing.T) {
	t.Parallel()
	_, faults := Parse("x.md", []byte("---\nid: X\nauthor: me\ntriggers:\n  - t\n  - ''\n---\n\n"))
	require.Equal(t, []Fault{
		{"x.md", 3, Notice, `the field "author" is unknown and ignored`},
		{"x.md", 6, Notice, "triggers: item 2 is blank and ignored"},
		{"x.md", 7, Notice, "no prompt after the front matter"},
	}, faults)
	_, faults = Parse("x.md", []byte("---\nid: X\nkeywords: [a]\ntriggers: [t]\nfastpath: {word: a}\n---\nbody"))
	require.Equal(t, []Fault{
		{"x.md", 3, Warning, "keywords stands outside of fastpath and is read as fastpath.keywords"},
		{"x.md", 5, Notice, `the field "fastpath.word" is unknown and ignored`},
	}, faults)
	_, faults = Parse("x.md", []byte("---\nid: X\nkeywords: a\ntriggers: [t]\n---\nbody"))
	require.Equal(t, []Fault{{"x.md", 3, Notice, "keywords is not a list and ignored"}}, faults)
}

func TestParseReportsEveryError(t *testing.T) {
	t.Parallel()
	_, faults := Parse("x.md", []byte("---\nid: 1\nname: 2\nenabled: 3\ntriggers: 4\nexamples: 5\n---\nbody"))
	lines := map[int]bool{}
	for _, f := range faults {
		if f.Severity == Error {
			lines[f.Line] = true
		}
	}
	require.Equal(t, map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true}, lines)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("---\nid: &a *a\ntriggers: *a\n---\n"))
	f.Add([]byte("---\n? [a]\n: b\n<<: {id: X}\n---\n"))
	f.Add([]byte("---\nid: !!str\ntriggers: !!seq [!x y]\n---\n"))
	f.Add([]byte("---\ntriggers: |\n---\nx"))
	f.Add([]byte("---\nid: 0 0\ntriggers:\n- 乙\n---"))
	f.Add([]byte("---\n%YAML 1.2\n...\nid: x\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, faults := Parse("f.md", data)
		lines := strings.Count(newlines.Replace(string(data)), "\n") + 1
		for _, fault := range faults {
			if fault.Line < 1 || fault.Line > lines || fault.Reason == "" || strings.Contains(fault.Error(), "\n") {
				t.Fatalf("fault %q in a file of %d lines", fault, lines)
			}
		}
		if HasErrors(faults) {
			return
		}
		in := file.Intent
		if in.ID == "" || in.Name == "" || len(in.Triggers) == 0 || strings.ContainsFunc(in.ID, func(r rune) bool { return !isIDRune(r) }) || strings.ContainsFunc(in.Name+in.Domain, isControl) {
			t.Fatalf("accepted %#v", in)
		}
		for _, s := range append(append([]string{in.ID, in.Name, in.Prompt}, in.Triggers...), in.Examples...) {
			if !utf8.ValidString(s) {
				t.Fatalf("invalid UTF-8 in %q", s)
			}
		}
		if len(file.examplePlaces) != len(in.Examples) || len(file.triggerLines) != len(in.Triggers) {
			t.Fatal("example or trigger without a line")
		}
		if c := CatalogOf([]File{file}); file.Enabled {
			if _, ok := c.Lookup(in.ID); !ok {
				t.Fatalf("%q is not found in its catalogue", in.ID)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	data, err := bundled.ReadFile("bundled/other.md")
	require.NoError(b, err)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Parse("other.md", data)
	}
}
