package conversation

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
	"intenthint/internal/text"
	"intenthint/payload"
)

// content is what a message says: a text, or several text parts.
func content(texts ...string) payload.Content {
	parts := []map[string]string{}
	for _, text := range texts {
		parts = append(parts, map[string]string{"type": "text", "text": text})
	}
	var said any = parts
	if len(texts) == 1 {
		said = texts[0]
	}
	raw, err := json.Marshal(said)
	if err != nil {
		panic(err) // texts alone
	}
	return payload.Content(raw)
}

// script reads lines such as "u hello" and "a hi there"; "i" is a user message
// from another session, other roles go by name.
func script(lines ...string) []payload.Message {
	roles := map[string]string{"u": payload.RoleUser, "a": payload.RoleAssistant}
	var out []payload.Message
	for _, line := range lines {
		role, text, _ := strings.Cut(line, " ")
		m := payload.Message{Role: role, Content: content(text)}
		if name, ok := roles[role]; ok {
			m.Role = name
		}
		if role == "i" {
			m.Role, m.Provenance.Kind = payload.RoleUser, payload.InterSession
		}
		out = append(out, m)
	}
	return out
}

func lines(turns []payload.Turn) []string {
	out := []string{}
	for _, turn := range turns {
		out = append(out, turn.Role[:1]+" "+turn.Text)
	}
	return out
}

func TestFullHistory(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		in   []payload.Message
		want []string
	}{
		"nothing":                             {nil, []string{}},
		"a pair":                              {script("u hello", "a hi"), []string{"u hello", "a hi"}},
		"other roles":                         {script("system s", "u hello", "toolResult r", "custom c", "a hi"), []string{"u hello", "a hi"}},
		"of several answers the last":         {script("u hello", "a one", "toolResult r", "a two"), []string{"u hello", "a two"}},
		"an empty last answer does not count": {script("u hello", "a one", "a "), []string{"u hello", "a one"}},
		"thought alone does not count":        {script("u hello", "a one", "a <think>x</think>"), []string{"u hello", "a one"}},
		"no answer, replaced by the next":     {script("u one", "u two", "a hi"), []string{"u two", "a hi"}},
		"no answer, the last stays":           {script("u one", "a hi", "u two"), []string{"u one", "a hi", "u two"}},
		"none answered, the last stays":       {script("u one", "u two", "u three"), []string{"u three"}},
		"an answer to nothing":                {script("a hi", "u hello", "a there"), []string{"u hello", "a there"}},
		"answers alone":                       {script("a hi", "a there"), []string{}},
		"an empty message is no turn":         {script("u one", "a 1", "u  ", "a 2"), []string{"u one", "a 1"}},
		"an empty message, several answers":   {script("u one", "a 1", "u ", "a 2", "a 3"), []string{"u one", "a 1"}},
		"an empty message after no answer":    {script("u one", "u ", "a 2"), []string{"u one"}},
		"an empty last message is no turn":    {script("u one", "u "), []string{"u one"}},
		"a message of a block alone":          {script("u one", "a 1", "u "+hintBlock, "a 2"), []string{"u one", "a 1"}},
		"a heartbeat":                         {script("u one", "a 1", "u [heartbeat poll]", "a HEARTBEAT_OK", "u two", "a 2"), []string{"u one", "a 1", "u two", "a 2"}},
		"a heartbeat in any case":             {script("u one", "a 1", "u A HeartBeat  POLL now"), []string{"u one", "a 1"}},
		"an alert in answer to a heartbeat":   {script("u one", "a 1", "u heartbeat poll", "a checking", "a the roof leaks!"), []string{"u one", "a the roof leaks!"}},
		"a heartbeat leaves no gap":           {script("u one", "u heartbeat poll", "a HEARTBEAT_OK", "u two", "a 2"), []string{"u two", "a 2"}},
		"a heartbeat at the end":              {script("u one", "u heartbeat poll", "a HEARTBEAT_OK"), []string{"u one"}},
		"a heartbeat answer to a message":     {script("u one", "a 1", "a HEARTBEAT_OK"), []string{"u one", "a 1"}},
		"a heartbeat answer with blanks":      {script("u one", "a 1", "a \n HEARTBEAT_OK "), []string{"u one", "a 1"}},
		"talk of a heartbeat answer":          {script("u one", "a HEARTBEAT_OK is what I say"), []string{"u one", "a HEARTBEAT_OK is what I say"}},
		"an assistant may speak of the poll":  {script("u one", "a the heartbeat poll ran"), []string{"u one", "a the heartbeat poll ran"}},
		"a heart that beats":                  {script("u my heartbeat", "a polls"), []string{"u my heartbeat", "a polls"}},
		"another session, and its answer":     {script("u one", "a 1", "i done", "a thanks", "a bye", "u two", "a 2"), []string{"u one", "a 1", "u two", "a 2"}},
		"another session at the end":          {script("u one", "a 1", "i done", "a thanks"), []string{"u one", "a 1"}},
		"another session, not answered":       {script("u one", "a 1", "i done"), []string{"u one", "a 1"}},
		"a message before another session":    {script("u one", "i done", "a thanks"), []string{"u one"}},
		"replaced past another session":       {script("u one", "i done", "a thanks", "u two", "a 2"), []string{"u two", "a 2"}},
		"another session twice":               {script("u one", "a 1", "i done", "i done too", "a thanks"), []string{"u one", "a 1"}},
		"another session without a text":      {script("u one", "a 1", "i ", "a thanks"), []string{"u one", "a 1"}},
		"another session's, by its text":      {script("u one", "a 1", "u [Inter-session message] sourceSession=x\n\nhi", "a thanks"), []string{"u one", "a 1"}},
		"a task's end, by its text":           {script("u one", "a 1", "u  [Internal task completion event]\nsource: subagent", "a thanks"), []string{"u one", "a 1"}},
		"behind a block of this system":       {script("u one", "a 1", "u <skipped-messages>x</skipped-messages>\n[Inter-session message] hi", "a thanks"), []string{"u one", "a 1"}},
		"talk of another session":             {script("u what is [Inter-session message]?", "a 1"), []string{"u what is [Inter-session message]?", "a 1"}},
		"a heartbeat after another session":   {script("u one", "a 1", "i done", "u heartbeat poll", "a alert"), []string{"u one", "a 1"}},
		"an assistant may begin like that":    {script("u one", "a [Inter-session message] 1"), []string{"u one", "a [Inter-session message] 1"}},
		"several parts are one text": {
			[]payload.Message{{Role: payload.RoleUser, Content: content("one", "two")}, {Role: payload.RoleAssistant, Content: content("1 ", " 2")}},
			[]string{"u one two", "a 1 2"},
		},
		"no parts": {
			[]payload.Message{{Role: payload.RoleUser, Content: content("one")}, {Role: payload.RoleAssistant}, {Role: payload.RoleUser}},
			[]string{"u one"},
		},
		"a block over two parts": {
			[]payload.Message{{Role: payload.RoleUser, Content: content("<think>x", "y</think>z")}},
			[]string{"u z"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, lines(History(c.in, ModeFull, Window{})))
		})
	}
}

