package local

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/internal/text/stem"
)

func words(t *reading) []string {
	out := make([]string, 0, len(t.tokens))
	for _, tok := range t.tokens {
		out = append(out, string(t.runes[tok.start:tok.end]))
	}
	return out
}

func TestText(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     []string
	}{
		{"case and punctuation", "Book a TABLE, please!", []string{"book", "a", "table", "please"}},
		{"apostrophes", "what's don’t", []string{"whats", "dont"}},
		{"accents", "réservé Über señor", []string{"reserve", "uber", "senor"}},
		{"full-width", "ＰＲ　１２３", []string{"pr", "123"}},
		{"half-width kana", "ｶﾒﾗ", []string{"カメラ"}},
		{"ligature", "ﬁle", []string{"file"}},
		{"repeated letters", "pleeeeease 10000", []string{"pleease", "10000"}},
		{"scripts side by side", "看PR嗎", []string{"看", "pr", "吗"}},
		{"both scripts of Chinese are one", "會議 会议", []string{"会议", "会议"}},
		{"Japanese forms too", "対応", []string{"对应"}},
		{"emoji without skin tone", "ok👍🏽👍", []string{"ok", "👍", "👍"}},
		{"amounts", "$5", []string{"$", "5"}},
		{"other scripts", "ПРИВЕТ мир", []string{"привет", "мир"}},
		{"Vietnamese without marks", "Đặt đồng hồ", []string{"dat", "dong", "ho"}},
		{"Greek accents and final sigma", "Ο ΚΑΙΡΌΣ αύριο", []string{"ο", "καιροσ", "αυριο"}},
		{"points and apostrophes of Hebrew", "שָׁלוֹם צ׳אט", []string{"שלום", "צאט"}},
		{"Persian letters, joined or not", "می\u200cخواهم كتاب کتاب", []string{"ميخواهم", "كتاب", "كتاب"}},
		{"Arabic vowel signs and alef", "شُكْراً أنا إلى آخر", []string{"شكرا", "انا", "الي", "اخر"}},
		{"digits of other scripts", "۱۲ ٣٤ ५६", []string{"12", "34", "56"}},
		{"Thai", "ปิดไฟ หน่อย", []string{"ปิดไฟ", "หน่อย"}},
		{"nothing", " \t\n.,", []string{}},
		{"broken UTF-8", "a\xff\xfeb", []string{"a", "b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var x reading
			x.reset(row.in)
			require.Equal(t, row.want, words(&x))
		})
	}
}

func TestTextReadsBothEnds(t *testing.T) {
	var x reading
	x.reset("first " + strings.Repeat("filler ", 20000) + " last")
	got := words(&x)
	require.Equal(t, "first", got[0])
	require.Equal(t, "last", got[len(got)-1])
	require.LessOrEqual(t, len(x.runes), headRunes+tailRunes)
}

func TestTextBoundsItsNormalisedForm(t *testing.T) {
	var x reading
	x.reset(strings.Repeat("\ufdfa", 5000))
	require.Len(t, x.runes, maxRunes)
}

func TestWindow(t *testing.T) {
	for _, row := range []struct {
		name, in   string
		head, tail int // bytes
	}{
		{"short", "abc", 3, 0},
		{"many bytes, few characters", strings.Repeat("字", headRunes), 3 * headRunes, 0},
		{"both ends meet", strings.Repeat("字", headRunes+10), 3 * headRunes, 30},
		{"long", strings.Repeat("字", 5000), 3 * headRunes, 3 * tailRunes},
	} {
		t.Run(row.name, func(t *testing.T) {
			head, tail := window(row.in)
			require.Len(t, head, row.head)
			require.Len(t, tail, row.tail)
		})
	}
}

func TestSynonymsShareAConcept(t *testing.T) {
	concept := func(word string) uint64 {
		var buf [stem.Longest]rune
		runes := folded(word)
		group, _ := conceptOfWord(hashWord(stem.EnglishRunes(buf[:0], runes)), runes)
		return group
	}
	for _, row := range [][]string{
		{"buy", "purchasing", "購買", "购买"},
		{"weather", "forecasts", "天氣", "天气", "Wetterbericht", "погоду", "날씨", "hava", "weerbericht", "pogoda", "vädret", "sää", "počasí", "vremea"},
		{"email", "correos", "почта", "почту", "ईमेल", "メール"},
		{"cancel", "abort", "取消", "annuleren", "odwołaj", "avlys", "zrušit"},
		{"translate", "fordítsd", "μετάφρασέ", "переклади", "terjemahkan", "תרגם", "ترجمه"},
		{"kitchen", "konyhában", "κουζίνα", "кухні", "dapur", "מטבח", "במטבח", "آشپزخونه"},
	} {
		for _, word := range row {
			require.NotZero(t, concept(word), word)
			require.Equal(t, concept(row[0]), concept(word), word)
		}
	}
	require.NotEqual(t, concept("buy"), concept("weather"))
	require.Zero(t, concept("zyzzyva"))
	require.Zero(t, concept("never"), "not by the beginning of a word for snow")
}

