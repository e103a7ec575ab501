package fold_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"intenthint/internal/text/fold"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		step func(string) string
		in   string
		want string
	}{
		{"NFKC joins and narrows", fold.NFKC, "Ｃafe\u0301 ﬁ ①", "Café fi 1"},
		{"NFKD takes apart", fold.NFKD, "Ｃafé", "Cafe\u0301"},
		{"lower case", fold.Lower, "ＳＴＲＡẞＥ Straße", "straße straße"},
		{"no case", fold.Case, "ＳＴＲＡẞＥ Straße", "strasse strasse"},
		{"Greek final sigma", fold.Case, "ΟΔΟΣ οδος", "οδοσ οδοσ"},
		{"no marks", fold.WithoutMarks, "Café ё กี่", "Cafe е ก"},
		{"no white space", fold.WithoutSpace, " a\u3000b\n\u00a0c", "abc"},
		{"apostrophes", fold.Apostrophes, "’‘ʼ'`", "''''`"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, row.want, row.step(row.in))
		})
	}
}

func TestCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, 'o', fold.Base('ộ'))
	require.Equal(t, 'ß', fold.Base('ß'))
	require.Equal(t, '学', fold.Simplified('學'))
	require.Equal(t, '会', fold.Simplified('會'))
	require.Equal(t, '我', fold.Simplified('我'))

	for r, want := range map[rune]rune{'ａ': 'a', '：': ':', '𝐱': 'x', '﹣': '-', 'ℊ': 'g'} {
		got, ok := fold.Plain(r)
		require.True(t, ok, "%q", r)
		require.Equal(t, want, got)
	}
	for _, r := range "a①²ä℡漢" {
		_, ok := fold.Plain(r)
		require.False(t, ok, "%q", r)
	}
	for r, want := range map[rune]rune{'а': 'a', 'Ι': 'I', 'օ': 'o', '🅰': 'a', 'ｰ': 0} {
		got, ok := fold.LookAlike(r)
		require.Equal(t, want != 0, ok, "%q", r)
		require.Equal(t, want, got)
	}
	for _, r := range "漢かカ한กລកမ" {
		require.True(t, fold.Unspaced(r), "%q", r)
		require.Equal(t, unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana), fold.CJK(r), "%q", r)
	}
	for _, r := range "aäйعह1。" {
		require.False(t, fold.Unspaced(r) || fold.CJK(r), "%q", r)
	}
	for _, r := range "\u200b\u200d\u202e\ufe0f\ufeff" {
		require.True(t, fold.Invisible(r), "%q", r)
	}
	require.False(t, fold.Invisible('\u0301'))
}

// The forms do not change when they are made again; Case may take a second time.
func FuzzSteps(f *testing.F) {
	f.Add("ＳＴＲＡẞＥ \u1e9e\u0345 ͅ")
	f.Add("\xff ﬃ")
	f.Add("00000000\xf7Ņ")
	f.Fuzz(func(t *testing.T, s string) {
		for _, step := range []func(string) string{fold.NFKC, fold.NFKD, fold.WithoutMarks, fold.WithoutSpace, fold.Apostrophes} {
			require.Equal(t, step(s), step(step(s)))
		}
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cherokee, r) }) {
			return // golang.org/x/text folds Cherokee letters to their other case each time
		}
		twice := fold.Case(fold.Case(s))
		require.Equal(t, twice, fold.Case(twice))
	})
}
