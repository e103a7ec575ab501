package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/payload"
)

func cuesIn(message string) cues {
	var t reading
	t.reset(message)
	return cuesOf(&t)
}

func TestCues(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		has, hasNot   role
		empty         bool // no word says anything of a subject
	}{
		{"begins with and", "and tomorrow?", roleGoesOn, roleRefers, false},
		{"and in the middle", "salt and pepper", 0, roleGoesOn, false},
		{"and after no", "no, and not there", roleGoesOn | roleAnswer, 0, true},
		{"what about", "what about Prague", roleGoesOn, 0, false},
		{"comparative", "shorter please", roleRefers, roleGoesOn, true},
		{"comparative of two words", "I meant the other one", roleRefers, 0, true},
		{"thanks", "thanks, you're the best", roleThanks, roleAnswer, true},
		{"choice", "the second one", roleAnswer, roleThanks, true},
		{"number", "2", roleAnswer, 0, true},
		{"aside", "by the way, play jazz", roleAside, 0, false},
		{"by the way in the middle", "softer, and by the way shorter", roleRefers, roleAside, true},
		{"Chinese aside", "顺便问下，今天会下雨吗", roleAside, 0, false},
		{"Chinese aside in the middle", "语气软一点，顺便道个歉", roleRefers, roleAside, false},
		{"superlative", "the cheapest", roleRefers, 0, true},
		{"Chinese superlative", "最早那天", roleRefers, roleGreet, false},
		{"German", "und jetzt bitte kürzer", roleGoesOn | roleRefers, 0, true},
		{"Spanish", "¿y mañana?", roleGoesOn, 0, false},
		{"French", "la même chose en allemand", roleRefers, 0, false},
		{"Chinese end", "六月呢", roleGoesOn, 0, false},
		{"traditional Chinese", "語氣再客氣一點", roleRefers, 0, false},
		{"Chinese thanks", "明白了，谢谢", roleAssent | roleThanks, roleRefers, true},
		{"Japanese end", "大阪は？", roleGoesOn, 0, false},
		{"Japanese topic in the middle", "大阪は寒い", 0, roleGoesOn, false},
		{"Japanese", "もう少し丁寧に", roleRefers, 0, false},
		{"Portuguese", "e amanhã?", roleGoesOn, 0, false},
		{"Italian", "un po' più corto", roleRefers, 0, false},
		{"Russian", "а завтра?", roleGoesOn, 0, false},
		{"Russian comparative", "чуть короче, пожалуйста", roleRefers, roleThanks, true},
		{"Turkish", "biraz daha kısa", roleRefers, 0, false},
		{"Arabic", "أقصد الثاني", roleRefers | roleAnswer, 0, true},
		{"Hindi", "और कल?", roleGoesOn, 0, false},
		{"Hindi in Latin letters", "phir se karo", roleRefers, 0, true},
		{"Korean", "좀 더 짧게", roleRefers, 0, true},
		{"English words that are short ones elsewhere", "legal fare of the main OS", 0, roleAssent, false},
		{"nothing", "qzxv wkjq", 0, math.MaxUint16, false},
		{"symbols", "👍", roleAssent, roleAnswer, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cuesIn(tt.message)
			require.Equal(t, tt.has, c.roles&tt.has, "%012b", c.roles)
			require.Zero(t, c.roles&tt.hasNot, "%012b", c.roles)
			require.Equal(t, tt.empty, c.content == 0)
		})
	}
}

