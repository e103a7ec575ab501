package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/internal/text"
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
		{"invisible operators and old controls", "a\u2061b\u2064c\u206ad\u206fe", 20, "abcde"},
		{"soft hyphen, Arabic mark, blank letter", "a\u00adb\u061cc\u3164d", 20, "abcd"},
		{"variation selectors", "a\ufe0fb\U000e0100c\U000e01efd", 20, "abcd"},
		{"joiners stay", "\u0646\u200c\u0647", 20, "\u0646\u200c\u0647"},
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
			require.Equal(t, tt.want, text.OneLine(tt.in, tt.limit))
		})
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a \n b", 3)
	f.Add("記憶\u2028x", 4)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 1 + (limit&0xFF)%50
		got := text.OneLine(s, limit)
		require.LessOrEqual(t, utf8.RuneCountInString(got), limit)
		require.Equal(t, strings.TrimSpace(got), got)
		require.True(t, utf8.ValidString(got))
		require.Equal(t, -1, strings.IndexFunc(got, func(r rune) bool {
			return r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r))
		}))
		require.NotContains(t, got, "  ")
		require.Equal(t, got, text.OneLine(got, limit), "folding twice changes nothing")
	})
}

func TestFold(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a b", "a b"},
		{"white space only", " \n\t ", ""},
		{"edges and runs", "  a \r\n\n b\t", "a b"},
		{"two spaces", "a  b", "a b"},
		{"wide and no-break spaces", "a\u3000b\u00a0c\u2028d\u0085e", "a b c d e"},
		{"other characters stay", "a\x00b\u200bc", "a\x00b\u200bc"},
		{"invalid UTF-8", "a\xff\xfeb", "a\uFFFDb"},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, text.Fold(tt.in)) })
	}
}

func FuzzFold(f *testing.F) {
	f.Add(" a\u2028 b")
	f.Add("\xff \xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Fold(s)
		require.Equal(t, strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), got)
		require.Equal(t, got, text.Fold(got), "folding twice changes nothing")
	})
}

func TestCuts(t *testing.T) {
	for _, tt := range []struct {
		name, in        string
		n               int
		cut, clip, byte string
	}{
		{"empty", "", 3, "", "", ""},
		{"short", "abc", 5, "abc", "abc", "abc"},
		{"exact", "abcde", 5, "abcde", "abcde", "abcde"},
		{"one more", "abcdef", 5, "abcde", "abcd…", "abcde"},
		{"exact in characters", "äöüßé", 5, "äöüßé", "äöüßé", "äö"},
		{"one more in characters", "äöüßéà", 5, "äöüßé", "äöüß…", "äö"},
		{"three bytes each", "記憶記憶記憶", 5, "記憶記憶記", "記憶記憶…", "記"},
		{"none", "äb", 0, "", "…", ""},
		{"invalid UTF-8", "\xff\xfe\x80", 2, "\xff\xfe", "\xff…", "\xff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.cut, text.Cut(tt.in, tt.n))
			require.Equal(t, tt.clip, text.Clip(tt.in, tt.n))
			require.Equal(t, tt.byte, text.CutBytes(tt.in, tt.n))
		})
	}
}

func FuzzCuts(f *testing.F) {
	f.Add("記憶", 1)
	f.Add("a\xffb", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n &= 0xFF
		cut, bytes, clipped := text.Cut(s, n), text.CutBytes(s, n), text.Clip(s, max(n, 1))
		require.True(t, strings.HasPrefix(s, cut))
		require.Equal(t, min(n, utf8.RuneCountInString(s)), utf8.RuneCountInString(cut))
		require.True(t, strings.HasPrefix(s, bytes))
		require.LessOrEqual(t, len(bytes), n)
		require.LessOrEqual(t, utf8.RuneCountInString(clipped), max(n, 1))
		if utf8.ValidString(s) {
			require.True(t, utf8.ValidString(cut) && utf8.ValidString(bytes) && utf8.ValidString(clipped))
			require.Greater(t, len(bytes), min(n, len(s))-utf8.UTFMax)
		}
	})
}

func TestMiddle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		n    int
		want string
	}{
		"all of it":                 {"字字字", 3, "字字字"},
		"head and tail":             {strings.Repeat("a", 30) + strings.Repeat("字", 30), 40, strings.Repeat("a", 11) + "… (truncated...) …" + strings.Repeat("字", 11)},
		"an odd one is at the head": {strings.Repeat("a", 30) + strings.Repeat("b", 30), 41, strings.Repeat("a", 12) + "… (truncated...) …" + strings.Repeat("b", 11)},
		"no room for the mark":      {strings.Repeat("a", 30), 19, strings.Repeat("a", 19)},
		"nothing":                   {"abc", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := text.Middle(c.in, c.n)
			require.Equal(t, c.want, got)
			require.Equal(t, got, text.Middle(got, c.n))
		})
	}
}
