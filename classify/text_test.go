package classify

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestOneLine(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "a b", 10, "a b"},
		{"empty", "", 10, ""},
		{"white space only", " \n\t ", 10, ""},
		{"edges and runs", "  a \n\n b\t", 10, "a b"},
		{"carriage returns", "a\r\nb\rc", 10, "a b c"},
		{"line separators", "a\u2028b\u2029c\u0085d\u00a0e\u3000f", 20, "a b c d e f"},
		{"control characters", "a\x00b\x1bc\x7fd", 20, "a b c d"},
		{"vertical", "a\vb\fc", 20, "a b c"},
		{"bidirectional override", "a\u202eb\u2066c\u2069", 20, "abc"},
		{"tag characters", "a\U000E0041\U000E007Fb", 20, "ab"},
		{"zero width", "a\u200bb\ufeffc", 20, "abc"},
		{"joiner stays", "👩\u200d💻", 20, "👩\u200d💻"},
		{"exactly the limit", "abcde", 5, "abcde"},
		{"one more", "abcdef", 5, "abcd…"},
		{"limit counts characters", "記憶記憶記", 5, "記憶記憶記"},
		{"cut on a character", "記憶記憶記憶", 5, "記憶記憶…"},
		{"no space before the cut", "abc defg", 5, "abc…"},
		{"space falls on the limit", "abcd efg", 5, "abcd…"},
		{"space after the limit", "abcde fgh", 5, "abcd…"},
		{"trailing white space after the limit", "abcde   ", 5, "abcde"},
		{"invalid UTF-8", "a\xffb", 10, "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, OneLine(tt.in, tt.limit))
		})
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a \n b", 3)
	f.Add("記憶\u2028x", 4)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 1 + (limit&0xFF)%50
		got := OneLine(s, limit)
		require.LessOrEqual(t, utf8.RuneCountInString(got), limit)
		require.Equal(t, strings.TrimSpace(got), got)
		require.True(t, utf8.ValidString(got))
		require.Equal(t, -1, strings.IndexFunc(got, func(r rune) bool {
			return r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r))
		}))
		require.NotContains(t, got, "  ")
		require.Equal(t, got, OneLine(got, limit), "folding twice changes nothing")
	})
}

func TestClip(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"short", "abc", 5, "abc"},
		{"exact", "abcde", 5, "abcde"},
		{"long", "abcdef", 5, "abcd…"},
		{"exact in characters", "äöüßé", 5, "äöüßé"},
		{"long in characters", "äöüßéà", 5, "äöüß…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, clip(tt.in, tt.limit))
		})
	}
}