func TestCloses(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		asked, want   bool
		reads         string
	}{
		{"thanks", "thank you so much", false, true, "thank you"},
		{"thanks with a remark", "thanks, the soup tasted great", false, true, "thank you"},
		{"thanks with a word", "thanks, Anna", false, true, "thank you"},
		{"thanks and a change", "thanks, but shorter", false, false, ""},
		{"thanks and a subject", "thanks, now play some jazz music", false, false, ""},
		{"no thanks to a question", "no thanks", true, true, "thank you"},
		{"ok", "ok", false, true, "thank you"},
		{"ok to a question", "ok", true, false, ""},
		{"perfect to a question", "perfect", true, false, ""},
		{"yes", "yes please", false, false, ""},
		{"farewell", "see you tomorrow", false, true, "goodbye"},
		{"greeting", "bonjour", false, true, "hello"},
		{"German", "nein, das war alles, danke", false, true, "thank you"},
		{"Spanish", "buen fin de semana", false, true, "goodbye"},
		{"French", "tant pis", false, true, "thank you"},
		{"Chinese", "晚安", false, true, "goodbye"},
		{"Japanese", "助かりました！", false, true, "thank you"},
		{"Portuguese", "valeu, era só isso", false, true, "thank you"},
		{"Italian", "grazie mille, a domani", false, true, "goodbye"},
		{"Russian", "спасибо большое!", false, true, "thank you"},
		{"Turkish", "teşekkür ederim", false, true, "thank you"},
		{"Arabic", "شكرا جزيلا", false, true, "thank you"},
		{"Hindi", "धन्यवाद", false, true, "thank you"},
		{"Korean", "고마워요, 내일 봐", false, true, "goodbye"},
		{"a farewell that carries on", "大丈夫、じゃおやすみ", false, true, "goodbye"},
		{"a thumb", "👍👍", false, true, "thank you"},
		{"a thumb to a question", "👍", true, false, ""},
		{"slang", "lol legend", false, true, "thank you"},
		{"a request", "translate this", false, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cuesIn(tt.message)
			require.Equal(t, tt.want, c.closes(tt.asked), "%012b %d of %d", c.roles, c.content, c.length)
			if tt.want {
				require.Equal(t, tt.reads, c.closing())
			}
		})
	}
}

// Words that close a topic are read as that, unless the catalogue has an intent that is
// certain of them.
func TestClosingWordsNeedACertainIntent(t *testing.T) {
	film := []payload.Turn{{Role: payload.RoleUser, Text: "面白い西部劇を探して"}, {Role: payload.RoleAssistant, Text: "「許されざる者」はどうですか。"}}
	require.Equal(t, "CHAT", bundled().Predict("もういいや", film, nil).Intent)

	night := intents.Intent{ID: "NIGHT", Triggers: []string{"The lights and the heating are switched off for the night."}, Examples: []string{"good night", "good night house", "lights out", "switch the night mode on"}}
	own := []intents.Intent{night}
	for _, in := range intents.Bundled().Enabled() {
		if in.ID == "CHAT" || in.ID == "MEDIA" {
			own = append(own, in)
		}
	}
	require.Equal(t, "NIGHT", Train(intents.NewCatalog(own)).Predict("good night", film, nil).Intent)
}

// A message is not too long to lean because it is written in kana, of which a word has
// several.
func TestKanaAreShort(t *testing.T) {
	for message, want := range map[string]bool{
		"やったけどおなじところでおちた、まえのほうがまだましだったきがする": true,
		"它在同样的地方又出错了之前那样反而好一些能不能改回去再试一次看看":  false,
	} {
		c := cuesIn(message)
		require.Equal(t, want, c.mayFollowUp(), message)
	}
}

func TestEchoes(t *testing.T) {
	for _, tt := range []struct {
		name, message, role, said string
		want                      int
	}{
		{"none", "and tomorrow?", payload.RoleAssistant, "It will rain.", 0},
		{"a word", "the harbour one", payload.RoleAssistant, "Hotel Harbour or Hotel Park.", 1},
		{"an inflected word", "only the invoices", payload.RoleAssistant, "One invoice is open.", 1},
		{"a word twice", "harbour, harbour", payload.RoleAssistant, "Harbour, harbour.", 1},
		{"at most two", "harbour station garden", payload.RoleAssistant, "The station, the harbour and the garden.", 2},
		{"words without a subject", "what about something with that", payload.RoleAssistant, "What about that, with something else?", 1},
		{"pairs of characters", "快照晚几秒", payload.RoleAssistant, "可以存一份库存快照。", 1},
		{"the user said it", "the harbour one", payload.RoleUser, "Hotel Harbour or Hotel Park.", 0},
		{"too long to lean", "the harbour hotel with a garden and a pool and a station nearby for seven nights in June with breakfast", payload.RoleAssistant, "Hotel Harbour.", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := bundled().newScratch()
			sc.text.reset(tt.message)
			c := cuesOf(&sc.text)
			require.Equal(t, tt.want, c.echoes(sc, []payload.Turn{{Role: tt.role, Text: tt.said}}))
			require.Zero(t, c.echoes(sc, nil))
		})
	}
}

