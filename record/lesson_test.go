package record_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// turnOf is a turn of the run r that began at 10, with an answer.
func turnOf(text, source string, confidence float64) *store.Turn {
	return &store.Turn{RunID: "r", Input: text, Begin: store.Key{TS: 10, ID: "b"}, Intent: store.Intent{
		Result: &payload.Classification{Intent: "MONEY", Confidence: confidence, Source: source, Model: "mock/big"},
	}}
}

// markedAs is a turn with feedback at 20.
func markedAs(turn *store.Turn, verdict, intent string) *store.Turn {
	turn.Feedback = &store.Judgement{
		Feedback: store.Feedback{Verdict: verdict, Intent: intent, By: "ada"}, Key: store.Key{TS: 20, ID: "f"},
	}
	return turn
}

// after is a turn that follows others.
func after(turn *store.Turn) *store.Turn {
	turn.Intent.Input = []payload.Turn{{Role: payload.RoleUser, Text: "what is my balance"}}
	return turn
}

// recalling is a turn that was told what the session said before.
func recalling(turn *store.Turn) *store.Turn {
	turn.Intent.Earlier = 1
	return turn
}

func TestLessonOf(t *testing.T) {
	const asked = "pay the rent for december"
	person := record.Lesson{RunID: "r", Session: "s", Text: asked, Intent: "WEATHER", Source: "feedback", By: "ada", At: 20, ID: "f"}
	right := person
	right.Intent = "MONEY"
	model := record.Lesson{RunID: "r", Session: "s", Text: asked, Intent: "MONEY", Source: "llm", By: "mock/big", At: 10, ID: "b"}
	withText := func(l record.Lesson, text string) record.Lesson { l.Text = text; return l }
	none := &store.Turn{RunID: "r", Input: asked}
	other := turnOf(asked, "llm", 0.99)
	other.Intent.Result.Intent = intents.FallbackID
	message := turnOf("[context] "+asked, "llm", 0.95)
	message.Message = asked
	for _, row := range []struct {
		name string
		turn *store.Turn
		want record.Lesson
		why  record.Unfit
	}{
		{"marked wrong, with the right intent", markedAs(turnOf(asked, "local", 0.3), "wrong", "WEATHER"), person, ""},
		{"marked right", markedAs(turnOf(asked, "local", 0.6), "right", ""), right, ""},
		{"marked right, with another intent", markedAs(turnOf(asked, "local", 0.6), "right", "WEATHER"), right, ""},
		{"a person counts, not the model", markedAs(turnOf(asked, "llm", 0.99), "wrong", "WEATHER"), person, ""},
		{"a sure model", turnOf(asked, "llm", 0.9), model, ""},
		{"what the user wrote, not the prompt", message, model, ""},
		{"redacted", turnOf("send 5 dollars to ada@example.com", "llm", 0.95), withText(model, "send 5 dollars to [EMAIL]"), ""},
		{"on one line", turnOf("pay\n the\trent\u200b", "llm", 0.95), withText(model, "pay the rent"), ""},
		{"after others, with a subject", after(turnOf(asked, "llm", 0.95)), model, ""},
		{"as long as may be", turnOf(strings.Repeat("é", 200), "llm", 0.95), withText(model, strings.Repeat("é", 200)), ""},

		{"nobody said anything", turnOf(asked, "local", 0.99), record.Lesson{}, record.Unjudged},
		{"a model that is not sure", turnOf(asked, "llm", 0.89), record.Lesson{}, record.Unjudged},
		{"a model that finds no intent", other, record.Lesson{}, record.Unjudged},
		{"no answer", none, record.Lesson{}, record.Unjudged},
		{"marked wrong, and no more", markedAs(turnOf(asked, "llm", 0.95), "wrong", ""), record.Lesson{}, record.Unnamed},
		{"marked right, but nothing was said", markedAs(turnOf(asked, "local", 0.49), "right", ""), record.Lesson{}, record.WithoutHint},
		{"leans on the message before", after(markedAs(turnOf("and tomorrow?", "local", 0.6), "wrong", "WEATHER")), record.Lesson{}, record.Dependent},
		{"leans on a message that was recorded", recalling(turnOf("and tomorrow?", "llm", 0.95)), record.Lesson{}, record.Dependent},
		{"says yes to something", after(turnOf("yes please", "llm", 0.95)), record.Lesson{}, record.Dependent},
		{"too long", turnOf(strings.Repeat("é", 201), "llm", 0.95), record.Lesson{}, record.Long},
		{"no words", turnOf("?!", "llm", 0.95), record.Lesson{}, record.Blank},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, why := record.LessonOf("s", row.turn, 0.5)
			require.Equal(t, row.why, why)
			require.Equal(t, row.want, got)
		})
	}
}

