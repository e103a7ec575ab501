package triage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/triage/state"
)

func TestCalled(t *testing.T) {
	t.Parallel()
	claw := []string{"Max", "@demo_claw_bot", "<@123456>", `\bmaxi?(?:bot)?\s+please\b`}
	for _, row := range []struct {
		name, text string
		names      []string
		want       bool
	}{
		{"the name alone", "Max", claw, true},
		{"in another case", "hey MAX!", claw, true},
		{"with a mark in front", "(max) look", claw, true},
		{"a possessive", "what is Max's opinion", claw, true},
		{"at the end of a sentence", "ask max.", claw, true},
		{"with an ellipsis in front", "so...max?", claw, true},
		{"between Chinese characters", "叫Max来", claw, true},
		{"with an at sign", "@max are you there", claw, true},
		{"the longer word comes first", "maximum, says max", claw, true},

		{"a longer word", "the maximum is 5", claw, false},
		{"the end of a word", "climax", claw, false},
		{"an address", "write to max@example.org", claw, false},
		{"a domain", "see https://max.example.org", claw, false},
		{"the domain of an address", "write to anna@max.org", claw, false},
		{"a path", "it is in /home/max/notes", claw, false},
		{"a path of Windows", `C:\Users\Max\notes`, claw, false},
		{"a file", "open max.txt", claw, false},
		{"a property", "set max-width", claw, false},
		{"an identifier", "call max_of", claw, false},
		{"nobody", "is anybody there", claw, false},
		{"no names", "Max", nil, false},

		{"the bot's user name", "@demo_claw_bot and me?", claw, true},
		{"the bot's user name without its sign", "is demo_claw_bot down", claw, true},
		{"the user name that a bot of this name has", "@max_bot and me?", []string{"Max"}, true},
		{"a person whose name begins alike", "@max_mustermann and me?", []string{"Max"}, false},
		{"another bot's user name", "@demo_claw_bot2 and me?", claw, false},
		{"another bot whose name ends alike", "@my.demo_claw_bot", claw, false},

		{"a mention by id", "<@123456> help", claw, true},
		{"a mention by id of a nickname", "<@!123456> help", claw, true},
		{"a mention by id with a label", "<@123456|claw> help", claw, true},
		{"a mention of another", "<@1234567> help", claw, false},
		{"the number of the id", "it costs 123456", claw, false},
		{"an id of digits alone", "<@77> help", []string{"77"}, true},
		{"an id of letters", "<@u02ab> help", []string{"<@U02AB>"}, true},

		{"a pattern", "Maxibot  please", claw, true},
		{"a pattern that does not match", "maxibot now", claw, false},
		{"a pattern that matches everything", "hello", []string{".*"}, false},
		{"a pattern that cannot be read", "hello (claw", []string{"(claw"}, true},

		{"a Chinese name in a sentence", "请小明看一下", []string{"小明"}, true},
		{"a Japanese name with a suffix", "たろうさん、お願い", []string{"たろう"}, true},
		{"a Korean name with a particle", "맥스야 도와줘", []string{"맥스"}, true},
		{"a Korean name at the end of a word", "클라이맥스", []string{"맥스"}, false},
		{"a Russian name in another case", "ПРИВЕТ, ЁЖИК!", []string{"Ёжик"}, true},
		{"a Russian name in a word", "ёжики", []string{"Ёжик"}, false},
		{"a name of several words", "ask Mr. Claw about it", []string{"Mr. Claw"}, true},
		{"a name that ends in a sign", "use c++ there", []string{"C++"}, true},
		{"a blank name", "hello", []string{" ", "@"}, false},
		{"a name that is too long", strings.Repeat("a", 300), []string{strings.Repeat("a", 300)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, row.want, called(row.text, row.names))
		})
	}
}