// What a message takes from the assistant's answer makes it lean on what that answered.
func TestEchoesKeepTheTopic(t *testing.T) {
	m := bundled()
	ask := func(said string) Prediction {
		return m.Predict("the wedding can go", []payload.Turn{
			{Role: payload.RoleUser, Text: "which of the big files in my downloads folder can I delete"},
			{Role: payload.RoleAssistant, Text: said},
		}, nil)
	}
	echo, none := ask("Two archives: wedding_raw.zip, 22 GB, and the wedding of 2019."), ask("Two archives: raw.zip, 22 GB, and that of 2019.")
	require.Equal(t, "FILE_MANAGEMENT", echo.Intent)
	require.False(t, echo.Other)
	if !none.Other && none.Intent == echo.Intent {
		require.Greater(t, echo.Confidence, none.Confidence)
	}
}

// A message that cannot be read says nothing of its intent, so the topic goes on.
func TestUnreadMessagesKeepTheTopic(t *testing.T) {
	c := intents.NewCatalog([]intents.Intent{
		{ID: "MUSIC", Examples: []string{"play some jazz", "put on the new album", "next song please", "turn the music up", "play my workout playlist", "some piano music"}},
		{ID: "WEATHER", Examples: []string{"will it rain tomorrow", "how cold is it outside", "forecast for the weekend", "do I need an umbrella", "is it windy in Oslo", "will it snow"}},
		{ID: "TIMER", Examples: []string{"set a timer for ten minutes", "how long is left", "stop the timer", "wake me in an hour", "countdown of five minutes", "add two minutes"}},
	})
	m := Train(c)
	turns := []payload.Turn{{Role: payload.RoleUser, Text: "play some jazz"}, {Role: payload.RoleAssistant, Text: "Here is some jazz."}}
	for _, message := range []string{"ещё одну", "עוד אחד", "δυνάμωσέ το"} {
		got := m.Predict(message, turns, nil)
		require.Equal(t, "MUSIC", got.Intent, message)
		require.False(t, got.Other, message)
	}
}

func TestResumed(t *testing.T) {
	user := func(text string) payload.Turn { return payload.Turn{Role: payload.RoleUser, Text: text} }
	said := func(text string) payload.Turn { return payload.Turn{Role: payload.RoleAssistant, Text: text} }
	oslo := []payload.Turn{user("find me a flight to oslo on the 20th"), said("Norwegian at 7:10, SAS at 12:35.")}
	soup := []payload.Turn{user("translate soup"), said("Suppe. Norwegian has the same word.")}
	for _, tt := range []struct {
		name, message string
		before        []payload.Turn
		want          int // turns
	}{
		{"no conversation", "about the flight again", nil, 0},
		{"a word of the user's", "about the flight again", slices.Concat(oslo, soup), 2},
		{"a word of the assistant's", "suppe to go", slices.Concat(soup, oslo), 2},
		{"an inflected word", "and return flights?", slices.Concat(oslo, soup), 2},
		{"a character pair", "祇园那边贵不贵", []payload.Turn{user("想去京都四天"), said("想要氛围就住祇园。"), user("你好用日语怎么说"), said("こんにちは")}, 2},
		{"a word of both", "the norwegian one", slices.Concat(oslo, soup), 4},
		{"more words of the earlier pair", "the norwegian flight", slices.Concat(oslo, soup), 2},
		{"of two earlier pairs the later", "that flight", slices.Concat(oslo, oslo, soup), 4},
		{"no word of a subject", "and the other one?", slices.Concat(oslo, soup), 4},
		{"no word of theirs", "and in june?", slices.Concat(oslo, soup), 4},
		{"too long to lean", "please tell me in detail what you would recommend to somebody who wants a flight at noon", slices.Concat(oslo, soup), 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := bundled().newScratch()
			sc.text.reset(tt.message)
			c := cuesOf(&sc.text)
			require.Len(t, c.resumed(sc, tt.before), tt.want)
		})
	}
}

