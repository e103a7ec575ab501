package intents

import (
	"io/fs"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/stretchr/testify/require"
)

func TestBundledFilesArePlain(t *testing.T) {
	t.Parallel()
	names, err := fileNames(BundledFS())
	require.NoError(t, err)
	rest := []string{}
	for _, name := range names {
		data, err := fs.ReadFile(BundledFS(), name)
		require.NoError(t, err)
		p := fileParser{name: name}
		front, _, ok := p.split(string(data))
		require.True(t, ok, name)
		if _, plain := plainFields(front); !plain {
			rest = append(rest, name)
		}
		requireSameFields(t, front)
	}
	require.LessOrEqual(t, len(rest), 3, "%v are read by the slower way", rest)
}

func TestPlainFieldsLeavesTheRest(t *testing.T) {
	t.Parallel()
	for name, front := range map[string]string{
		"nothing":               "",
		"a comment":             "# x\nid: X\n",
		"a comment behind":      "id: X # x\n",
		"a number":              "id: 1\n",
		"a boolean in capitals": "id: True\n",
		"null":                  "id: null\n",
		"no value":              "id:\n",
		"a value that follows":  "id:\n  X\n",
		"no space":              "id:X\n",
		"two spaces":            "id:  X\n",
		"a field twice":         "id: X\nid: Y\n",
		"a colon":               "id: a: b\n",
		"a colon at the end":    "id: a:\n",
		"a flow list":           "triggers: [a]\n",
		"an escape":             "id: \"a\\nb\"\n",
		"a quote in quotes":     "id: 'a'b'\n",
		"an open quote":         "id: \"a\n",
		"a block":               "id: |\n  a\n",
		"an anchor":             "id: &a X\n",
		"a tag":                 "id: !!str X\n",
		"a continued line":      "id: a\n  b\n",
		"a continued item":      "triggers:\n  - a\n    b\n",
		"items not in line":     "triggers:\n  - a\n - b\n",
		"items of nothing":      "- a\n",
		"items behind a value":  "id: X\n  - a\n",
		"a list in a list":      "triggers:\n  - - a\n",
		"a mapping in a list":   "triggers:\n  - a: b\n",
		"an empty item":         "triggers:\n  - \n",
		"a key that is no word": "the id: X\n",
		"a tab":                 "id: a\tb\n",
		"a separator of lines":  "id: a\u2028b\n",
		"blanks on a line":      "id: X\n  \n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ok := plainFields(front)
			require.False(t, ok)
		})
	}
}

// requireSameFields holds what plainFields reads to what the YAML parser does.
func requireSameFields(t *testing.T, front string) {
	t.Helper()
	plain, ok := plainFields(front)
	if !ok {
		return
	}
	tree, err := parseYAML(front)
	require.NoError(t, err, "%q", front)
	require.Len(t, tree.Docs, 1)
	body, ok := tree.Docs[0].Body.(*ast.MappingNode)
	require.True(t, ok, "%q", front)
	read := func(fields []*ast.MappingValueNode) (File, []Fault) {
		p := fileParser{closing: 1 << 20, root: body}
		p.fields(fields)
		return p.file, p.faults
	}
	wantFile, wantFaults := read(body.Values)
	gotFile, gotFaults := read(plain)
	require.Equal(t, wantFile, gotFile, "%q", front)
	require.Equal(t, wantFaults, gotFaults, "%q", front)
}

func FuzzPlainFields(f *testing.F) {
	f.Add("id: X\nname: 'a b'\nenabled: false\n\ntriggers:\n  - one, two\n  - \"three: four\"\nexamples:\n- 做乙\n- don't\n")
	f.Add("id: X\ntriggers:\n  - 'it''s '\n  - 12 個\n  - 「再」\n  - ''\n")
	f.Add("id: a#b\nx: a:b\ny: a ]\nz: y&*!|>%@`{}[]\n")
	f.Fuzz(func(t *testing.T, front string) {
		if tooDeep(front) > 0 || invalidUTF8([]byte(front)) >= 0 {
			return
		}
		requireSameFields(t, front)
	})
}
