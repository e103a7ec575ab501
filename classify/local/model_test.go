package local_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/payload"
)

func intent(id, trigger string, examples ...string) intents.Intent {
	return intents.Intent{ID: id, Name: strings.ReplaceAll(strings.ToLower(id), "_", " "), Triggers: []string{trigger}, Examples: examples}
}

// assistant is a small catalogue in English, Chinese in both scripts, and
// Japanese.
func assistant() *intents.Catalog {
	return intents.NewCatalog([]intents.Intent{
		intent("WEATHER", "The user asks about the weather",
			"what is the weather like in Taipei", "will it rain tomorrow", "do I need an umbrella today",
			"how cold will it get tonight", "weather forecast for the weekend",
			"今天天氣怎麼樣", "明天會下雨嗎", "需要帶雨傘嗎", "今日の天気は", "明日は雨が降りますか"),
		intent("CALENDAR", "The user wants to see or change appointments",
			"what is on my calendar today", "schedule a meeting with Anna on Monday", "move my dentist appointment to Friday",
			"cancel the meeting at three", "when am I free this week",
			"幫我安排明天的會議", "取消下午三點的會議", "我今天有什麼行程", "会議を予約してください", "来週の予定を教えて"),
		intent("CODE_REVIEW", "The user wants code to be reviewed",
			"review this pull request", "please look over my code for bugs", "is this function thread safe",
			"check the diff before I merge", "what do you think of this patch",
			"幫我審查這段程式碼", "这段代码有没有问题", "看一下我的 PR", "コードをレビューして", "このプルリクエストを見てください"),
		intent("TRANSLATE", "The user wants a text in another language",
			"translate this into German", "how do you say thank you in French", "what does ciao mean in English",
			"put this paragraph into Spanish", "I need a Japanese translation",
			"把這句話翻譯成英文", "这个词用法语怎么说", "請翻成日文", "英語に翻訳して", "これを中国語に訳して"),
		intent("MUSIC_PLAY", "The user wants to hear music",
			"play some jazz", "put on my workout playlist", "play the new album by Adele",
			"I want to listen to relaxing music", "skip this song",
			"播放周杰倫的歌", "放一點輕音樂", "我想聽音樂", "音楽をかけて", "ジャズを流して"),
	})
}

func ask(m *local.Model, cat *intents.Catalog, message string, turns ...payload.Turn) payload.Classification {
	return m.Classify(classify.Input{Catalog: cat, Latest: message, Conversation: turns})
}

func TestClassify(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	for _, row := range []struct{ name, message, want string }{
		{"an example", "will it rain tomorrow", "WEATHER"},
		{"other words of an intent", "is it going to rain on the weekend?", "WEATHER"},
		{"capitals and punctuation", "REVIEW!!! this pull-request...", "CODE_REVIEW"},
		{"full-width", "ｐｌａｙ　ｓｏｍｅ　ｊａｚｚ", "MUSIC_PLAY"},
		{"emoji", "🎵 play some jazz 🎷🙏", "MUSIC_PLAY"},
		{"typos", "translat this ino Germn", "TRANSLATE"},
		{"traditional Chinese", "明天台北會不會下雨", "WEATHER"},
		{"simplified Chinese", "帮我审查一下这段代码", "CODE_REVIEW"},
		{"Japanese", "来週の会議の予定", "CALENDAR"},
		{"mixed scripts", "幫我看一下這個 pull request", "CODE_REVIEW"},
		{"gibberish", "qzxv wkjq ppfh zzr", intents.FallbackID},
		{"another subject", "quantum chromodynamics lattice gauge", intents.FallbackID},
		{"empty", "", intents.FallbackID},
		{"blank", " \n\t ", intents.FallbackID},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ask(m, cat, row.message)
			require.Equal(t, row.want, got.Intent, "%+v", got)
			require.Equal(t, payload.SourceLocal, got.Source)
			require.NotEmpty(t, got.Reason)
			require.GreaterOrEqual(t, got.Confidence, 0.0)
			require.LessOrEqual(t, got.Confidence, 1.0)
		})
	}
}