func TestModesAndWindows(t *testing.T) {
	t.Parallel()
	messages := script("u u1", "a a1", "u u2", "a a2", "u u3", "a a3", "u u4")
	window := func(users, assistants int) Window {
		return Window{User: Side{users, 100}, Assistant: Side{assistants, 100}}
	}
	cases := map[string]struct {
		mode   QueryMode
		window Window
		want   []string
	}{
		"message":            {ModeMessage, window(9, 9), []string{}},
		"full":               {ModeFull, window(0, 0), []string{"u u1", "a a1", "u u2", "a a2", "u u3", "a a3", "u u4"}},
		"recent":             {ModeRecent, window(2, 2), []string{"a a2", "u u3", "a a3", "u u4"}},
		"more users":         {ModeRecent, window(3, 1), []string{"u u2", "u u3", "a a3", "u u4"}},
		"more assistants":    {ModeRecent, window(1, 3), []string{"a a1", "a a2", "a a3", "u u4"}},
		"users only":         {ModeRecent, window(2, 0), []string{"u u3", "u u4"}},
		"assistants only":    {ModeRecent, window(0, 1), []string{"a a3"}},
		"none":               {ModeRecent, window(0, 0), []string{}},
		"negative is zero":   {ModeRecent, window(-3, -1), []string{}},
		"more than there is": {ModeRecent, window(20, 10), []string{"u u1", "a a1", "u u2", "a a2", "u u3", "a a3", "u u4"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, lines(History(messages, c.mode, c.window)))
		})
	}
}

