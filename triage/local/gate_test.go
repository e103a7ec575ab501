package local_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/triage/local"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// said returns earlier messages, a minute apart, the last a minute before now.
// Lines are "sender: text"; those of "Bot" are the bot's.
func said(lines ...string) []local.Earlier {
	var list []local.Earlier
	for i, l := range lines {
		sender, text, _ := strings.Cut(l, ": ")
		list = append(list, local.Earlier{
			Sender: sender, Text: text, Bot: sender == "Bot",
			At: now.Add(time.Duration(i-len(lines)) * time.Minute),
		})
	}
	return list
}

var chat = said("Tom: im ordering thai, anyone want something", "Maya: yes please, green curry",
	"Tom: ok ordered, 40 min", "Maya: what do I owe you")

// computes is for tests in which the race detector has nothing to find.
func computes(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("no goroutines, and slow under the race detector")
	}
}

// trained is a gate without marks, trained once.
var trained = sync.OnceValue(func() *local.Gate { return local.New(nil) })

func TestJudgeIsSure(t *testing.T) {
	gate := trained()
	for name, tt := range map[string]struct {
		text, sender string
		recent       []local.Earlier
		respond      bool
	}{
		"reply to a person":    {"11.50", "Tom", chat, false},
		"agreement":            {"ok cool", "Tom", chat, false},
		"laughter":             {"hahaha", "Tom", chat, false},
		"emoji":                {"😂😂", "Tom", chat, false},
		"Chinese agreement":    {"好的", "小雨", said("妈妈: 你们晚上回来吃饭吗", "爸爸: 回"), false},
		"Japanese agreement":   {"了解です", "田中", said("課長: 会議は10時からです", "佐藤: はい"), false},
		"German reply":         {"ja klar, bin dabei", "Jens", said("Uwe: wer kommt am Samstag?", "Katja: ich"), false},
		"question to the room": {"does anyone know how long rice has to cook and how much water it needs?", "Tom", chat, true},
		"Chinese question":     {"有人知道红烧肉要炖多久吗", "小雨", said("妈妈: 早", "爸爸: 早"), true},
		"Japanese question":    {"東京から大阪まで新幹線だといくらか教えてください", "田中", said("課長: おはよう", "佐藤: はい"), true},
		"German question":      {"Weiß jemand wie lange man Eier kochen muss?", "Oma", said("Mama: Guten Morgen", "Opa: Morgen"), true},
	} {
		t.Run(name, func(t *testing.T) {
			respond, sure, p := gate.Judge(local.Input{
				Text: tt.text, Sender: tt.sender, BotName: "Pixel", At: now, Recent: tt.recent,
			})
			require.True(t, sure, "p %.4f", p)
			require.Equal(t, tt.respond, respond)
		})
	}
}

func TestJudgeIsNotSure(t *testing.T) {
	gate := trained()
	for name, tt := range map[string]struct {
		text   string
		recent []local.Earlier
	}{
		"empty":                         {"", chat},
		"blank":                         {" \t\n\u3000", chat},
		"invisible":                     {"\u200b", chat},
		"Russian":                       {"хорошо, договорились", chat},
		"Ukrainian question":            {"хтось знає, котра година?", chat},
		"Arabic":                        {"شكرا جزيلا", chat},
		"Hebrew":                        {"תודה רבה", chat},
		"Korean":                        {"네 알겠습니다", chat},
		"Thai":                          {"ขอบคุณครับ", chat},
		"Hindi":                         {"ठीक है", chat},
		"Greek":                         {"καλημέρα σε όλους", chat},
		"Korean after Chinese":          {"감사합니다 여러분", said("妈妈: 早上好", "爸爸: 早")},
		"French":                        {"merci beaucoup", chat},
		"French question":               {"quelqu'un sait à quelle heure ferme la boulangerie ?", chat},
		"French statement":              {"on se voit demain", chat},
		"Spanish":                       {"gracias, nos vemos mañana", chat},
		"Spanish question":              {"alguien sabe dónde está la estación?", chat},
		"Italian":                       {"grazie mille a tutti", chat},
		"Portuguese":                    {"obrigado, até amanhã", chat},
		"Dutch":                         {"het is niet zo erg, wij komen ook", chat},
		"Swedish":                       {"jag vet inte, vad tycker ni", chat},
		"Polish":                        {"dzięki, do jutra", chat},
		"Turkish":                       {"teşekkürler, yarın görüşürüz", chat},
		"Vietnamese":                    {"cảm ơn bạn rất nhiều", chat},
		"Indonesian":                    {"terima kasih semua, sampai besok", chat},
		"Finnish, nothing known before": {"kiitos", nil},
		"unknown word, nothing before":  {"xyzzy", nil},
		"too long":                      {strings.Repeat("ok cool ", 200), chat},
		"too long, Chinese":             {strings.Repeat("好的哈哈", 300), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, sure, p := gate.Judge(local.Input{
				Text: tt.text, Sender: "Tom", BotName: "Pixel", At: now, Recent: tt.recent,
			})
			require.False(t, sure, "p %.4f", p)
		})
	}
}