func TestDeniedIntentsAreNeverAnswered(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	narrow := cat.Without([]string{"WEATHER", "MUSIC_*"})
	for _, message := range []string{"will it rain tomorrow", "play some jazz", "今天天氣怎麼樣"} {
		require.NotContains(t, []string{"WEATHER", "MUSIC_PLAY"}, ask(m, narrow, message).Intent)
	}
	require.Equal(t, "CODE_REVIEW", ask(m, narrow, "review this pull request").Intent)
	require.Equal(t, intents.FallbackID, ask(m, cat.Without([]string{"*"}), "review this pull request").Intent)
}

func TestFollowUps(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	user := func(text string) payload.Turn { return payload.Turn{Role: "user", Text: text} }
	agent := func(text string) payload.Turn { return payload.Turn{Role: "assistant", Text: text} }
	rain := []payload.Turn{user("will it rain tomorrow in Taipei"), agent("Shall I play some jazz or translate this into German instead?")}
	vague := []payload.Turn{rain[0], agent("In the north or in the south?")}
	for _, row := range []struct {
		name, message string
		turns         []payload.Turn
		want          string
	}{
		{"yes", "yes please", vague, "WEATHER"},
		{"a choice", "the second one", vague, "WEATHER"},
		{"a number", "2", vague, "WEATHER"},
		{"Chinese", "好啊", vague, "WEATHER"},
		{"Chinese choice", "第二個", vague, "WEATHER"},
		{"Japanese", "はい、お願いします", vague, "WEATHER"},
		{"yes to an offer", "yes please", rain, "TRANSLATE"},
		{"a choice of what is offered", "the second one", rain, "TRANSLATE"},
		{"Chinese, to an offer", "好啊", rain, "TRANSLATE"},
		{"Japanese, to an offer", "はい、お願いします", rain, "TRANSLATE"},
		{"elliptic", "and on the weekend?", rain, "WEATHER"},
		{"continues", "what about Kaohsiung instead", rain, "WEATHER"},
		{"continues in Chinese", "那高雄呢", rain, "WEATHER"},
		{"continues with a new subject", "and play some jazz", rain, "MUSIC_PLAY"},
		{"skips another follow-up", "ok do it", append(slices.Clone(vague), user("yes"), agent("Sure?")), "WEATHER"},
		{"an answer to an offer, and another follow-up", "ok do it", append(slices.Clone(rain), user("yes"), agent("Sure?")), "TRANSLATE"},
		{"a new subject", "play some jazz", rain, "MUSIC_PLAY"},
		{"a new subject, short", "review my code", rain, "CODE_REVIEW"},
		{"no conversation", "yes please", nil, intents.FallbackID},
		{"only the assistant spoke", "yes please", vague[1:], intents.FallbackID},
		{"only the assistant spoke, and offered", "yes please", rain[1:], "TRANSLATE"},
		{"gibberish stays gibberish", "qzxv wkjq", rain, intents.FallbackID},
		{"the earlier message fits nothing", "yes please", []payload.Turn{user("qzxv wkjq")}, intents.FallbackID},
		{"a long message stands alone", "yes but the quantum chromodynamics lattice gauge fields of heavy baryons wobble more than the Higgs couplings of our accelerator", rain, intents.FallbackID},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ask(m, cat, row.message, row.turns...)
			require.Equal(t, row.want, got.Intent, "%+v", got)
		})
	}

	followed, asked := ask(m, cat, "yes please", vague...), ask(m, cat, rain[0].Text)
	require.Less(t, followed.Confidence, asked.Confidence, "a follow-up is less certain than what it follows")
	require.Contains(t, followed.Goal, "yes please")
	require.Contains(t, followed.Goal, "will it rain tomorrow in Taipei")
	require.Contains(t, followed.Reason, "will it rain tomorrow in Taipei")

	narrow := cat.Without([]string{"WEATHER"})
	require.NotEqual(t, "WEATHER", ask(m, narrow, "yes please", rain...).Intent)
}

func TestReasonAndGoal(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	got := ask(m, cat, "please\nreview   this pull request")
	require.Equal(t, "please review this pull request", got.Goal)
	require.Contains(t, got.Reason, "review this pull request")

	// No example is like it as a whole: a word must speak for it.
	got = ask(m, cat, "umbrella umbrella for my grandmother's goldfish aquarium")
	if got.Intent == "WEATHER" {
		require.Contains(t, got.Reason, "umbrella")
	}

	long := ask(m, cat, strings.Repeat("will it rain tomorrow\n", 500))
	require.LessOrEqual(t, utf8.RuneCountInString(long.Goal), 160)
	require.NotContains(t, long.Goal, "\n")
	require.LessOrEqual(t, utf8.RuneCountInString(long.Reason), 200)
}

