package evaluate

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/payload"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		row, data string
		want      []Line
		err       string
	}{
		{
			row:  "blank line, BOM, CRLF and unknown field",
			data: "\ufeff{\"text\":\"a\",\"intent\":\"A\"}\r\n\n{\"text\":\"b c\",\"intent\":\" OTHER \",\"split\":\"test\"}",
			want: []Line{{Text: "a", Intent: "A", Number: 1}, {Text: "b c", Intent: "OTHER", Number: 3}},
		},
		{
			row:  "several labels",
			data: `{"text":"a","intent":"A","intents":["B","A","B"]}` + "\n" + `{"text":"b","intents":["B"," C "]}` + "\n" + `{"text":"c","intents":["D"]}` + "\n" + `{"text":"d","intent":"E","intents":[]}`,
			want: []Line{
				{Text: "a", Intent: "A", Intents: []string{"A", "B"}, Number: 1},
				{Text: "b", Intent: "B", Intents: []string{"B", "C"}, Number: 2},
				{Text: "c", Intent: "D", Number: 3},
				{Text: "d", Intent: "E", Number: 4},
			},
		},
		{
			row:  "history",
			data: `{"text":"a","intent":"A","history":[{"role":"user","text":"u"},{"role":"assistant","text":"","at":1}]}` + "\n" + `{"text":"b","intent":"A","history":null}`,
			want: []Line{
				{Text: "a", Intent: "A", History: []payload.Turn{{Role: "user", Text: "u"}, {Role: "assistant"}}, Number: 1},
				{Text: "b", Intent: "A", Number: 2},
			},
		},
		{
			row:  "earlier messages",
			data: `{"text":"a","intent":"A","earlier":[{"role":"user","text":"u"}]}`,
			want: []Line{{Text: "a", Intent: "A", Earlier: []payload.Turn{{Role: "user", Text: "u"}}, Number: 1}},
		},
		{row: "an earlier message without a text", data: `{"text":"a","intent":"A","earlier":[{"role":"user"}]}`, err: `f.jsonl:1: "earlier": item 1 has no "role" or no "text"`},
		{row: "earlier as a number", data: `{"text":"a","intent":"A","earlier":4}`, err: `f.jsonl:1: "earlier" must be a list of {"role": "…", "text": "…"}, not number`},
		{row: "a line of the same text again", data: "{\"text\":\"a\",\"intent\":\"A\"}\n{\"text\":\"a\",\"intent\":\"B\"}", want: []Line{{Text: "a", Intent: "A", Number: 1}, {Text: "a", Intent: "B", Number: 2}}},
		{row: "only a BOM", data: "\ufeff", err: "f.jsonl: no lines to evaluate"},
		{row: "intents as a string", data: `{"text":"a","intents":"A"}`, err: `f.jsonl:1: "intents" must be a list of ids, not string`},
		{row: "a number among intents", data: `{"text":"a","intents":["A",1]}`, err: `f.jsonl:1: "intents" must be a list of ids, not number`},
		{row: "a blank id among intents", data: `{"text":"a","intents":["A",""]}`, err: `f.jsonl:1: "intents" contains a blank id`},
		{row: "empty intents", data: `{"text":"a","intents":[]}`, err: `f.jsonl:1: "intent" is missing or blank`},
		{row: "history as a string", data: `{"text":"a","intent":"A","history":"u"}`, err: `f.jsonl:1: "history" must be a list of {"role": "…", "text": "…"}, not string`},
		{row: "history of strings", data: `{"text":"a","intent":"A","history":["u"]}`, err: `f.jsonl:1: "history" must be a list`},
		{
			row:  "messages as a gateway sends them",
			data: `{"text":"a","intent":"A","history":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"v"},{"type":"text","text":"w"}]},{"role":"toolResult","content":[]}]}`,
			want: []Line{{Text: "a", Intent: "A", History: []payload.Turn{{Role: "user", Text: "u"}, {Role: "assistant", Text: "v\nw"}, {Role: "toolResult"}}, Number: 1}},
		},
		{row: "a turn with a number as content", data: `{"text":"a","intent":"A","history":[{"role":"user","text":"u"},{"role":"user","content":1}]}`, err: `f.jsonl:1: "history": item 2 has no "role" or no "text"`},
		{row: "a turn with a number as text", data: `{"text":"a","intent":"A","history":[{"role":"user","text":1}]}`, err: `f.jsonl:1: "history" must be a list`},
		{row: "several bad lines", data: "{\n{\"text\":\"a\",\"intent\":\"A\"}\n[]", err: "\nf.jsonl:3: not an object"},
		{row: "many bad lines", data: strings.Repeat("x\n", 25), err: "\nf.jsonl: 5 more bad lines"},
		{row: "empty", data: "", err: "f.jsonl: no lines to evaluate"},
		{row: "only blank lines", data: "\n \n", err: "f.jsonl: no lines to evaluate"},
		{row: "broken JSON", data: "{\"text\":\"a\",\"intent\":\"A\"}\n{\"text\":", err: "f.jsonl:2: not an object"},
		{row: "two objects on a line", data: `{"text":"a","intent":"A"}{"text":"a","intent":"A"}`, err: "f.jsonl:1: not an object"},
		{row: "an array", data: `["a","A"]`, err: `f.jsonl:1: not an object {"text": "…", "intent": "…"} but of type array`},
		{row: "a number for a text", data: `{"text":1,"intent":"A"}`, err: `f.jsonl:1: not an object {"text": "…", "intent": "…"}: "text" is of type number`},
		{row: "no text", data: `{"intent":"A"}`, err: `f.jsonl:1: "text" is missing or blank`},
		{row: "blank text", data: "\n\n{\"text\":\" \",\"intent\":\"A\"}", err: `f.jsonl:3: "text" is missing or blank`},
		{row: "no intent", data: `{"text":"a"}`, err: `f.jsonl:1: "intent" is missing or blank`},
		{row: "null", data: `null`, err: `f.jsonl:1: "text" is missing or blank`},
		{row: "not UTF-8", data: "{\"text\":\"\xff\",\"intent\":\"A\"}", err: "f.jsonl:1: not UTF-8"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			got, err := Parse("f.jsonl", []byte(tc.data))
			require.Equal(t, tc.want, got)
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
		})
	}
	_, err := Parse("f", nil)
	require.ErrorIs(t, err, ErrNoLines)
}