func TestFollow(t *testing.T) {
	is := func(class int, pIn, pFirst float64) verdict { return verdict{first: class, pIn: pIn, pFirst: pFirst} }
	split := func(v verdict) shares {
		s := shares{0, 0, 0, 0}
		for c := range s {
			if s[c] = (1 - v.pFirst/v.pIn) / 3; c == v.first {
				s[c] = v.pFirst / v.pIn
			}
		}
		return s
	}
	for _, tt := range []struct {
		name            string
		pFollowUp       float64
		alone, before   verdict
		followed, other bool
		class           int
		confidence      float64
	}{
		{"leans", 0.8, is(1, 0.9, 0.5), is(2, 1, 0.9), true, false, 2, 0.72},
		{"does not", 0.2, is(1, 1, 0.9), is(2, 1, 0.9), false, false, 1, 0.75},
		{"the surer one decides", 0.5, is(1, 0.9, 0.4), is(2, 1, 0.9), true, false, 2, 0.52},
		{"both say the same", 0.5, is(1, 0.9, 0.6), is(1, 1, 0.8), true, false, 1, 0.76},
		{"nothing known to lean on", 0.5, is(1, 0.9, 0.6), is(2, 0.1, 0.05), false, false, 1, 0.3},
		{"alone fits nothing", 0.6, is(1, 0.1, 0.05), is(2, 1, 0.9), true, false, 2, 0.53},
		{"alone fits nothing and hardly leans", 0.2, is(1, 0.1, 0.05), is(2, 1, 0.9), false, true, 1, 0.72},
		{"both fit nothing", 0.5, is(1, 0.1, 0.05), is(2, 0.3, 0.1), false, true, 1, 0.8},
		{"the message tells the topic", 0.9, is(1, 1, 0.9), is(2, 1, 0.4), true, false, 1, 0.6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			topic := split(tt.before)
			v, followed := follow(tt.pFollowUp, tt.alone, tt.before, split(tt.alone), topic)
			require.Equal(t, tt.followed, followed)
			require.Equal(t, tt.other, v.other())
			require.Equal(t, tt.class, v.first)
			require.InDelta(t, tt.confidence, v.confidence(), 0.01)
			require.LessOrEqual(t, v.pFirst, v.pIn)
			sum := 0.0
			for _, p := range topic {
				sum += p
			}
			require.InDelta(t, 1, sum, 1e-9)
		})
	}
}