func TestPredict(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	for _, message := range []string{"will it rain tomorrow", "jazz", "qzxv wkjq", "", "今天天氣", "translate the meeting notes"} {
		p := m.Predict(message, nil, nil)
		c := ask(m, cat, message)
		require.Equal(t, c.Confidence, p.Confidence)
		require.NotEmpty(t, p.Intent, "there is always a forced choice")
		require.Equal(t, p.Other, c.Intent == intents.FallbackID)
		if !p.Other {
			require.Equal(t, c.Intent, p.Intent)
		}
		second := slices.IndexFunc(p.Ranked, func(s local.Score) bool { return s.Intent != c.Intent })
		require.Equal(t, p.Ranked[second].Intent, c.RunnerUp, message)
		require.InDelta(t, p.Ranked[second].Probability, c.RunnerUpConfidence, 1e-12, message)
		sum := 0.0
		for i, s := range p.Ranked {
			sum += s.Probability
			require.GreaterOrEqual(t, s.Probability, 0.0)
			require.NotEmpty(t, s.Name)
			if i > 0 {
				require.LessOrEqual(t, s.Probability, p.Ranked[i-1].Probability)
			}
		}
		require.Len(t, p.Ranked, len(cat.Enabled())+1)
		require.InDelta(t, 1, sum, 1e-9, message)
	}

	p := m.Predict("what will the weather be like", nil, nil)
	require.Equal(t, "WEATHER", p.Intent)
	require.Contains(t, p.Words, "weather")
	require.NotEmpty(t, p.Nearest)
	require.Greater(t, p.Similarity, 0.0)
	require.LessOrEqual(t, p.Similarity, 1.0001)

	allowed := make([]bool, len(cat.Enabled()))
	allowed[0] = true
	p = m.Predict("will it rain tomorrow", nil, allowed)
	require.Equal(t, cat.Enabled()[0].ID, p.Intent)
	require.Len(t, p.Ranked, 2)
	var patterns []string
	for _, in := range cat.Enabled()[1:] {
		patterns = append(patterns, in.ID)
	}
	for name, narrowed := range map[string]*intents.Catalog{"one intent": cat.Without(patterns), "two": cat.Without(patterns[1:]), "none": cat.Without([]string{"*"})} {
		c, p := ask(m, narrowed, "will it rain tomorrow"), m.Predict("will it rain tomorrow", nil, narrowed.Allowed())
		second := slices.IndexFunc(p.Ranked, func(s local.Score) bool { return s.Intent != c.Intent })
		if second < 0 {
			require.Empty(t, c.RunnerUp, name)
			continue
		}
		require.Equal(t, p.Ranked[second].Intent, c.RunnerUp, name)
		require.InDelta(t, p.Ranked[second].Probability, c.RunnerUpConfidence, 1e-12, name)
	}
	p = m.Predict("will it rain tomorrow", nil, make([]bool, len(cat.Enabled())))
	require.Empty(t, p.Intent)
	require.True(t, p.Other)
}

func TestTriggersAreLearned(t *testing.T) {
	cat := intents.NewCatalog([]intents.Intent{
		intent("GARDEN", "The user asks about plants, soil or watering. Not for cooking the vegetables."),
		intent("COOKING", "The user asks how to cook a dish"),
		intent("TAXES", "The user asks about taxes"),
	})
	m := local.Train(cat)
	for message, want := range map[string]string{
		"how much soil do my plants need": "GARDEN",
		"cooking vegetables":              "COOKING",
		"help me with my taxes":           "TAXES",
	} {
		require.Equal(t, want, m.Predict(message, nil, nil).Intent, message)
	}
}

func TestExamplesOutweighTriggers(t *testing.T) {
	m := local.Train(intents.NewCatalog([]intents.Intent{
		intent("A", "zebra walrus", "lion tiger"),
		intent("B", "lion tiger", "zebra walrus"),
	}))
	require.Equal(t, "A", m.Predict("lion tiger", nil, nil).Intent)
	require.Equal(t, "B", m.Predict("zebra walrus", nil, nil).Intent)
}