func TestChoose(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{
		{ID: "WEATHER", Triggers: []string{"weather"}, Examples: []string{"will it rain tomorrow", "how hot is it outside", "is there snow in the mountains"}},
		{ID: "MONEY", Triggers: []string{"money"}, Examples: []string{"pay my electricity bill", "what is my bank balance", "send fifty dollars to anna"}},
	})
	lesson := func(run, text, intent string, at int64) record.Lesson {
		return record.Lesson{RunID: run, Text: text, Intent: intent, Source: record.LessonFeedback, At: at, ID: run}
	}
	byModel := func(l record.Lesson) record.Lesson { l.Source = record.LessonModel; return l }
	classifier := local.Train(catalog)
	const stolen = "how hot is it outside please" // the classifier is sure of it
	p := classifier.Predict(stolen, nil, nil)
	require.Equal(t, "WEATHER", p.Intent)
	require.GreaterOrEqual(t, p.Confidence, 0.8)

	chosen := record.Choose(catalog, classifier, []record.Lesson{
		byModel(lesson("a", "sunglasses today", "weather", 90)),
		lesson("b", "umbrella or not", "WEATHER", 10),
		lesson("c", "Sunglasses today!", "MONEY", 5),
		lesson("d", "umbrella or not", "MONEY", 9),
		lesson("e", "Pay my electricity bill.", "WEATHER", 8),
		lesson("f", "Pay my electricity bill.", "MONEY", 7),
		lesson("g", "book a table", "RESTAURANT", 6),
		byModel(lesson("h", stolen, "MONEY", 80)),
		lesson("i", "who snowed on my salary", "MONEY", 4),
		byModel(lesson("j", "how hot is it outside now", "WEATHER", 70)),
		byModel(lesson("k", "rob the bank in gotham", "MONEY", 60)),
		lesson("l", "asdf qwer", "OTHER", 3),
	}, record.Bounds{Most: 2})
	require.Equal(t, map[string][]string{
		"WEATHER": {"umbrella or not"}, "MONEY": {"Sunglasses today!", "who snowed on my salary"}, "OTHER": {"asdf qwer"},
	}, chosen.Examples)
	var used []string
	for _, l := range chosen.Used {
		used = append(used, l.RunID)
	}
	require.Equal(t, []string{"b", "c", "i", "l"}, used)
	reasons := map[string]string{}
	for _, u := range chosen.Unused {
		reasons[u.RunID] = string(u.Reason) + " " + u.Of
	}
	require.Equal(t, map[string]string{
		"a": string(expand.Taken) + " MONEY", // a person said so of the same text
		"d": string(expand.Taken) + " WEATHER",
		"e": string(expand.Taken) + " MONEY",
		"f": string(expand.Repeated) + " ",
		"g": string(record.Unknown) + " ",
		"h": string(expand.Elsewhere) + " WEATHER",
		"j": string(expand.Similar) + " how hot is it outside",
		"k": string(expand.Surplus) + " ",
	}, reasons)
}

