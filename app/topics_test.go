package app_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/payload"
)

// say is a request of a session, with the conversation that is sent; it returns the
// intent of the hint, "" without one.
func say(s *system, session, text string, sent ...payload.Turn) string {
	messages := []map[string]any{}
	for _, turn := range sent {
		messages = append(messages, map[string]any{"role": turn.Role, "content": turn.Text})
	}
	request := s.Prompt(session, fmt.Sprint("run", s.Sequence), text)
	request.Event, _ = json.Marshal(map[string]any{"prompt": text, "messages": messages})
	return s.Ask(request, time.Minute).Header.Get("Hint-Intent")
}

// A message that leans on what was said has the same intent whether the request
// brings the conversation or the turns were recorded.
func TestRecordedTurnsContinueATopic(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	user := func(text string) payload.Turn { return payload.Turn{Role: "user", Text: text} }
	agent := func(text string) payload.Turn { return payload.Turn{Role: "assistant", Text: text} }
	for i, row := range []struct {
		name    string
		before  []payload.Turn
		message string
		want    string
	}{
		{"en, change it", []payload.Turn{user("write a limerick about a snail"), agent("There once was a snail from Peru.")}, "make it funnier", "CREATIVE_WRITING"},
		{"en, and", []payload.Turn{user("how much did we spend on petrol in May"), agent("132 euros.")}, "and in June?", "FINANCE"},
		{"en, thanks in between", []payload.Turn{
			user("plot the sales per month from this csv"), agent("Here is the chart."), user("thanks"), agent("You are welcome."),
		}, "now as a pie", "DATA_ANALYSIS"},
		{"zh", []payload.Turn{user("写一首关于蜗牛的打油诗"), agent("一只蜗牛慢悠悠……")}, "再短一点", "CREATIVE_WRITING"},
		{"zh, the topic before", []payload.Turn{user("总结一下：比赛二比零结束。"), agent("比赛二比零。"), user("罗马天气怎么样"), agent("晴，24度。")}, "那不勒斯呢", "RESEARCH_REALTIME"},
		{"ja", []payload.Turn{user("ウィーンのホテルを予約して"), agent("何泊ですか？")}, "三泊、六月四日から", "TRAVEL"},
		{"de", []payload.Turn{user("Erinnere mich um sechs daran, Mama anzurufen"), agent("Ist für 18 Uhr eingetragen.")}, "doch lieber um sieben", "PRODUCTIVITY_CALENDAR"},
		{"es", []payload.Turn{user("traduce al francés: «Buenos días a todos»"), agent("Bonjour à tous.")}, "no, más cortito", "TRANSLATION"},
		{"fr", []payload.Turn{user("traduis en anglais : « Bonjour à tous »"), agent("Good morning, everyone.")}, "non, moins formel", "TRANSLATION"},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.NotEqual(t, row.want, say(s, fmt.Sprint("alone", i), row.message), "the message alone")
			require.Equal(t, row.want, say(s, fmt.Sprint("sent", i), row.message, row.before...))
			recorded := fmt.Sprint("recorded", i)
			for at, turn := range row.before {
				if turn.Role == payload.RoleUser {
					say(s, recorded, turn.Text, row.before[:at]...)
				}
			}
			require.Equal(t, row.want, say(s, recorded, row.message))
			s.Eventually("the turn is recorded as it was sent", func() bool {
				current, _ := s.Document(recorded)["current"].(map[string]any)
				intent, _ := current["intent"].(map[string]any)
				given, _ := intent["input"].([]any)
				users := len(row.before) / 2
				return current["input"] == row.message && given != nil && len(given) == 0 && intent["earlier"] == float64(users)
			})
		})
	}
}