func TestTheLatestMessageIsNotPartOfTheConversation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("字", maxLatestChars)
	cases := map[string]struct {
		latest   string
		messages []payload.Message
		want     []string
	}{
		"it is the last message too": {"now", script("u u1", "a a1", "u now"), []string{"u u1", "a a1"}},
		"as the gateway decorates":   {"now", script("u u1", "a a1", "u <think>x</think> \n now"), []string{"u u1", "a a1"}},
		"longer than it may be":      {Latest(long + "字"), script("u " + long + "字"), []string{}},
		"said before and answered":   {"now", script("u now", "a a1"), []string{"u now", "a a1"}},
		"said by the assistant":      {"now", script("u u1", "a now"), []string{"u u1", "a now"}},
		"another is the last":        {"now", script("u u1", "a a1", "u u2"), []string{"u u1", "a a1", "u u2"}},
		"there are none":             {"now", nil, []string{}},
		"a tool was called for it":   {"now", append(script("u u1", "a a1", "u now"), payload.Message{Role: payload.RoleAssistant, Content: `[{"type":"toolCall","name":"read"}]`}, payload.Message{Role: "toolResult", Content: `"text"`}), []string{"u u1", "a a1"}},
		"a note of the gateway":      {"now", append(script("u u1", "a a1", "u now"), payload.Message{Role: "custom", Content: `"note"`}), []string{"u u1", "a a1"}},
		"only notes of the gateway":  {"now", []payload.Message{{Role: "custom", Content: `"now"`}}, []string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, lines(History(Before(c.latest, c.messages), ModeFull, Window{})))
		})
	}
}

func TestRecentCutsInCharacters(t *testing.T) {
	t.Parallel()
	messages := script("u "+strings.Repeat("字", 41), "a "+strings.Repeat("😀", 50), "u "+strings.Repeat("é", 40))
	window := Window{User: Side{5, 40}, Assistant: Side{5, 45}}
	want := []string{
		"u " + strings.Repeat("字", 11) + "… (truncated...) …" + strings.Repeat("字", 11),
		"a " + strings.Repeat("😀", 14) + "… (truncated...) …" + strings.Repeat("😀", 13),
		"u " + strings.Repeat("é", 40),
	}
	require.Equal(t, want, lines(History(messages, ModeRecent, window)))
	require.Equal(t, lines(forward(messages)), lines(History(messages, ModeFull, window)), "full is uncut")
}

// A secret that the window cuts would not be recognized afterwards.
func TestRedactedTextsAreCutAfterwards(t *testing.T) {
	const key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	messages := script("u "+strings.Repeat("x ", 18)+key+" z", "a mail alice@example.com", "u last")
	window := Window{User: Side{Turns: 9, Chars: 40}, Assistant: Side{Turns: 9, Chars: 40}}
	for mode, want := range map[QueryMode][]payload.Turn{
		ModeMessage: nil,
		ModeRecent: {
			{Role: payload.RoleUser, Text: strings.Repeat("x ", 5) + "x… (truncated...) …[API_KEY] z"},
			{Role: payload.RoleAssistant, Text: "mail [EMAIL]"},
			{Role: payload.RoleUser, Text: "last"},
		},
		ModeFull: {
			{Role: payload.RoleUser, Text: strings.Repeat("x ", 18) + "[API_KEY] z"},
			{Role: payload.RoleAssistant, Text: "mail [EMAIL]"},
			{Role: payload.RoleUser, Text: "last"},
		},
	} {
		t.Run(string(mode), func(t *testing.T) { require.Equal(t, want, Redacted(messages, mode, window)) })
	}
	t.Run("without secrets it is the history", func(t *testing.T) {
		messages := script("u "+strings.Repeat("x", 41), "a "+strings.Repeat("y", 40), "u z")
		require.Equal(t, History(messages, ModeRecent, window), Redacted(messages, ModeRecent, window))
	})
}

func TestLatest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "What now?", Latest(hintBlock+" What\n now? "))
	require.Equal(t, strings.Repeat("字", 1991)+"… (truncated...) …"+strings.Repeat("字", 1990)+"?", Latest(strings.Repeat("字", 4001)+"?"))
	require.Equal(t, strings.Repeat("字", 4000), Latest(strings.Repeat("字", 4000)))
	require.Empty(t, Latest(" \n"))
}