func TestTopic(t *testing.T) {
	user := func(texts ...string) (turns []payload.Turn) {
		for _, text := range texts {
			turns = append(turns, payload.Turn{Role: payload.RoleUser, Text: text}, payload.Turn{Role: payload.RoleAssistant, Text: "Prague?"})
		}
		return turns
	}
	for _, tt := range []struct {
		name  string
		turns []payload.Turn
		want  string
	}{
		{"none", nil, ""},
		{"the last", user("will it rain", "play some jazz music"), "play some jazz music"},
		{"skips what leans", user("hotels in Vienna", "and in Graz?", "the second one"), "hotels in Vienna"},
		{"skips thanks", user("hotels in Vienna", "thanks"), "hotels in Vienna"},
		{"small talk alone", user("good morning", "thanks"), ""},
		{"all lean", user("and this?", "shorter"), "and this?"},
		{"only so far back", user("hotels in Vienna", "1", "2", "3", "4", "5"), "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := bundled()
			_, got := m.topic(m.newScratch(), tt.turns, nil, nil)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAsks(t *testing.T) {
	said := func(role, text string) []payload.Turn { return []payload.Turn{{Role: role, Text: text}} }
	require.False(t, asks(nil))
	require.True(t, asks(said(payload.RoleAssistant, "Shall I? \n")))
	require.True(t, asks(said(payload.RoleAssistant, "消しますか？」")))
	require.False(t, asks(said(payload.RoleAssistant, "Why? Because.")))
	require.True(t, asks(said(payload.RoleUser, "play jazz")), "what the assistant said is not known")
}

// conversationLine is a line of classify/evaluate/testdata/topics-*.jsonl.
type conversationLine struct {
	Kind, Lang, Text, Intent string
	Intents                  []string
	History                  []payload.Turn
}

func conversations(t *testing.T, name string) []conversationLine {
	data, err := os.ReadFile("../evaluate/testdata/" + name)
	require.NoError(t, err)
	var lines []conversationLine
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var line conversationLine
		require.NoError(t, d.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

// followUpSamples are the signals of the development conversations that do not
// close a topic.
func followUpSamples(t *testing.T, m *Model) (obs []observation, writers []string) {
	sc := m.newScratch()
	for _, writer := range []string{"topics-dev.jsonl", "topics-dev-2.jsonl", "topics-dev-3.jsonl", "topics-dev-4.jsonl", "topics-dev-5.jsonl", "topics-dev-8.jsonl"} {
		for _, line := range conversations(t, writer) {
			alone := m.request(sc, line.Text, nil, nil)
			c := cuesOf(&sc.text)
			before := c.resumed(sc, line.History)
			resumes := len(before) < len(line.History)
			own, bound := slices.Clone(sc.scores), c.ties(sc, line.Text, before)
			unfound := line.Kind == "returns" && !resumes // that it follows the last topic is wrong, whether it leans or not
			if line.Kind == "close" || unfound || c.has(roleAside) || brings(line.Text) {
				continue
			}
			if c.content == 0 {
				alone.doubt()
			}
			topic, _ := m.topic(sc, before, nil, nil)
			obs = append(obs, observation{
				signals: c.signals(alone.pFirst, shareOf(own, &alone, &topic), bound), weight: 1,
				correct: line.Kind == "lean" && !resumes || line.Kind == "returns" && resumes,
			})
			writers = append(writers, writer)
		}
	}
	return obs, writers
}

// followUpWeights are this fit, rounded. -v prints it; a writer is left out at
// a time to see how it does on the messages of one that it was not fitted to.
func TestFollowUpWeightsAreFitted(t *testing.T) {
	obs, writers := followUpSamples(t, bundled())
	fit := func(without string) logistic {
		var some []observation
		for i, o := range obs {
			if writers[i] != without {
				some = append(some, o)
			}
		}
		return fitLogistic(some, func(o *observation) (hit, use bool) { return o.correct, true }, logistic{}, 0.3)
	}
	l := fit("")
	t.Logf("fit: %.2f", l)
	right, others, loss := 0, map[string]logistic{}, 0.0
	for i, o := range obs {
		other, ok := others[writers[i]]
		if !ok {
			other = fit(writers[i])
			others[writers[i]] = other
		}
		p := other.probability(&o.signals)
		if !o.correct {
			p = 1 - p
		}
		loss -= math.Log(p)
		if p > 0.5 {
			right++
		}
	}
	t.Logf("writers left out: %d of %d right, log loss %.3f", right, len(obs), loss/float64(len(obs)))
	require.Greater(t, float64(right), 0.8*float64(len(obs)))
	for i := range followUpWeights {
		require.InDelta(t, l[i], followUpWeights[i], 0.8, "signal %d: fit again after a change of the catalogue or the phrases", i)
	}
}

func TestTopics(t *testing.T) {
	m := bundled()
	for _, tt := range []struct {
		file  string
		floor map[string]float64 // share right, by kind; "": en, zh and ja alone
	}{
		{"topics-dev.jsonl", map[string]float64{"lean": 0.7, "change": 0.8, "close": 0.9, "": 0.85}},
		{"topics-heldout.jsonl", map[string]float64{"lean": 0.85, "change": 0.8, "close": 0.9, "": 0.9}},
		{"topics-dev-2.jsonl", map[string]float64{"lean": 0.75, "change": 0.8, "close": 0.9, "": 0.75}},
		{"topics-dev-3.jsonl", map[string]float64{"lean": 0.6, "change": 0.6, "close": 0.75, "returns": 0.5, "": 0.6}},
		{"topics-dev-4.jsonl", map[string]float64{"lean": 0.8, "change": 0.7, "close": 0.65, "returns": 0.55, "": 0.7}},
		{"topics-dev-5.jsonl", map[string]float64{"lean": 0.7, "change": 0.75, "close": 0.8, "": 0.7}},
		{"topics-dev-6.jsonl", map[string]float64{"lean": 0.75, "change": 0.75, "other": 0.5, "": 0.7}},
		{"topics-dev-7.jsonl", map[string]float64{"lean": 0.75, "change": 0.7, "close": 0.5, "": 0.75}},
		{"topics-dev-8.jsonl", map[string]float64{"change": 0.45}},
		{"topics-heldout-3.jsonl", map[string]float64{"lean": 0.9, "change": 0.4, "close": 0.85}},
		{"topics-heldout-2.jsonl", map[string]float64{"lean": 0.5, "change": 0.6, "returns": 0.5, "close": 0.85, "": 0.6}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			right, all := map[string]float64{}, map[string]float64{}
			for _, line := range conversations(t, tt.file) {
				p := m.Predict(line.Text, line.History, nil)
				got := p.Intent
				if p.Other {
					got = intents.FallbackID
				}
				kinds := []string{line.Kind}
				if line.Lang == "en" || line.Lang == "zh" || line.Lang == "ja" {
					kinds = append(kinds, "")
				}
				for _, kind := range kinds {
					all[kind]++
					if slices.Contains(append(line.Intents, line.Intent), got) {
						right[kind]++
					}
				}
			}
			t.Logf("right %v of %v", right, all)
			for kind, floor := range tt.floor {
				require.GreaterOrEqual(t, right[kind]/all[kind], floor, kind)
			}
		})
	}
}

func TestTheBuiltInIntentsAreTrainedOnce(t *testing.T) {
	require.Same(t, Trained(intents.Bundled()), Trained(intents.Bundled().Without([]string{"CHAT"})))
	require.NotSame(t, Trained(tiny()), Trained(tiny()))
}

func TestSomeOf(t *testing.T) {
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprint("text ", i))
	}
	require.Equal(t, texts, someOf(texts, 100))
	some := someOf(texts, 33)
	require.Len(t, some, 32)
	require.Equal(t, some, someOf(texts, 40))
	others := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !slices.Contains(some, text) && text > "text 50" })
	require.Less(t, len(others), 100)
	require.Equal(t, some, someOf(others, 40), "without some that were not among them")
	require.Subset(t, someOf(texts, 64), some)
}

