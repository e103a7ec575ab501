package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
)

func TestAlike(t *testing.T) {
	t.Parallel()
	const least = 0.35
	for _, row := range []struct {
		name  string
		texts []string
		want  [][]int
	}{
		{"no texts", nil, nil},
		{"one text", []string{"water the tomatoes"}, [][]int{{0}}},
		{"the same in other letters", []string{"Water the tomatoes!", "something else", "water THE tomatoes"}, [][]int{{0, 2}, {1}}},
		{"like words", []string{
			"when should I water the tomatoes", "please print my boarding pass", "should I water the tomatoes today", "print my boarding pass again please",
		}, [][]int{{0, 2}, {1, 3}}},
		{"Chinese", []string{"番茄什么时候浇水", "帮我打印登机牌", "番茄应该什么时候浇水"}, [][]int{{0, 2}, {1}}},
		{"function words are not enough", []string{"what is the tide table", "what is the moon phase", "what is the bus fare", "what is the speed limit"}, [][]int{{0}, {1}, {2}, {3}}},
		{"nothing to compare", []string{"", "…", ""}, [][]int{{0}, {1}, {2}}},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, local.Alike(row.texts, least)) })
	}
}

func TestAlikeIsDeterministic(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprint(strings.Repeat("fold the paper crane ", i%3), "number ", i%17, " of ", i%29))
	}
	want := local.Alike(texts, 0.5)
	for range 5 {
		require.Equal(t, want, local.Alike(texts, 0.5))
	}
}