// Every line of conceptsElsewhere and conceptsEurope begins with a word of a group, and names no word
// that another line has too.
func TestConceptsElsewhere(t *testing.T) {
	groupOf := map[string]string{}
	for line := range strings.Lines(conceptsElsewhere + conceptsEurope) {
		words := strings.Fields(line)
		var buf [stem.Longest]rune
		require.Contains(t, conceptOf, hashWord(stem.EnglishRunes(buf[:0], folded(words[0]))))
		for _, word := range words[1:] {
			require.Empty(t, groupOf[word], "%s in %s", word, words[0])
			groupOf[word] = words[0]
			if start, is := strings.CutSuffix(word, "-"); is {
				n := len(folded(start))
				require.True(t, n >= minStart && n <= maxStart, "%s has %d characters", word, n)
			}
		}
	}
}

// A word of a long one in a script without spaces, of three characters.
func TestConceptOfThreeCharacters(t *testing.T) {
	require.Subset(t, seenIn(viewConcept, "今朝のメールを見せて"), seenIn(viewConcept, "email"))
	require.NotEmpty(t, seenIn(viewConcept, "email"))
}

// A Thai word in the middle of a text; "close" is no part of "open", nor "light" of "file".
func TestConceptOfThai(t *testing.T) {
	require.Subset(t, seenIn(viewConcept, "พรุ่งนี้อากาศเป็นไง"), seenIn(viewConcept, "weather"))
	require.Subset(t, seenIn(viewConcept, "ช่วยปิดหน่อย"), seenIn(viewConcept, "close"))
	require.NotSubset(t, seenIn(viewConcept, "ช่วยเปิดหน่อย"), seenIn(viewConcept, "close"))
	require.NotSubset(t, seenIn(viewConcept, "ส่งไฟล์"), seenIn(viewConcept, "lamp"))
}

// Every line of conceptsFurther begins with a word of a group, and its beginnings of
// words have a length that is looked up.
func TestConceptsFurther(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(conceptsFurther)) {
		words := strings.Fields(line)
		var buf [stem.Longest]rune
		require.Contains(t, conceptOf, hashWord(stem.EnglishRunes(buf[:0], folded(words[0]))), words[0])
		for _, word := range words[1:] {
			n := len(folded(word))
			require.NotZero(t, n, word)
			if _, is := strings.CutSuffix(word, "-"); is {
				require.True(t, n >= minStart && n <= maxStart, "%s has %d characters", word, n)
			}
			for _, r := range word {
				require.False(t, isThai(r) && n > longestThai, "%s has %d characters", word, n)
			}
		}
	}
}

// seenIn returns the features of a text in one view.
func seenIn(v view, s string) map[uint64]bool {
	var t reading
	t.reset(s)
	out := map[uint64]bool{}
	for _, f := range appendFeatures(nil, &t) {
		if f.view == v {
			out[f.hash] = true
		}
	}
	return out
}

func TestPairsIgnoreDistanceAndOrder(t *testing.T) {
	for _, row := range []struct {
		name, a, b string
		want       int // pairs that both have
	}{
		{"far apart", "zork the very old blim", "zork blim", 1},
		{"in the other order", "blim zork", "zork blim", 1},
		{"in another form", "zorks were blimming", "zork and blim", 1},
		{"in words for the same", "buy zork", "zork I want to purchase", 1},
		{"every pair", "zork blim fnord", "fnord zork blim", 3},
		{"one word alone", "zork", "zork blim", 0},
		{"other words", "zork blim", "zork fnord", 0},
		{"no word", "", "zork blim", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			both := 0
			other := seenIn(viewCompany, row.b)
			for hash := range seenIn(viewCompany, row.a) {
				if other[hash] {
					both++
				}
			}
			require.Equal(t, row.want, both)
		})
	}
}

func TestPairsAreBounded(t *testing.T) {
	n := 0
	for _, f := range appendFeatures(nil, &reading{
		runes:  []rune("zork"),
		tokens: slices.Repeat([]token{{start: 0, end: 4, kind: tokenWord}}, 40),
	}) {
		if f.view == viewCompany {
			n++
		}
	}
	require.Equal(t, 12*11/2+28*12, n, "every word is paired with the earlier ones among the first twelve")
}