func TestDependent(t *testing.T) {
	for _, row := range []struct {
		message string
		want    bool
	}{
		{"yes please", true},
		{"and tomorrow?", true},
		{"make it shorter", true},
		{"再短一点", true},
		{"dank je wel, tot morgen", true},
		{"dziękuję bardzo", true},
		{"tack så mycket, vi ses", true},
		{"kiitos paljon", true},
		{"díky moc, dobrou noc", true},
		{"mulțumesc mult", true},
		{"", true},
		{"what about Berlin then", true},
		{"pay the rent for december", false},
		{"will it rain tomorrow", false},
		{"and what is the weather in Reykjavik on the first weekend of March going to be like", false},
		{"明天早上九點提醒我澆花", false},
	} {
		t.Run(row.message, func(t *testing.T) {
			require.Equal(t, row.want, Dependent(row.message))
		})
	}
}

// A question about a subject that the conversation never had stands alone.
func TestTies(t *testing.T) {
	before := []payload.Turn{
		{Role: payload.RoleUser, Text: "sum up the annual report"},
		{Role: payload.RoleAssistant, Text: "Revenue grew, and two plants were closed."},
	}
	for name, row := range map[string]struct {
		message string
		fresh   int
		asks    bool
	}{
		"a subject of its own":            {"what is the capital of burkina faso", 3, true},
		"a courtesy before it":            {"ok, who invented the zipper", 2, true},
		"no question":                     {"burkina faso tomorrow", 3, false},
		"a word that was said":            {"which plants were closed in burkina", 1, false},
		"it refers":                       {"what does it say about burkina", 0, false},
		"it goes on":                      {"and what about burkina", 0, false},
		"two words":                       {"which shop", 1, false},
		"no subject":                      {"why is that so", 0, false},
		"German":                          {"wie tief ist der bodensee", 2, true},
		"Chinese, inside":                 {"秦始皇是哪年统一六国的", 3, true},
		"Turkish, at the end":             {"moğolistan'ın başkenti neresi", 3, true},
		"more than are counted":           {"how do penguins survive antarctic winters without shelter", 3, true},
		"a word of the assistant's, bent": {"who closed a plant in burkina", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := bundled().newScratch()
			sc.text.reset(row.message)
			c := cuesOf(&sc.text)
			got := c.ties(sc, row.message, before)
			require.Equal(t, row.fresh, got.fresh)
			require.Equal(t, row.asks, got.asks)
		})
	}
}

func TestReactions(t *testing.T) {
	report := []payload.Turn{{Role: payload.RoleUser, Text: "sum up the annual report"}, {Role: payload.RoleAssistant, Text: "Revenue grew. Shall I go on?"}}
	for _, message := range []string{"lol", "哈哈哈", "хаха", "ㅋㅋㅋ"} {
		for _, before := range [][]payload.Turn{nil, report} {
			p := bundled().Predict(message, before, nil)
			require.Equal(t, "CHAT", p.Intent, message)
			require.False(t, p.Other, message)
		}
	}
}

// A misspelt name of a list would give its phrases the role above it, or none.
func TestPhrasesHaveARole(t *testing.T) {
	for name, r := range roleNames {
		require.Contains(t, phraseLists, name+"\n")
		require.Contains(t, slices.Collect(maps.Values(phrases)), r, name)
	}
	require.NotContains(t, slices.Collect(maps.Values(phrases)), role(0))
	require.Equal(t, len(roleNames), strings.Count(phraseLists, "[")/2, "the lists of two groups of languages")
}
