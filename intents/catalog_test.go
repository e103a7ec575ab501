package intents

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func catalogOf(ids ...string) *Catalog {
	var list []Intent
	for _, id := range ids {
		list = append(list, Intent{ID: id, Name: id, Triggers: []string{"t"}})
	}
	return NewCatalog(list)
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	c := NewCatalog([]Intent{{ID: "B"}, {ID: "a"}, {ID: "A", Name: "later"}, {ID: "Other", Name: "mine"}})
	require.Equal(t, []string{"A", "B"}, ids(c))
	in, ok := c.Lookup("a")
	require.True(t, ok)
	require.Equal(t, "later", in.Name)
	in, ok = c.Lookup("other")
	require.True(t, ok)
	require.Equal(t, Intent{ID: "OTHER", Name: "mine"}, in)
	_, ok = c.Lookup("C")
	require.False(t, ok)
	require.Same(t, c, c.Root())
	require.Nil(t, c.Allowed())
}

func TestWithout(t *testing.T) {
	t.Parallel()
	root := catalogOf("A_1", "A_2", "B_1")
	cases := map[string]struct {
		patterns []string
		want     []string
		allowed  []bool
	}{
		"nothing":                {nil, []string{"A_1", "A_2", "B_1"}, nil},
		"what is not there":      {[]string{"Z*"}, []string{"A_1", "A_2", "B_1"}, nil},
		"a group":                {[]string{"a_*"}, []string{"B_1"}, []bool{false, false, true}},
		"two patterns":           {[]string{"A_1", "b_?"}, []string{"A_2"}, []bool{false, true, false}},
		"everything":             {[]string{"*"}, []string{}, []bool{false, false, false}},
		"the fallback is immune": {[]string{"OTHER"}, []string{"A_1", "A_2", "B_1"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := root.Without(c.patterns)
			require.Equal(t, c.want, ids(got))
			require.Equal(t, c.allowed, got.Allowed())
			require.Same(t, root, got.Root())
			_, ok := got.Lookup(FallbackID)
			require.True(t, ok)
		})
	}
	require.Equal(t, []string{"A_2"}, ids(root.Without([]string{"B*"}).Without([]string{"A_1"})))
}

func TestThin(t *testing.T) {
	many := slices.Repeat([]string{"example"}, FewExamples)
	require.Equal(t, []string{"FEW", FallbackID}, NewCatalog([]Intent{
		{ID: "FEW", Examples: many[1:]}, {ID: "MANY", Examples: many}, {ID: FallbackID},
	}).Thin())
	require.Empty(t, NewCatalog([]Intent{{ID: "MANY", Examples: many}}).Thin(), "the built-in fallback has examples")
	require.Empty(t, Bundled().Thin())
}

func TestTaught(t *testing.T) {
	t.Parallel()
	cat := NewCatalog([]Intent{
		{ID: "A", Examples: []string{"one"}, Fastpath: Fastpath{Keywords: []string{"now"}}},
		{ID: "B", Examples: []string{"two"}},
	})
	extended := cat.Without([]string{"B"}).WithExamples(map[string][]string{"B": {"three"}, FallbackID: {"four"}, "GONE": {"five"}})
	require.Same(t, extended, extended.Root())
	b, ok := extended.Lookup("b")
	require.True(t, ok)
	require.Equal(t, []string{"two"}, b.Examples)
	require.Equal(t, []string{"three"}, b.Learnt)
	require.Equal(t, []string{"four"}, extended.Fallback().Learnt)
	require.Len(t, extended.Enabled(), 2)
	keyword, ok := extended.Keyword("now")
	require.True(t, ok)
	require.Equal(t, "A", keyword.ID)
	require.Len(t, extended.Without([]string{"A"}).Enabled(), 1)

	before, _ := cat.Lookup("B")
	require.Empty(t, before.Learnt, "the catalogue itself stays as it is")
	again, _ := extended.WithExamples(nil).Lookup("B")
	require.Empty(t, again.Learnt)
}