func TestEarlier(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, latest, want string }{
		{"short", "What now?", "What now?"},
		{"as long as may be", strings.Repeat("字", 500), strings.Repeat("字", 500)},
		{"cut", strings.Repeat("字", 501), strings.Repeat("字", 241) + text.LeftOut + strings.Repeat("字", 241)},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, Earlier(row.latest))
			sent := History([]payload.Message{{Role: "user", Content: content(row.latest)}}, ModeRecent, DefaultWindow())
			require.Equal(t, row.want, sent[0].Text, "as a conversation that is sent")
		})
	}
}

func TestEarlierTurns(t *testing.T) {
	t.Parallel()
	window := Window{User: Side{Turns: 2}}
	require.Equal(t, 0, EarlierTurns(ModeMessage, window))
	require.Equal(t, 2, EarlierTurns(ModeRecent, window))
	require.Equal(t, math.MaxInt, EarlierTurns(ModeFull, window))
}

// TestCapturedHistories holds the turns of real gateway histories to a golden
// file.
func TestCapturedHistories(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/openclaw/before_prompt_build.json")
	require.NoError(t, err)
	var samples []struct {
		Scenario string          `json:"scenario"`
		Event    json.RawMessage `json:"event"`
	}
	require.NoError(t, json.Unmarshal(data, &samples))
	require.NotEmpty(t, samples)
	var b strings.Builder
	for _, sample := range samples {
		event, err := payload.DecodeBeforePromptBuild(sample.Event)
		require.NoError(t, err)
		fmt.Fprintf(&b, "# %s\nlatest: %s\n", sample.Scenario, Latest(event.Message()))
		for _, turn := range History(event.Messages, ModeRecent, DefaultWindow()) {
			fmt.Fprintf(&b, "%s: %s\n", turn.Role, turn.Text)
		}
		b.WriteString("\n")
	}
	golden.Equal(t, "captured.golden", b.String())
}

// FuzzHistory holds the walk from the end to the plain reading of contract §5
// from the beginning.
func FuzzHistory(f *testing.F) {
	f.Add([]byte("uauuaahHeEx"), 2, 1)
	f.Add([]byte("aauHaahuxa"), 20, 10)
	f.Add([]byte("uaiauaIahaiu"), 5, 3)
	f.Fuzz(func(t *testing.T, kinds []byte, users, assistants int) {
		var messages []payload.Message
		for i, kind := range kinds {
			m := payload.Message{Role: payload.RoleUser, Content: content(fmt.Sprintf("text %d", i))}
			switch kind {
			case 'u':
			case 'a':
				m.Role = payload.RoleAssistant
			case 'h':
				m.Content = content("a heartbeat poll")
			case 'H':
				m.Role, m.Content = payload.RoleAssistant, content("HEARTBEAT_OK")
			case 'e':
				m.Content = ""
			case 'i':
				m.Provenance.Kind = payload.InterSession
			case 'I':
				m.Content = content(fmt.Sprintf("[Inter-session message] %d", i))
			case 'E':
				m.Role, m.Content = payload.RoleAssistant, content(" ")
			default:
				m.Role = "toolResult"
			}
			messages = append(messages, m)
		}
		all := forward(messages)
		window := Window{User: Side{max(users, 0), 100}, Assistant: Side{max(assistants, 0), 100}}
		require.Equal(t, lines(all), lines(History(messages, ModeFull, window)))
		require.Equal(t, lines(recent(all, window)), lines(History(messages, ModeRecent, window)))
	})
}

// forward is every turn of the messages, read from the beginning.
func forward(messages []payload.Message) []payload.Turn {
	var out []payload.Turn
	var user, answer string
	dropped := false // what follows answers a message that is no turn
	emit := func(evenUnanswered bool) {
		if user == "" || answer == "" && !evenUnanswered {
			return
		}
		out = append(out, payload.Turn{Role: payload.RoleUser, Text: user})
		if answer != "" {
			out = append(out, payload.Turn{Role: payload.RoleAssistant, Text: answer})
		}
	}
	for i := range messages {
		text := textOf(&messages[i])
		switch {
		case messages[i].Role == payload.RoleUser:
			if isHeartbeatPoll(text) {
				continue
			}
			dropped = text == "" || messages[i].Provenance.Kind == "inter_session" ||
				strings.HasPrefix(text, "[Inter-session message]") || strings.HasPrefix(text, "[Internal task completion event]")
			if !dropped {
				emit(false)
				user, answer = text, ""
			}
		case messages[i].Role == payload.RoleAssistant && !dropped && text != "" && text != heartbeatAnswer:
			answer = text
		}
	}
	emit(true)
	return out
}