func TestParseErrorsAreLineErrors(t *testing.T) {
	_, err := Parse("f.jsonl", []byte("\nx\n"))
	var line *LineError
	require.ErrorAs(t, err, &line)
	require.Equal(t, 2, line.Line)
	require.Equal(t, "f.jsonl", line.File)
	_, err = Parse("f.jsonl", nil)
	require.False(t, errors.As(err, &line))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"text\":\"a\",\"intent\":\"A\"}\n{\"text\":\"b\",\"intent\":\"OTHER\"}\n"))
	f.Add([]byte("\ufeff\n\n{"))
	f.Add([]byte(`{"text":"a","intents":["A","B"],"history":[{"role":"user","text":"x"}]}`))
	f.Add([]byte("{\"text\":\"\xff\",\"intent\":\"A\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := Parse("f", data)
		require.Equal(t, err == nil, len(lines) > 0)
		last := 0
		for _, l := range lines {
			require.Greater(t, l.Number, last)
			require.NotEmpty(t, l.Text)
			require.NotEmpty(t, l.Intent)
			require.False(t, len(l.Intents) == 1, "one label is in Intent alone")
			for _, id := range l.Intents {
				require.NotEmpty(t, id)
			}
			last = l.Number
		}
	})
}

func TestResolve(t *testing.T) {
	catalog := intents.NewCatalog([]intents.Intent{{ID: "Weather", Triggers: []string{"weather"}}})
	lines := []Line{
		{Text: "a", Intent: "WEATHER", Number: 1},
		{Text: "b", Intent: "other", Number: 2},
		{Text: "c", Intent: "GONE", Number: 5},
		{Text: "d", Intent: "AWAY", Number: 6},
		{Text: "e", Intent: "GONE", Number: 7},
	}
	got, unknown := Resolve(lines, catalog)
	require.Equal(t, []Line{
		{Text: "a", Intent: "Weather", Number: 1},
		{Text: "b", Intent: "OTHER", Number: 2},
		{Text: "c", Intent: "GONE", Number: 5},
		{Text: "d", Intent: "AWAY", Number: 6},
		{Text: "e", Intent: "GONE", Number: 7},
	}, got)
	require.Equal(t, []Unknown{{Name: "GONE", N: 2, First: 5}, {Name: "AWAY", N: 1, First: 6}}, unknown)
	require.Equal(t, "WEATHER", lines[0].Intent, "the caller's lines are unchanged")

	lines = []Line{
		{Intent: "weather", Intents: []string{"weather", "GONE", "Other"}, Number: 1},
		{Intent: "WEATHER", Intents: []string{"WEATHER", "weather"}, Number: 2},
	}
	got, unknown = Resolve(lines, catalog)
	require.Equal(t, []Line{
		{Intent: "Weather", Intents: []string{"Weather", "GONE", "OTHER"}, Number: 1},
		{Intent: "Weather", Number: 2},
	}, got)
	require.Equal(t, []Unknown{{Name: "GONE", N: 1, First: 1}}, unknown)
	require.Equal(t, "weather", lines[1].Intents[1], "the caller's lists are unchanged")
}

func TestForeignRoles(t *testing.T) {
	turns := func(roles ...string) (out []payload.Turn) {
		for _, r := range roles {
			out = append(out, payload.Turn{Role: r, Text: "x"})
		}
		return out
	}
	require.Empty(t, ForeignRoles([]Line{{Number: 1}, {History: turns("user", "assistant"), Number: 2}}))
	require.Equal(t, []Unknown{{Name: "system", N: 3, First: 2}, {Name: "", N: 1, First: 4}}, ForeignRoles([]Line{
		{Number: 1}, {History: turns("system", "user", "system"), Number: 2}, {History: turns("user", "", "system"), Number: 4},
	}))
}