// After an answer of the bot a message that is no question by its words may
// well go on with it.
func TestJudgeSkipsNothingOfAThreadWithTheBot(t *testing.T) {
	gate := trained()
	bot := said("Ann: what is a good cake without nuts?", "Bot: A cheese cake with tangerines. Shall I send the steps?")
	for _, text := range []string{"yes please", "without eggs", "too sweet", "the second one", "and in ounces", "no, for 12 people", "still too long"} {
		respond, sure, p := gate.Judge(local.Input{Text: text, Sender: "Ann", BotName: "Pixel", At: now, Recent: bot})
		require.False(t, sure && !respond, "%q %.4f", text, p)
	}
}

// testdata/questions.txt holds questions to the room that nothing was trained
// on. They come out of the blue, and in the midst of a talk.
func TestJudgeSkipsHardlyAnyQuestion(t *testing.T) {
	gate := trained()
	talk := map[string][]local.Earlier{
		"en": said("Ann: did you feed the cat", "Bob: yes", "Ann: and who's cooking tonight?"),
		"de": said("Uwe: wer kommt am Samstag?", "Katja: ich", "Jens: bin dabei", "Uwe: super"),
		"zh": said("妈妈: 你们晚上回来吃饭吗", "爸爸: 回", "小雨: 不回", "妈妈: 少吃辣"),
		"ja": said("課長: 会議は10時からです", "佐藤: はい", "田中: 了解です", "課長: よろしく"),
	}
	file, err := os.ReadFile("testdata/questions.txt")
	require.NoError(t, err)
	var skipped []string
	asked := 0
	for line := range strings.Lines(string(file)) {
		language, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, recent := range [][]local.Earlier{nil, talk[language]} {
			asked++
			respond, sure, _ := gate.Judge(local.Input{Text: text, Sender: "Zed", BotName: "Pixel", At: now, Recent: recent})
			if sure && !respond {
				skipped = append(skipped, text)
			}
		}
	}
	require.Equal(t, 96, asked)
	require.LessOrEqual(t, len(skipped), 1, "%q", skipped)
}

// No wording makes the gate skip a message that calls the bot.
func TestJudgeNeverSkipsTheBotsName(t *testing.T) {
	computes(t)
	gate := trained()
	for _, tt := range []struct{ bot, call string }{
		{"Pixel", "Pixel"},
		{"Pixel", "pixel"},
		{"Pixel", "PIXEL,"},
		{"Pixel", "@pixel"},
		{"Pixel", "Pixels"},
		{"Pixel", "Pixle"},
		{"Pixel", "Pixl"},
		{"Pixel", "Pixell"},
		{"Pixel", "Pixal"},
		{"Pixel", "Ｐｉｘｅｌ"},
		{"Pixel Assistant", "pixel"},
		{"家庭小智", "家庭小智"},
		{"小智", "小智"},
		{"ハル", "ハル、"},
		{"ハル", "ハルさん"},
		{"K9", "k9"},
		{"", "hey bot"},
		{"", "机器人"},
		{"", "ボット"},
	} {
		t.Run(tt.bot+"/"+tt.call, func(t *testing.T) {
			for _, e := range local.Bundled() {
				for _, text := range []string{tt.call + " " + e.Text, e.Text + " " + tt.call} {
					in := e.Input
					in.BotName, in.Text = tt.bot, text
					respond, sure, _ := gate.Judge(in)
					require.False(t, sure && !respond, "%q", text)
				}
			}
		})
	}
}