func TestNeighbourPairsKeepTheirOrder(t *testing.T) {
	require.NotEqual(t, seenIn(viewPair, "zork blim"), seenIn(viewPair, "blim zork"))
	require.Len(t, seenIn(viewPair, "zork blim fnord"), 4, "two pairs and the two ends")
}

// A small model keeps all features; a large one drops the rare ones except words.
func TestLargeModelsDropRareFeatures(t *testing.T) {
	texts := []string{"rare words", "rare words", "common enough", "common enough", "common enough"}
	var samples []sample
	for _, s := range texts {
		samples = append(samples, sample{text: s})
	}
	known := func(classes int, v view, text string) (n int) {
		sp := newSpace(samples, classes, nil)
		for hash := range seenIn(v, text) {
			if sp.find(hash) >= 0 {
				n++
			}
		}
		return n
	}
	const few, many = 1, maxWeights / 16 // the texts have more than 16 features
	for v := range numViews {
		if v == viewConcept {
			continue // made-up words and these have none
		}
		all := len(seenIn(v, "rare words"))
		require.Positive(t, all)
		require.Equal(t, all, known(few, v, "rare words"), "view %d of a small model", v)
		want := 0
		if v == viewWord {
			want = all
		}
		require.Equal(t, want, known(many, v, "rare words"), "view %d of a large model", v)
		require.Equal(t, len(seenIn(v, "common enough")), known(many, v, "common enough"), "view %d", v)
	}
}

func TestBundledCatalogueKeepsAllFeatures(t *testing.T) {
	cat := intents.Bundled()
	known := Trained(cat).lexicon
	for _, sm := range samplesOf(cat) {
		for v := range numViews {
			for hash := range seenIn(v, sm.text) {
				if known.find(hash) < 0 { // require takes longer than the look-up
					require.Fail(t, "a feature was dropped, which loses right hints in every language: raise maxWeights", sm.text)
				}
			}
		}
	}
}

func TestAssertions(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "The user wants to book a flight", []string{"The user wants to book a flight"}},
		{"denial", "Not for greetings (see CHAT).", nil},
		{"sentence and denial", "Asks about the weather. Not for the climate.", []string{"Asks about the weather"}},
		{"clause", "Recent turns, not older ones", []string{"Recent turns"}},
		{"Chinese", "使用者想訂機票。不包括飯店", []string{"使用者想訂機票"}},
		{"a lone word", "no", []string{"no"}},
		{"blank", "  ", nil},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, assertions(row.in)) })
	}
}

func TestDictionary(t *testing.T) {
	d := newDictionary(1)
	hash := func(i int) uint64 { return hashEnd(hashStep(hashSeed, rune(i)), viewWord) }
	for i := range 5000 {
		require.Equal(t, int32(i), d.add(hash(i)))
		require.Equal(t, int32(i), d.add(hash(i)))
	}
}

func TestFitLogistic(t *testing.T) {
	var obs []observation
	for i := range 400 {
		// Three in four are right at one, one in four at minus one.
		x := float64(i%2)*2 - 1
		right := (i/2)%4 == 0 == (x < 0)
		obs = append(obs, observation{signals: signals{sigBias: 1, sigScore: x}, inScope: right, weight: 1})
	}
	l := fitLogistic(obs, func(o *observation) (hit, use bool) { return o.inScope, true }, logistic{}, 0.01)
	require.InDelta(t, 0.25, l.probability(&signals{sigBias: 1, sigScore: -1}), 0.01)
	require.InDelta(t, 0.75, l.probability(&signals{sigBias: 1, sigScore: 1}), 0.01)

	prior := logistic{sigBias: 3}
	require.Equal(t, prior, fitLogistic(nil, func(*observation) (hit, use bool) { return true, true }, prior, 1))
}

