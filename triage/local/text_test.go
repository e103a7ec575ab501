package local

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]struct {
		words, cjk []string
	}{
		"Don’t  PANIC, ok?":    {words: []string{"don't", "panic", "ok"}},
		"ＡＢＣ１２３":               {words: []string{"abc123"}},
		"用nginx怎么改413":         {words: []string{"nginx", "413"}, cjk: []string{"用", "怎么改"}},
		"ラーメンを食べたい!":           {cjk: []string{"ラーメンを食べたい"}},
		"'quoted' 'n' rock":    {words: []string{"quoted", "n", "rock"}},
		"":                     {},
		"😂❤️":                  {},
		"u\u0308ber straße":    {words: []string{"über", "straße"}},
		"\xff broken \xf0\x9f": {words: []string{"broken"}},
	} {
		m := read(text, maxText)
		require.Equal(t, want.words, m.words, text)
		require.Equal(t, want.cjk, m.cjk, text)
	}
	long := read("日本語", 2)
	require.True(t, long.long)
	require.Equal(t, []string{"日本"}, long.cjk)
}

func TestLists(t *testing.T) {
	for text, want := range map[string]struct {
		list lexicon
		has  bool
	}{
		"how do I do that":       {knowledgeQuestions, true},
		"show me the way":        {knowledgeQuestions, false},
		"wie lange noch":         {knowledgeQuestions, true},
		"这个多少钱":                  {knowledgeQuestions, true},
		"ありがとうございます":             {thanks, true},
		"thanksgiving is coming": {thanks, false},
		"今日行ってもいい?":              {peopleQuestions, true},
	} {
		m := read(text, maxText)
		require.Equal(t, want.has, m.has(want.list), text)
	}
	for text, want := range map[string]bool{
		"ok great": true, "thanks a lot": true, "好的哈哈": true, "ありがとうございます": true, "了解です": true, "Danke schön!": true,
		"ok what time": false, "好的几点": false, "": false, "😂": false, "12": false,
	} {
		m := read(text, maxText)
		require.Equal(t, want, m.only(reactions), text)
	}
}

func TestCalls(t *testing.T) {
	for text, want := range map[string][2]bool{
		"Lena, wann kommst du": {true, false}, "was meinst du, Rob?": {false, true}, "田中さん、どうですか": {true, false},
		"well that is it, I think so": {false, false}, "": {false, false}, ",": {false, false},
	} {
		m := read(text, maxText)
		require.Equal(t, want, [2]bool{m.callsFirst(), m.callsLast()}, text)
	}
}

func TestNearly(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"pixel", "pixel", true},
		{"pixle", "pixel", true},
		{"pixl", "pixel", true},
		{"pixxel", "pixel", true},
		{"pixal", "pixel", true},
		{"ixel", "pixel", true},
		{"pixels", "pixel", true},
		{"xpiel", "pixel", false},
		{"pi", "pixel", false},
		{"pexil", "pixel", false},
		{"", "a", true},
		{"", "", true},
		{"ハル", "ハレ", true},
	} {
		require.Equal(t, tt.want, nearly(tt.a, tt.b), "%q %q", tt.a, tt.b)
		require.Equal(t, tt.want, nearly(tt.b, tt.a), "%q %q", tt.b, tt.a)
	}
}

func TestNameParts(t *testing.T) {
	for sender, want := range map[string][]string{
		"Sandra (Ben)": {"sandra", "ben"}, "山哥": {"山哥"}, "x": nil, "": nil,
		"李": {"李さん", "李くん", "李君", "李ちゃん", "李总", "李哥", "李姐"},
	} {
		require.ElementsMatch(t, want, nameParts(sender), sender)
	}
}