func FuzzCalled(f *testing.F) {
	f.Add("hey max@example.org <@12>", "Max")
	f.Add("叫小明", "小明")
	f.Add("x", `(a{1000}){2}`)
	f.Fuzz(func(t *testing.T, text, name string) {
		before := called(text, []string{name})
		// What stands apart from the text changes nothing.
		if before && !strings.ContainsAny(name, `\^$[](){}|?*+`) && !called(text+" \n zzz", []string{name}) {
			t.Errorf("%q is called in %q, and not with words behind it", name, text)
		}
	})
}

func TestNamesOfTopics(t *testing.T) {
	t.Parallel()
	s := &Settings{
		ExcludeGroups: []string{"agent:main:telegram:group:-1"}, Groups: []string{"agent:*:telegram:group:-1", "agent:*:telegram:group:-2"},
		GroupPrompts: map[string]string{"agent:main:telegram:group:-2": "of the group", "agent:main:telegram:group:-2:topic:7": "of the topic"},
	}
	for group, want := range map[string]Reason{
		"agent:main:telegram:group:-1":                    Excluded,
		"agent:main:telegram:group:-1:topic:42":           Excluded,
		"agent:main:telegram:group:-1:topic:4:thread:5.1": Excluded,
		"agent:main:telegram:group:-12:topic:42":          NotListed,
	} {
		v, ok := s.Outside(Message{Group: group})
		require.True(t, ok, group)
		require.Equal(t, want, v.Reason, group)
	}
	_, ok := s.Outside(Message{Group: "agent:main:telegram:group:-2:topic:42"})
	require.False(t, ok, "a topic of a listed group is listed")
	require.Equal(t, "of the group", s.prompt("agent:main:telegram:group:-2:topic:42"))
	require.Equal(t, "of the topic", s.prompt("agent:main:telegram:group:-2:topic:7"))
}

func TestWhatTheGatewayKnows(t *testing.T) {
	t.Parallel()
	s := &Settings{}
	for _, row := range []struct {
		name   string
		m      func(*Message)
		before []state.RecentMessage
		want   Reason
	}{
		{"a mention", func(m *Message) { m.Mentioned = true }, nil, BotName},
		{"a name in brackets", func(m *Message) { m.Bracketed = "@claw" }, nil, BotName},
		{"a label in brackets", func(m *Message) { m.Bracketed = "Clawson" }, nil, ByModel},
		{"a reply to the agent", func(m *Message) { m.ReplyToSender = "Claw (@claw_bot)" }, nil, BotName},
		{"a reply to somebody else", func(m *Message) { m.ReplyToSender = "Anna" }, nil, ByModel},
		{"a reply to the agent's message", func(m *Message) { m.ReplyTo = "9" }, []state.RecentMessage{{ID: "8", Bot: true}, {ID: "9", Bot: true}}, BotName},
		{"a reply to somebody's message", func(m *Message) { m.ReplyTo = "9" }, []state.RecentMessage{{ID: "9"}}, ByModel},
		{"no reply", func(*Message) {}, []state.RecentMessage{{Bot: true}}, ByModel},
		{"too short comes first", func(m *Message) { m.Mentioned, m.Text = true, "?" }, nil, TooShort},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := message("is it ok")
			row.m(&m)
			tried, err := s.Try(t.Context(), m, row.before, nil)
			require.NoError(t, err)
			require.Equal(t, row.want, tried.Reason)
		})
	}
}

func TestTheModelIsToldTheNames(t *testing.T) {
	t.Parallel()
	m := message("hello")
	m.Names = []string{"Claw", "@claw_bot", " ", "two\nlines"}
	require.Contains(t, (&Settings{}).Question(m, nil, nil).System, "\n\nThe assistant is called: Claw, @claw_bot, two lines")
	require.Contains(t, (&Settings{BotName: "Nova", Prompt: "Mine."}).Question(m, nil, nil).System, "Mine.\n\nThe assistant is called: Nova")
	m.Names = nil
	require.NotContains(t, (&Settings{}).Question(m, nil, nil).System, "is called")
}
