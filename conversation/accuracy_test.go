package conversation_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
)

var table = flag.Bool("table", false, "print how many requests each frame leaves as they are")

// plainRequests are requests that the local classifier is sure of, in all languages of
// the catalogue.
var plainRequests = []string{
	"What will the weather be like in Lisbon this weekend?", "Remind me at 6 pm to call the dentist", "Translate this sentence into French: the train is late",
	"Write a Python function that sorts a list of dates", "Summarise the minutes of our last meeting", "Find me the cheapest flight to Rome in May",
	"Wie wird das Wetter morgen in Berlin?", "Erinnere mich morgen früh an den Zahnarzt", "Schreib eine E-Mail an meinen Vermieter wegen der Heizung",
	"¿Qué tiempo hará mañana en Sevilla?", "Traduis ce texte en anglais", "明天上海天气怎么样？", "提醒我下午三点开会", "明日の東京の天気を教えて", "Напомни мне завтра позвонить врачу",
	"서울 내일 날씨 알려줘", "Lembra-me amanhã de ligar ao dentista", "Traduci questo testo in inglese", "Yarın İstanbul'da hava nasıl olacak?", "ذكرني غدا بالاتصال بالطبيب", "कल दिल्ली में मौसम कैसा रहेगा?",
}

// A frame around a request does not change its answer, neither in the message
// nor in the history, where "go ahead" follows it.
func TestFramesDoNotChangeTheAnswer(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	model := local.Trained(catalog)
	answer := func(prompt string, history ...payload.Message) string {
		latest := conversation.Latest(prompt)
		before := conversation.History(conversation.Before(latest, history), conversation.ModeRecent, conversation.DefaultWindow())
		before = append(before, conversation.Context(prompt, conversation.ModeRecent, conversation.DefaultWindow(), nil)...)
		return model.Classify(classify.Input{Catalog: catalog, Latest: latest, Conversation: before}).Intent
	}
	confirmed := func(prompt string) string {
		return answer("go ahead", payload.Message{Role: payload.RoleUser, Content: payload.ContentOf(prompt)},
			payload.Message{Role: payload.RoleAssistant, Content: payload.ContentOf("I can do that. Shall I?")})
	}
	bare, later := map[string]string{}, map[string]string{}
	for _, request := range plainRequests {
		bare[request], later[request] = answer(request), confirmed(request)
	}
	names := slices.Sorted(maps.Keys(conversation.FrameExamples("")))
	for _, name := range names {
		same, sameLater := 0, 0
		var wrong strings.Builder
		for _, request := range plainRequests {
			framed := conversation.FrameExamples(request)[name]
			if got := answer(framed); got == bare[request] {
				same++
			} else {
				fmt.Fprintf(&wrong, "\n\t%s: %s, not %s", request, got, bare[request])
			}
			if got := confirmed(framed); got == later[request] {
				sameLater++
			} else {
				fmt.Fprintf(&wrong, "\n\tlater, %s: %s, not %s", request, got, later[request])
			}
		}
		if *table {
			fmt.Printf("| %s | %d/%d | %d/%d |\n", name, same, len(plainRequests), sameLater, len(plainRequests))
		}
		require.GreaterOrEqual(t, same, len(plainRequests)-1, "%s%s", name, wrong.String())
		require.GreaterOrEqual(t, sameLater, len(plainRequests)-1, "%s%s", name, wrong.String())
	}
}