// Nobody teaches everybody's classifier alone.
func TestOnePersonOrChatTeachesAFewExamples(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{
		{ID: "A", Triggers: []string{"a"}, Examples: []string{"will it rain tomorrow", "how hot is it outside"}},
		{ID: "B", Triggers: []string{"b"}, Examples: []string{"pay my electricity bill", "what is my bank balance"}},
	})
	words := strings.Fields("anchor basket candle dragon engine forest garden hammer island jacket kettle ladder magnet needle orchid pillow")
	// lessons are as many as there are words, the newest first.
	lessons := func(edit func(i int, l *record.Lesson)) (out []record.Lesson) {
		for i, word := range words {
			l := record.Lesson{RunID: word, Session: "s" + word, Chat: "c" + word, Text: word + " " + word, Intent: "A", Source: record.LessonFeedback, By: "p" + word, At: int64(1000 - i)}
			edit(i, &l)
			out = append(out, l)
		}
		return out
	}
	for _, row := range []struct {
		name string
		edit func(i int, l *record.Lesson)
		want int
	}{
		{"of people in their own chats", func(int, *record.Lesson) {}, len(words)},
		{"of one person", func(_ int, l *record.Lesson) { l.By = "mallory" }, 5},
		{"of one chat in many sessions", func(_ int, l *record.Lesson) { l.Chat = "c" }, 5},
		{"of one session without a key", func(_ int, l *record.Lesson) { l.Chat, l.Session = "", "s" }, 5},
		{"of a model in one chat", func(_ int, l *record.Lesson) { l.Source, l.By, l.Chat = record.LessonModel, "mock/small", "c" }, 5},
		{"of a model in many chats", func(_ int, l *record.Lesson) { l.Source, l.By = record.LessonModel, "mock/small" }, len(words)},
		{"of the operator, on the pages", func(_ int, l *record.Lesson) { l.By = "console" }, len(words)},
		{"of the operator, about one chat", func(_ int, l *record.Lesson) { l.By, l.Chat = "console", "c" }, 5},
		{"of one person for two intents", func(i int, l *record.Lesson) { l.By, l.Intent = "mallory", string(rune('A'+i%2)) }, 10},
		{"of one person, an injection", func(i int, l *record.Lesson) {
			if l.By = "mallory"; i < 10 {
				l.Text = "forward my inbox " + l.Text
			}
		}, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			all := lessons(row.edit)
			chosen := record.Choose(catalog, sureOf("A"), all, record.Bounds{
				Most: 50, Share: record.MaxShare, Suspect: func(text string) bool { return strings.HasPrefix(text, "forward my inbox") },
			})
			require.Len(t, chosen.Used, row.want)
			require.Len(t, chosen.Unused, len(words)-row.want)
			for _, u := range chosen.Unused {
				require.Contains(t, []expand.Reason{record.Share, record.Injection}, u.Reason)
				require.Equal(t, strings.HasPrefix(u.Text, "forward"), u.Reason == record.Injection)
			}
			for _, used := range chosen.Used {
				require.False(t, strings.HasPrefix(used.Text, "forward"))
			}
			newest := slices.IndexFunc(all, func(l record.Lesson) bool { return !strings.HasPrefix(l.Text, "forward") })
			require.Equal(t, all[newest].RunID, chosen.Used[0].RunID, "the newest are used")
		})
	}
}

// A correction of what the classifier is sure of is what a person wants learnt.
func TestChooseBelievesAPersonRatherThanTheClassifier(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{
		{ID: "A", Triggers: []string{"a"}, Examples: []string{"will it rain tomorrow", "how hot is it outside"}},
		{ID: "B", Triggers: []string{"b"}, Examples: []string{"pay my electricity bill", "what is my bank balance"}},
	})
	classifier := sureOf("A")
	l := record.Lesson{RunID: "r", Text: "how much rain is in my account", Intent: "B", Source: record.LessonFeedback}
	require.Equal(t, map[string][]string{"B": {l.Text}}, record.Choose(catalog, classifier, []record.Lesson{l}, record.Bounds{Most: 1}).Examples)
	l.Source = record.LessonModel
	require.Empty(t, record.Choose(catalog, classifier, []record.Lesson{l}, record.Bounds{Most: 1}).Examples)
}

// sureOf is a classifier that gives one answer.
type sureOf string

func (s sureOf) Predict(string, []payload.Turn, []bool) local.Prediction {
	return local.Prediction{Intent: string(s), Confidence: 1}
}
