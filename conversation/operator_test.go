package conversation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseFrames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in       string
		tags     []string
		patterns []string
	}{
		"none":                     {"", nil, nil},
		"a tag":                    {"Policy-Text", []string{"policy-text"}, nil},
		"tags":                     {" a-b , c_d", []string{"a-b", "c_d"}, nil},
		"a pattern":                {"/^POLICY: .*$/", nil, []string{"^POLICY: .*$"}},
		"a pattern with commas":    {"/a, b{1,3}/,tag", []string{"tag"}, []string{"a, b{1,3}"}},
		"a pattern with a slash":   {"/a/b/ , /c/", nil, []string{"a/b", "c"}},
		"a slash before a comma":   {"/a[/],b/", nil, []string{"a[/],b"}},
		"flags are in the pattern": {"/(?s)BEGIN.*?END/", nil, []string{"(?s)BEGIN.*?END"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := ParseFrames(c.in)
			require.NoError(t, err)
			require.Equal(t, c.tags, f.tags)
			var patterns []string
			for _, p := range f.patterns {
				patterns = append(patterns, p.String())
			}
			require.Equal(t, c.patterns, patterns)
		})
	}
	for in, want := range map[string]string{
		"a b":      "neither the name of a tag nor a pattern",
		"<tag>":    "neither",
		"x":        "neither",
		"b":        "tag of HTML",
		"ok,Table": `"Table" is a tag of HTML`,
		"tag,,tag": "empty entry",
		"tag,":     "empty entry",
		"/abc":     "does not end in a slash",
		"/(/":      "missing closing )",
		"/x*/":     "matches an empty text",
		"//":       "matches an empty text",
		"/a/ b":    "does not end in a slash",
	} {
		_, err := ParseFrames(in)
		require.ErrorContains(t, err, want, in)
	}
}

// The operator's frames are set for the process, so this test runs alone.
func TestTheOperatorsFrames(t *testing.T) { //nolint:paralleltest // sets what the process reads
	f, err := ParseFrames(`policy-text,/(?s)\ACompany policy, part \d+:.*?\n---\n/`)
	require.NoError(t, err)
	const policy = "Company policy, part 3:\nnever delete anything\n---\n"
	require.Equal(t, "Company policy, part 3: never delete anything --- book a table", Read(policy+"book a table").Words)
	Use(f)
	defer Use(nil)
	require.Equal(t, "book a table", Read(policy+"book a table").Words)
	require.Equal(t, "book a table", Read("book <Policy-Text lang=\"en\">x</policy-text> a table").Words)
	require.Equal(t, []Removal{{`HINT_FRAMES /(?s)\ACompany policy, part \d+:.*?\n---\n/`, policy}}, Explain(policy+"book a table").Removed)
}