func TestFallbackExamples(t *testing.T) {
	list := assistant().Enabled()
	other := intents.Intent{ID: intents.FallbackID, Name: "Something else", Triggers: []string{"none"}, Examples: []string{
		"which forecast song did my translator review", "the calendar of the rain forest", "rain forest animals", "how tall is a giraffe in the rain forest",
		"what do rain forest frogs eat", "why do frogs live in the rain forest", "rain forest climate zones",
	}}
	cat := intents.NewCatalog(append(slices.Clone(list), other))
	const message = "tall animals of the rain forest"
	got := ask(local.Train(cat), cat, message)
	require.Equal(t, intents.FallbackID, got.Intent, "%+v", got)
	require.Equal(t, "Something else", got.Name)
	got = ask(local.Train(assistant()), assistant(), message)
	require.Equal(t, "WEATHER", got.Intent, "%+v", got)
}

func TestConfidenceMeansSomething(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	require.Greater(t, ask(m, cat, "will it rain tomorrow").Confidence, 0.7)
	require.Greater(t, ask(m, cat, "qzxv wkjq ppfh zzr").Confidence, 0.6)
	vague := ask(m, cat, "this this this meeting music")
	require.Less(t, vague.Confidence, ask(m, cat, "will it rain tomorrow").Confidence)
}

func TestConfidenceIsCalibrated(t *testing.T) {
	// The even examples are known, the odd ones are new messages; a tenth of
	// the intents is not there at all.
	full := synthetic(40, 20)
	var known []intents.Intent
	for i, in := range full.Enabled() {
		if i%10 != 9 {
			half := in
			half.Examples = nil
			for k := 0; k < len(in.Examples); k += 2 {
				half.Examples = append(half.Examples, in.Examples[k])
			}
			known = append(known, half)
		}
	}
	cat := intents.NewCatalog(known)
	m := local.Train(cat)
	confidence, right, n := 0.0, 0.0, 0.0
	for i, in := range full.Enabled() {
		want := in.ID
		if i%10 == 9 {
			want = intents.FallbackID
		}
		for k := 1; k < len(in.Examples); k += 2 {
			got := ask(m, cat, in.Examples[k])
			confidence += got.Confidence
			if got.Intent == want {
				right++
			}
			n++
		}
	}
	require.InDelta(t, right/n, confidence/n, 0.08)
}

func TestLongTextIsBounded(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	messages := []string{
		"will it rain tomorrow? " + strings.Repeat("la la ", 20000),
		strings.Repeat("字", 40000),
		strings.Repeat("e\u0301\u0302\u0303", 20000),
		strings.Repeat("a", 100000),
		strings.Repeat(" ", 100000),
		strings.Repeat("\xff", 100000),
		strings.Repeat("\ufdfa", 40000), // grows to eighteen characters each
		strings.Repeat("👩‍👩‍👧‍👦", 5000),
	}
	fastest := func(message string) time.Duration {
		ask(m, cat, message) // the pool is warm from here on
		best := time.Hour
		for range 20 {
			begin := time.Now()
			ask(m, cat, message)
			best = min(best, time.Since(begin))
		}
		return best
	}
	for _, message := range messages {
		part := fastest(message[:len(message)/10])
		require.Less(t, fastest(message), 30*max(part, 10*time.Microsecond), "ten times the text costs ten times as much at most: %.20q", message)
	}
	require.Equal(t, "WEATHER", ask(m, cat, messages[0][:200]).Intent)
}

func TestClassifyAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget under the race detector")
	}
	cat := assistant()
	m := local.Train(cat)
	in := classify.Input{Catalog: cat, Latest: "will it rain tomorrow in Taipei"}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { m.Classify(in) }), 2.0)
}