func TestJudgeSeesWhatWasSaidBefore(t *testing.T) {
	gate := trained()
	judge := func(text, sender string, recent []local.Earlier) float64 {
		_, _, p := gate.Judge(local.Input{Text: text, Sender: sender, BotName: "Pixel", At: now, Recent: recent})
		return p
	}
	people := said("Ann: how was your trip", "Tom: great, two weeks in the sun")
	bot := said("Ann: how long does it take to boil an egg?", "Bot: Six minutes for a soft one, ten for a hard one.")
	answered := said("Ann: how long does it take to boil an egg?")
	answered[0].Answered = true
	silent := said("Ann: how long does it take to boil an egg?", "Bot: ")

	require.Greater(t, judge("and for two?", "Ann", bot), judge("and for two?", "Ann", people), "a question after an answer")
	require.Greater(t, judge("and for two?", "Ann", silent), judge("and for two?", "Ann", people), "the text of the answer is unknown")
	require.Greater(t, judge("and for two?", "Ann", bot), judge("and for two?", "Tom", bot), "asked by whom it was given")
	require.Equal(t, judge("and for two?", "Ann", silent), judge("and for two?", "Ann", answered), "only that it was let through is known")
	require.Less(t, judge("Tom, what do you want to eat?", "Ann", people), judge("what is there to eat?", "Ann", people), "another's name")
}

func TestTrainIsDeterministic(t *testing.T) {
	computes(t)
	a, b := trained(), local.New(nil)
	for _, e := range local.Bundled() {
		respondA, sureA, pA := a.Judge(e.Input)
		respondB, sureB, pB := b.Judge(e.Input)
		require.Equal(t, pA, pB)
		require.Equal(t, respondA, respondB)
		require.Equal(t, sureA, sureB)
	}
}

func TestTrainWithoutBothKindsIsNeverSure(t *testing.T) {
	computes(t)
	for name, examples := range map[string][]local.Example{
		"none":    nil,
		"one":     local.Bundled()[:1],
		"skips":   only(func(e local.Example) bool { return !e.Respond }),
		"answers": only(func(e local.Example) bool { return e.Respond }),
		"weightless": mapped(func(e *local.Example) {
			e.Weight = []float64{0, -1, math.NaN()}[len(e.Text)%3]
		}),
	} {
		t.Run(name, func(t *testing.T) {
			gate := local.Train(examples)
			for _, e := range local.Bundled() {
				_, sure, p := gate.Judge(e.Input)
				require.False(t, sure)
				require.InDelta(t, 0.5, p, 0.5)
			}
		})
	}
}

// With too few messages that deserve an answer nothing is known of the rare
// ones, so nothing is skipped.
func TestTrainOnLittleSkipsNothing(t *testing.T) {
	computes(t)
	gate := local.Train(only(func(e local.Example) bool { return e.Group == "flat-12" || e.Group == "yijiaren" }))
	for _, e := range local.Bundled() {
		respond, sure, _ := gate.Judge(e.Input)
		require.False(t, sure && !respond)
	}
}

func TestTrainBoundsWeights(t *testing.T) {
	computes(t)
	gate := local.Train(mapped(func(e *local.Example) { e.Weight = math.Inf(1) }))
	for _, e := range local.Bundled() {
		_, _, p := gate.Judge(e.Input)
		require.False(t, math.IsNaN(p))
	}
}