func TestComplexity(t *testing.T) {
	for _, row := range []struct{ name, intent, in, want string }{
		{"empty", "", "", "low"},
		{"a question", "", "what time is it in Tokyo?", "low"},
		{"a request in Chinese", "", "幫我把這句話翻成英文", "low"},
		{"one demanding verb", "", "compare the two laptops", "medium"},
		{"demanding in Chinese", "", "幫我分析這份資料", "medium"},
		{"demanding in Japanese", "", "新しいAPIを設計して", "medium"},
		{"a sentence of some length with a step", "", "look up the cheapest train from Berlin to Prague on Friday morning and then send me the link by mail please", "medium"},
		{"several questions", "", "who wrote this? when? and why is it here? what does it do? is it used?", "medium"},
		{"several steps of demanding work", "", "analyze the logs, then design a fix, then implement it and finally write a report", "high"},
		{"steps in Chinese", "", "先分析需求，然後設計架構，接著實作，最後寫一份報告", "high"},
		{"a list", "", "please refactor this:\n- split the parser\n- add tests\n- remove the cache\n", "high"},
		{"a numbered list", "", "debug these\n1. login fails\n2) logout hangs\n3、 空白頁", "high"},
		{"code", "", "why is this slow? debug it\n```go\nfor {}\n```\nthen benchmark", "high"},
		{"words inside words do not count", "", "my plane designer-bag thence", "low"},
		{"very long", "", strings.Repeat("please compare these carefully and ", 5000), "high"},
		{"an act that many words explain", "PRODUCTIVITY_CALENDAR", "so the physio rang, somebody cancelled, and now I can have the slot on thursday at four instead of the one next week, could you put that in please", "low"},
		{"small talk about work", "CHAT", "thanks for the detailed report, and for comparing all the plans", "low"},
		{"work in a few words", "PRODUCTIVITY_EMAIL", "answer anna, say yes to the trip", "medium"},
		{"a fact about what is work otherwise", "RESEARCH_GENERAL", "who wrote the theory of moral sentiments", "low"},
		{"reasons for what is a fact otherwise", "RESEARCH_GENERAL", "why do onions make you cry?", "medium"},
		{"one command", "SYSTEM_INFRASTRUCTURE", "restart nginx please", "low"},
		{"a confirmation of work", "CODE_WRITING", "yes, delete them", "low"},
		{"a large thing in a few words", "CODE_WRITING", "build me a habit tracker as a web app", "high"},
		{"a large thing in Chinese", "CODE_ARCHITECTURE", "设计一个支持百万用户的秒杀系统", "high"},
		{"a large thing in Russian", "CODE_WRITING", "разработай приложение для записи в парикмахерскую", "high"},
		{"reasons, of an intent that nobody knows", "MINE", "why is the oven cold?", "medium"},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, complexityOf(&reading{}, row.in, row.intent)) })
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		"?! …":                   "",
		"  What's  THIS, then? ": "whats this then",
		"Crème brûlée ＡＢＣ":       "creme brulee abc",
		"打開 Chrome 的設定":          "打开 chrome 的设定",
		"pleeeease 1000":         "pleease 1000",
		"👍🏽 50%":                 "👍 50 %",
	} {
		got := Normalize(in)
		require.Equal(t, want, got)
		require.Equal(t, got, Normalize(got), "normalising twice changes nothing")
	}
	require.Less(t, len(Normalize(strings.Repeat("ab ", 400))), 400, "only what the classifier reads")
}

// Every text has the constant feature, so a classifier that most texts are not
// for starts below zero.
func TestSolverKnowsThatMostTextsAreOfOtherClasses(t *testing.T) {
	var samples []sample
	for i := range 40 {
		samples = append(samples, sample{text: fmt.Sprintf("word%d thing%d", i, i%7), class: int32(i % 8)})
	}
	sp := newSpace(samples, 8, nil)
	s := newSolver(sp.rows, sp.nShared, 8)
	s.run(maxEpochs, 1, nil)
	for _, b := range s.blocks {
		for c, v := range b.constant {
			require.Negative(t, v, "class %d", b.first+c)
		}
	}
	for _, v := range newWeights(s, sp.nCommon).constant {
		require.Negative(t, v, "a text without a known word")
	}

	s = newSolver(sp.rows, sp.nShared, 8)
	s.run(maxEpochs, 1, nil)
	everything := make([]bool, len(samples))
	for i := range everything {
		everything[i] = true
	}
	s.forget(everything)
	for _, b := range s.blocks {
		require.InDeltaSlice(t, make([]float32, b.width), b.constant, 1e-5, "nothing is left of forgotten rows")
	}
}

func TestAMentionInFrontIsNoWord(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"@a_test_bot what is on today?": "what is on today?",
		"@Ada-1, remind me":             "remind me",
		" @ada:\nremind me":             "remind me",
		"@ada":                          "@ada",
		"@ada's plan":                   "@ada's plan",
		"mail ada@example.org":          "mail ada@example.org",
		"@ 9 call":                      "@ 9 call",
		"":                              "",
	} {
		require.Equal(t, want, withoutAddress(message), message)
	}
	m, cat := bundled(), intents.Bundled()
	bare := m.Classify(classify.Input{Latest: "What is on my calendar tomorrow?", Catalog: cat})
	named := m.Classify(classify.Input{Latest: "@a_test_bot What is on my calendar tomorrow?", Catalog: cat})
	require.Equal(t, []any{bare.Intent, bare.Confidence}, []any{named.Intent, named.Confidence})
}