func FuzzClassify(f *testing.F) {
	cat := assistant()
	m := local.Train(cat)
	narrow := cat.Without([]string{"WEATHER"})
	for _, seed := range []string{"", "will it rain", "好啊", "yes", "\xff\x00", "ｐｌａｙ", "👍🏽", "\u0301", strings.Repeat("x", 5000)} {
		f.Add(seed, "play some jazz")
		f.Add("yes please", seed)
	}
	f.Fuzz(func(t *testing.T, message, earlier string) {
		turns := []payload.Turn{{Role: "user", Text: earlier}, {Role: "assistant", Text: message}}
		got := ask(m, narrow, message, turns...)
		require.False(t, math.IsNaN(got.Confidence))
		require.GreaterOrEqual(t, got.Confidence, 0.0)
		require.LessOrEqual(t, got.Confidence, 1.0)
		require.NotEqual(t, "WEATHER", got.Intent)
		_, known := narrow.Lookup(got.Intent)
		require.True(t, known)
		require.NotContains(t, got.Goal+got.Reason, "\n")
		require.LessOrEqual(t, utf8.RuneCountInString(got.Goal), 170)
		require.Contains(t, []string{"low", "medium", "high"}, got.Complexity)
		require.Equal(t, got, ask(m, narrow, message, turns...))
	})
}

func FuzzTrain(f *testing.F) {
	f.Add("weather", "will it rain", "play", "jazz please")
	f.Add("", "", "\xff", "👍")
	f.Add("不", "天氣", "Not.", "の")
	f.Fuzz(func(t *testing.T, t1, e1, t2, e2 string) {
		cat := intents.NewCatalog([]intents.Intent{intent("A", t1, e1, e2+"x"), intent("B", t2, e2)})
		m := local.Train(cat)
		for _, message := range []string{t1, e1, t2, e2, "hello"} {
			c := ask(m, cat, message).Confidence
			require.True(t, c >= 0 && c <= 1, "%v", c)
		}
	})
}

func TestReloadedCatalogue(t *testing.T) {
	m := local.Train(assistant())
	fewer := intents.NewCatalog(assistant().Enabled()[1:]) // not narrowed: another root
	require.Equal(t, "CALENDAR", assistant().Enabled()[0].ID)
	require.NotEqual(t, "CALENDAR", ask(m, fewer, "what is on my calendar today").Intent)
	require.Equal(t, "WEATHER", ask(m, fewer, "will it rain tomorrow").Intent)
}

func TestTrainIsDeterministic(t *testing.T) {
	a, b := local.Train(assistant()), local.Train(assistant())
	for _, message := range []string{"play jazz tomorrow", "會議", "translate the diff"} {
		require.Equal(t, a.Predict(message, nil, nil), b.Predict(message, nil, nil))
	}
}

func TestClassifyConcurrently(t *testing.T) {
	cat := assistant()
	m := local.Train(cat)
	messages := []string{"will it rain", "review my patch", "播放音樂", "qqq www", ""}
	want := make([]payload.Classification, len(messages))
	for i, message := range messages {
		want[i] = ask(m, cat, message)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for k := range 200 {
				i := k % len(messages)
				if got := ask(m, cat, messages[i]); got != want[i] {
					t.Errorf("%q: %+v, want %+v", messages[i], got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestEmptyCatalogue(t *testing.T) {
	cat := intents.NewCatalog(nil)
	require.Equal(t, intents.FallbackID, ask(local.Train(cat), cat, "hello").Intent)
}

// A message in a script that no example is written in is like no intent, but that
// does not make it out of scope.
func TestUnreadMessages(t *testing.T) {
	t.Parallel()
	const known = "nothing in the message is typical of one intent"
	cat := intents.Bundled()
	m := local.Trained(cat)
	for name, row := range map[string]struct {
		message string
		unread  bool
	}{
		"Bengali":                {"সব ফাইল তারিখ অনুযায়ী সাজায় এমন একটা প্রোগ্রাম লেখো", true},
		"Armenian":               {"Գրիր ինձ մի ծրագիր, որը բոլոր ֆայլերը դասավորում է ըստ ամսաթվի", true},
		"Georgian":               {"დამიწერე სკრიპტი", true},
		"Tamil":                  {"எனக்கு ஒரு ஸ்கிரிப்ட் எழுது", true},
		"keys pressed at random": {"asdf qwer zxcv", false},
		"a number":               {"12345", false},
		"an emoji":               {"👍", false},
		"punctuation":            {"...", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := m.Classify(classify.Input{Latest: row.message, Catalog: cat})
			if !row.unread {
				require.Equal(t, cat.Fallback().ID, got.Intent)
			}
			require.Equal(t, row.unread, got.Confidence < 0.5, got.Confidence)
			require.NotEqual(t, row.unread, got.Reason == known, got.Reason)
		})
	}
}
