package evaluate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		row, data string
		want      []Line
		err       string
	}{
		{
			row:  "lines with a blank one, a BOM, CRLF and a field more",
			data: "\ufeff{\"text\":\"a\",\"intent\":\"A\"}\r\n\n{\"text\":\"b c\",\"intent\":\" OTHER \",\"split\":\"test\"}",
			want: []Line{{Text: "a", Intent: "A", Number: 1}, {Text: "b c", Intent: "OTHER", Number: 3}},
		},
		{row: "nothing", data: "", err: "f.jsonl: no lines to evaluate"},
		{row: "blank lines alone", data: "\n \n", err: "f.jsonl: no lines to evaluate"},
		{row: "broken JSON", data: "{\"text\":\"a\",\"intent\":\"A\"}\n{\"text\":", err: "f.jsonl:2: not an object"},
		{row: "two objects on a line", data: `{"text":"a","intent":"A"}{"text":"a","intent":"A"}`, err: "f.jsonl:1: not an object"},
		{row: "an array", data: `["a","A"]`, err: "f.jsonl:1: not an object"},
		{row: "a number for a text", data: `{"text":1,"intent":"A"}`, err: "f.jsonl:1: not an object"},
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

func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"text\":\"a\",\"intent\":\"A\"}\n{\"text\":\"b\",\"intent\":\"OTHER\"}\n"))
	f.Add([]byte("\ufeff\n\n{"))
	f.Add([]byte("{\"text\":\"\xff\",\"intent\":\"A\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := Parse("f", data)
		require.Equal(t, err == nil, len(lines) > 0)
		last := 0
		for _, l := range lines {
			require.Greater(t, l.Number, last)
			require.NotEmpty(t, l.Text)
			require.NotEmpty(t, l.Intent)
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
	require.Equal(t, []Unknown{{Intent: "GONE", N: 2, First: 5}, {Intent: "AWAY", N: 1, First: 6}}, unknown)
	require.Equal(t, "WEATHER", lines[0].Intent, "the caller's lines are as they were")
}
