package local_test

import (
	"strings"
	"sync"
	"testing"

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
		{"typos", "transalte this into Germn", "TRANSLATE"},
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
