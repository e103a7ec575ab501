package local

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
)

// tasks are requests in nine languages.
var tasks = []string{
	"Remind me at 6 pm to call the dentist.", "Translate this sentence into French: the train is late.", "What will the weather be like in Lisbon tomorrow?",
	"Find me the cheapest flight to Rome in May.", "Write a Python function that sorts a list of dates.",
	"Erinnere mich morgen früh an den Zahnarzt.", "Wie wird das Wetter morgen in Berlin?", "Schreib eine E-Mail an meinen Vermieter wegen der Heizung.",
	"¿Qué tiempo hará mañana en Sevilla?", "Recuérdame llamar al médico mañana.", "Traduis ce texte en anglais.", "Quel temps fera-t-il demain à Lyon ?",
	"明天上海天气怎么样？", "提醒我下午三点开会。", "明日の東京の天気を教えて。", "Напомни мне завтра позвонить врачу.",
}

// around returns how many tasks have the same answer with something around them.
func around(m *Model, catalog *intents.Catalog, before, behind string) (same int) {
	answer := func(s string) string { return m.Classify(classify.Input{Catalog: catalog, Latest: s}).Intent }
	for _, task := range tasks {
		if answer(strings.TrimSpace(before+" "+task+" "+behind)) == answer(task) {
			same++
		}
	}
	return same
}

func TestATaskBeatsACourtesy(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	m := Trained(catalog)
	for _, courtesy := range []string{
		"I hope you had a nice weekend.", "Guten Morgen! Ich hoffe, es geht dir gut.", "¡Hola! Espero que estés bien.", "Bonjour, j'espère que tu vas bien.", "你好！周末过得怎么样？",
	} {
		require.GreaterOrEqual(t, around(m, catalog, courtesy, ""), len(tasks)-1, courtesy)
	}
	require.GreaterOrEqual(t, around(m, catalog, "", "Thanks a lot, you are the best!"), len(tasks)-1)
	for _, courtesy := range []string{"I hope you had a nice weekend. Thanks a lot!", "Guten Morgen! Alles gut bei dir?"} {
		require.Equal(t, "CHAT", m.Classify(classify.Input{Catalog: catalog, Latest: courtesy}).Intent, courtesy)
	}
}

func TestTheAskAroundAPasteDecides(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	m := Trained(catalog)
	for name, row := range map[string]struct {
		paste  string
		missed int // most asks behind it that may get another intent
	}{
		"log":   {"2026-11-20 22:57:01 ERROR worker 7 failed: connection reset by peer (attempt 3). ", 1},
		"code":  {"func add(a, b int) int { if a > b { return a - b }; return a + b } ", 1},
		"JSON":  {`{"id": 17, "name": "Ada", "items": [{"sku": "x-1", "qty": 2}], "paid": true} `, 1},
		"mail":  {"Dear Sir or Madam, our meeting on Thursday has been moved to Friday. Please confirm your attendance. Kind regards, Bob. ", 2},
		"prose": {"The old house stood at the end of the lane. Nobody had lived in it for years. The garden was wild and the windows were dark. ", 1},
	} {
		for _, times := range []int{5, 30} {
			long := strings.TrimSpace(strings.Repeat(row.paste, times))
			require.GreaterOrEqual(t, around(m, catalog, "", long), len(tasks)-1, "%s behind the ask", name)
			require.GreaterOrEqual(t, around(m, catalog, long, ""), len(tasks)-row.missed, "%s before the ask", name)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	require.Nil(t, sentences("Version 3.5 of example.org is out?"))
	require.Nil(t, sentences("Hi. What now?"), "too short to ask for anything")
	require.Equal(t, []string{"I am back.", "What now?"}, sentences(" I am back.  What now? "))
	require.Equal(t, []string{"你好吗？", "明天天气怎么样"}, sentences("你好吗？明天天气怎么样"))
	require.Equal(t, []string{`{"a": [1, 2.5], "b": {"c": "d."}}`, `["x", "y", "z", "and more"]`, "Why?", "And how"}, sentences(`{"a": [1, 2.5], "b": {"c": "d."}} ["x", "y", "z", "and more"] Why? And how`), "records")
	require.Zero(t, recordEnd("["+strings.Repeat("1, ", mostRecord)+"2]"), "too long")
	require.Nil(t, sentences("[x] milk and bread"), "no record")
	require.Nil(t, sentences(`{"a": {"b": "never closed"} and more of it`))
	long := sentences(strings.Repeat("Sentence one. ", 50) + "The end.")
	require.Len(t, long, 2*maxSentences)
	require.Equal(t, "The end.", long[len(long)-1])
}