// recent is what the window holds of the turns.
func recent(turns []payload.Turn, window Window) []payload.Turn {
	var out []payload.Turn
	for _, turn := range slices.Backward(turns) {
		left := &window.User.Turns
		if turn.Role == payload.RoleAssistant {
			left = &window.Assistant.Turns
		}
		if *left > 0 {
			*left--
			out = append(out, turn)
		}
	}
	slices.Reverse(out)
	return out
}

// Not parallel, as allocations are counted for the whole process.
func TestHistoryCleansOnlyWhatItTakes(t *testing.T) {
	messages := long(8 << 20)
	require.Len(t, History(messages, ModeRecent, DefaultWindow()), 8)
	allocations := testing.AllocsPerRun(5, func() { History(messages, ModeRecent, DefaultWindow()) })
	require.Less(t, allocations, 200.0, "of thousands of messages only the last are cleaned")
}

func long(size int) []payload.Message {
	text := strings.Repeat("some <b>words</b>: an answer\n", 100)
	var messages []payload.Message
	for n := 0; n < size; n += 2 * len(text) {
		messages = append(messages, script("u "+text, "a "+text)...)
	}
	return messages
}

func BenchmarkHistory(b *testing.B) {
	short := script("u hello", "a hi, what can I do?", "u tell me of the roof", "a it leaks")
	eight := long(8 << 20)
	for name, run := range map[string]func(){
		"recent/4 messages": func() { History(short, ModeRecent, DefaultWindow()) },
		"recent/8MB":        func() { History(eight, ModeRecent, DefaultWindow()) },
		"full/8MB":          func() { History(eight, ModeFull, DefaultWindow()) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

func TestBeside(t *testing.T) {
	t.Parallel()
	told := func(message string) *string { return &message }
	for name, row := range map[string]struct {
		event payload.BeforePromptBuild
		want  string
	}{
		"the prompt alone":         {payload.BeforePromptBuild{Prompt: "is this\nsafe to merge?"}, ""},
		"a framed prompt":          {payload.BeforePromptBuild{Prompt: "[Fri 2026-11-20 22:57 UTC] is this safe to merge?"}, "is this safe to merge?"},
		"a message beside":         {payload.BeforePromptBuild{Prompt: "policy\n\nis this safe?", Current: told("is this\nsafe?")}, "is this\nsafe?"},
		"a framed message beside":  {payload.BeforePromptBuild{Prompt: "policy", Current: told("[Fri 2026-11-20 22:57 UTC] is this safe?")}, "is this safe?"},
		"the same message beside":  {payload.BeforePromptBuild{Prompt: "hello", Current: told("hello")}, ""},
		"a prompt of frames alone": {payload.BeforePromptBuild{Prompt: "<relevant-memories>\nthe user likes tea\n</relevant-memories>"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, row.want, Beside(row.event))
		})
	}
}

func TestSaid(t *testing.T) {
	long := strings.Repeat("It rained in Bergen. ", 30) + "Shall I book the hotel? " + strings.Repeat("The sun shone in Oslo. ", 30)
	window := DefaultWindow()
	for name, row := range map[string]struct {
		messages []payload.Message
		mode     QueryMode
		window   Window
		want     string
	}{
		"whole, beyond the window": {script("u hello", "a "+long), ModeRecent, window, strings.TrimSpace(long)},
		"the last one":             {script("u hello", "a hi", "u rain?", "a yes"), ModeRecent, window, "yes"},
		"the user spoke last":      {script("u hello", "a hi", "u rain?"), ModeRecent, window, ""},
		"bounded":                  {script("u hello", "a "+strings.Repeat("rain ", 2000)), ModeFull, window, text.Middle(strings.TrimSpace(strings.Repeat("rain ", 2000)), maxLatestChars)},
		"no history is sent":       {script("u hello", "a hi"), ModeMessage, window, ""},
		"no turn of the assistant": {script("u hello", "a hi"), ModeRecent, Window{User: window.User}, ""},
		"nothing":                  {nil, ModeRecent, window, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, Said(row.messages, row.mode, row.window))
		})
	}
}
