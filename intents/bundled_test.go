package intents

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestBundledDefinitions(t *testing.T) {
	t.Parallel()
	require.Empty(t, strs(Lint(BundledFS())))

	c := Bundled()
	require.Same(t, c, Bundled())
	require.GreaterOrEqual(t, len(c.Enabled())+1, 32)
	require.Equal(t, "other.md", c.Fallback().File)
	for _, in := range append([]Intent{c.Fallback()}, c.Enabled()...) {
		require.GreaterOrEqual(t, utf8.RuneCountInString(in.Prompt), 200, in.File)
		if in.ID == FallbackID {
			continue
		}
		require.GreaterOrEqual(t, len(in.Triggers), 3, in.File)
		require.GreaterOrEqual(t, len(in.Examples), 12, in.File)
		cjk := 0
		for _, example := range in.Examples {
			if hasCJK(example) {
				cjk++
			}
		}
		require.GreaterOrEqual(t, cjk, 3, "%s: examples in Chinese, Japanese or Korean", in.File)
	}
}

func hasCJK(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			return true
		}
	}
	return false
}

func BenchmarkLoadBundled(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		files, _, err := Load(BundledFS())
		require.NoError(b, err)
		CatalogOf(files)
	}
}