// Marks that say "skip" throughout teach that a group wants no answers, and
// other groups keep theirs.
func TestMarksTeachAGroup(t *testing.T) {
	computes(t)
	in := func(groups ...string) func(local.Example) bool {
		return func(e local.Example) bool { return slices.Contains(groups, e.Group) }
	}
	quiet, other := only(in("tinyserve-users")), only(in("eigyo-2ka"))
	rest := only(func(e local.Example) bool { return !in("tinyserve-users", "eigyo-2ka")(e) })
	answers := func(gate *local.Gate, list []local.Example) (n int) {
		for _, e := range list {
			if respond, sure, _ := gate.Judge(e.Input); sure && respond {
				n++
			}
		}
		return n
	}
	before := local.Train(rest)
	require.Greater(t, answers(before, quiet[60:]), 4)
	require.Greater(t, answers(before, other), 8)
	for name, change := range map[string]func(*local.Example){
		"as they came":                     func(*local.Example) {},
		"without what was said before":     func(e *local.Example) { e.Recent, e.At = nil, time.Time{} },
		"the text alone, no language told": func(e *local.Example) { e.Recent, e.At, e.Sender, e.Language = nil, time.Time{}, "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			marks := slices.Clone(quiet[:60])
			for i := range marks {
				marks[i].Respond, marks[i].Mark = false, true
				change(&marks[i])
			}
			after := local.Train(slices.Concat(rest, marks))
			require.Less(t, 2*answers(after, quiet[60:]), answers(before, quiet[60:])+1, "at most half")
			require.Greater(t, answers(after, other), 8)
		})
	}
}

func TestNewReadsTheNewestMarks(t *testing.T) {
	computes(t)
	set := len(local.Bundled())
	newest := make([]local.Example, local.MaxMarks)
	for i := range newest {
		newest[i] = local.Bundled()[i%100]
	}
	old := local.Bundled()[200:300]
	with, without := local.New(slices.Concat(old, newest)), local.New(newest)
	for _, e := range local.Bundled() {
		_, _, a := with.Judge(e.Input)
		_, _, b := without.Judge(e.Input)
		require.Equal(t, b, a)
	}
	require.Len(t, local.Bundled(), set, "the set is not changed by training on more")
}

func TestJudgeReadsTheNewestEarlierMessages(t *testing.T) {
	gate := trained()
	many := slices.Concat(said("Bot: Six minutes."), slices.Repeat(chat, local.MaxRecent/len(chat)))
	_, _, a := gate.Judge(local.Input{Text: "and then", Sender: "Tom", At: now, Recent: many})
	_, _, b := gate.Judge(local.Input{Text: "and then", Sender: "Tom", At: now, Recent: many[1:]})
	require.Equal(t, b, a)
}

func only(keep func(local.Example) bool) []local.Example {
	return slices.DeleteFunc(slices.Clone(local.Bundled()), func(e local.Example) bool { return !keep(e) })
}

func mapped(change func(*local.Example)) []local.Example {
	list := slices.Clone(local.Bundled())
	for i := range list {
		change(&list[i])
	}
	return list
}

func FuzzJudge(f *testing.F) {
	gate := trained()
	f.Add("how long do eggs boil?", "Tom", "Pixel", "hello", int64(60), true)
	f.Add("", "", "", "", int64(0), false)
	f.Add("小智,明天下雨吗😂", "妈妈", "小智", "いいね\xff", int64(-5), true)
	f.Add("'’'ʼ̈́ ﷺ ㌀ ẞ", "\x00", "bot", "ー〜", int64(1)<<60, false)
	f.Fuzz(func(t *testing.T, text, sender, bot, earlier string, seconds int64, isBot bool) {
		in := local.Input{
			Text: text, Sender: sender, BotName: bot, At: now,
			Recent: []local.Earlier{
				{Sender: sender, Text: text, At: now.Add(time.Duration(seconds))},
				{Sender: bot, Text: earlier, At: now.Add(-time.Duration(seconds) * time.Second), Bot: isBot},
			},
		}
		respond, sure, p := gate.Judge(in)
		require.True(t, p >= 0 && p <= 1, "p %v", p)
		again, sureAgain, pAgain := gate.Judge(in)
		require.Equal(t, []any{respond, sure, p}, []any{again, sureAgain, pAgain})
		if bot != "" && strings.TrimSpace(bot) != "" && strings.Contains(text, bot) {
			require.False(t, sure && !respond)
		}
	})
}