// Every process knows what was said, also after a restart, until the session begins
// anew. What a gateway leaves out of a compacted conversation goes on.
func TestTopicsGoOnAcrossProcesses(t *testing.T) {
	t.Parallel()
	const topic, leaning, want = "how much did we spend on petrol in May", "and in June?", "FINANCE"
	first := start(t, nil)
	more := *first.Config
	more.Bus.URLs = []string{first.Bus.URL()}
	second := apptest.Launch(t, &more)

	for i := range 20 {
		// Either process gets either message.
		session := fmt.Sprint("s", i)
		require.Equal(t, want, say(first, session, topic))
		require.Equal(t, want, say(first, session, leaning))
	}
	tell := func(session, hook string) {
		event := first.Prompt(session, "", "")
		event.Hook, event.Event = hook, json.RawMessage(`{}`)
		first.Tell(event)
		first.Eventually("the event is applied", func() bool {
			place, err := events.Where(t.Context(), first.Bus.JS, app.Layout(first.Config))
			return err == nil && place.Applied > 0 && place.Applied == place.Delivered
		})
	}
	summary := payload.Turn{Role: payload.RoleAssistant, Text: "Earlier the user asked about their car."}
	for i, hook := range []string{"before_compaction", "after_compaction"} {
		session := fmt.Sprint("s", i)
		require.Equal(t, want, say(first, session, topic))
		tell(session, hook)
		require.Equal(t, want, say(first, session, leaning), hook)
		require.Equal(t, want, say(first, session, leaning, summary), hook)
	}
	began, sessions := "", 0
	for _, hook := range []string{"session_start", "session_end"} {
		// The other process hears of it a moment later. A message that was said twice
		// would stand for the topic.
		first.Eventually("after "+hook+" the message stands alone", func() bool {
			sessions++
			began = fmt.Sprint("began", sessions)
			require.Equal(t, want, say(first, began, topic))
			tell(began, hook)
			return say(first, began, leaning) != want
		})
		for range 4 {
			require.NotEqual(t, want, say(first, began, leaning), "each process knows")
		}
	}

	require.NoError(t, second.Stop())
	require.NoError(t, first.Stop())
	again := startWith(t, first.Config)
	again.Sequence = first.Sequence
	require.Equal(t, want, say(again, "s7", leaning))
	require.NotEqual(t, want, say(again, began, leaning), "a session that began anew")

	late := again.Prompt("s1", "late", leaning)
	late.TS += (5 * time.Hour).Milliseconds()
	require.NotEqual(t, want, again.Ask(late, time.Minute).Header.Get("Hint-Intent"), "the next day")
}

// Who sends no history to the classifier does not want it to have any.
func TestTopicsFollowTheQueryMode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings map[string]string
	}{
		{"message", map[string]string{"HINT_QUERY_MODE": "message"}},
		{"no turns of users", map[string]string{"HINT_CONTEXT_WINDOW": `{"user":{"turns":0}}`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, row.settings)
			say(s, "s", "how much did we spend on petrol in May")
			require.NotEqual(t, "FINANCE", say(s, "s", "and in June?"))
		})
	}
}

// A session that was removed begins anew.
func TestForgottenTurnsContinueNoTopic(t *testing.T) {
	t.Parallel()
	const topic, leaning, want = "how much did we spend on petrol in May", "and in June?", "FINANCE"
	s := start(t, nil)
	require.Equal(t, want, say(s, "s", topic))
	require.Equal(t, want, say(s, "s", leaning))
	s.Eventually("both turns are stored", func() bool {
		history, _ := s.Document("s")["history"].([]any)
		return len(history) == 1
	})
	sessions, err := app.OpenStore(t.Context(), s.Config, nil, nil, nil)
	require.NoError(t, err)
	other, err := bus.Open(t.Context(), bus.Options{URL: s.Bus.URL(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(other.Close)
	forgetter, err := app.NewForgetter(t.Context(), s.Config, other, sessions)
	require.NoError(t, err)
	defer forgetter.Close()
	_, err = forgetter.Forget(t.Context(), "s", "")
	require.NoError(t, err)
	require.NotEqual(t, want, say(s, "s", leaning))
}

// What the session said before is for the local classifier alone.
func TestEarlierMessagesAreCountedWhereTheyWereRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, classifier, message string
		want                      any
	}{
		{"local", "local", "and what is the weather like", float64(1)},
		{"model", "llm", "and what is the weather like", nil},
		{"keyword", "local", "joke please", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := apptest.WriteIntents(t)
			joke := "---\nid: JOKE\ntriggers: [The user wants a joke]\nfastpath: {keywords: [joke please], hint: funny}\n---\nTell one.\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "joke.md"), []byte(joke), 0o600))
			s, _ := withModel(t, map[string]string{"HINT_CLASSIFIER": row.classifier, "HINT_INTENTS_DIR": dir})
			say(s, "s", "what is the weather like")
			say(s, "s", row.message)
			s.Eventually("both turns", func() bool {
				current, _ := s.Document("s")["current"].(map[string]any)
				intent, _ := current["intent"].(map[string]any)
				return current["input"] == row.message && intent != nil && intent["earlier"] == row.want
			})
		})
	}
}
