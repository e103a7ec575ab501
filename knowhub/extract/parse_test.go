package extract_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/extract"
)

const one = `{"task":"Fix the build","resource":"go","result":"Clean the module cache","confidence":0.9}`

func TestParse(t *testing.T) {
	t.Parallel()
	first := extract.Candidate{Task: "Fix the build", Resource: "go", Result: "Clean the module cache", Confidence: 0.9}
	second := extract.Candidate{Task: "Deploy", Resource: "make", Result: "Use make release", Confidence: 0.8}
	const two = `{"task":"Deploy","resource":"make","result":"Use make release","confidence":0.8}`
	both := []extract.Candidate{first, second}
	cases := map[string]struct {
		in   string
		want []extract.Candidate
		bad  bool
	}{
		"object with a list":        {in: `{"experiences": [` + one + `,` + two + `]}`, want: both},
		"list":                      {in: `[` + one + `,` + two + `]`, want: both},
		"single object":             {in: one, want: both[:1]},
		"an object under the name":  {in: `{"experiences": ` + one + `}`, want: both[:1]},
		"a line each":               {in: one + "\n" + two, want: both},
		"code fence":                {in: "```json\n[" + one + "]\n```", want: both[:1]},
		"fence without an end":      {in: "```\n[" + one + "]", want: both[:1]},
		"prose around":              {in: "I found {one} thing [1]:\n[" + one + "]\nThat is all :{", want: both[:1]},
		"thoughts":                  {in: "<think>maybe " + two + " or {</think>" + one, want: both[:1]},
		"thoughts without a start":  {in: two + "</thinking>\n" + one, want: both[:1]},
		"a tag in a text":           {in: `{"task":"Strip </think>","resource":"go","result":"Cut it","confidence":1}`, want: []extract.Candidate{{Task: "Strip </think>", Resource: "go", Result: "Cut it", Confidence: 1}}},
		"none":                      {in: `{"experiences": []}`},
		"none, as null":             {in: `{"experiences": null}`},
		"none, as null alone":       {in: "null"},
		"none, in words":            {in: "There are no experiences in this conversation."},
		"none, in words, thought":   {in: "<think>hm</think>\n\nNo reusable experiences found."},
		"words about experiences":   {in: "I have no idea what an experience is", bad: true},
		"a lost list":               {in: "There are no experiences but {\"task\": broken", bad: true},
		"none, as a list":           {in: "[]"},
		"none, as an object":        {in: "{}"},
		"cut off":                   {in: `{"experiences": [` + one + `,` + two[:40], want: both[:1]},
		"further fields":            {in: `{"count":1,"experiences":[{"id":7,"tags":["x"],` + one[1:] + `]}`, want: both[:1]},
		"several resources":         {in: strings.Replace(one, `"go"`, `["go", "", 3, "make "]`, 1), want: []extract.Candidate{{Task: first.Task, Resource: "go, make", Result: first.Result, Confidence: 0.9}}},
		"a number as a resource":    {in: strings.Replace(one, `"go"`, `8080`, 1), want: []extract.Candidate{{Task: first.Task, Resource: "8080", Result: first.Result, Confidence: 0.9}}},
		"no resource":               {in: strings.Replace(one, `"go"`, `null`, 1), want: []extract.Candidate{{Task: first.Task, Result: first.Result, Confidence: 0.9}}},
		"no result":                 {in: `[{"task":"x"},` + one + `]`, want: both[:1]},
		"elements that are none":    {in: `[1, "x", null, [], ` + one + `]`, want: both[:1]},
		"escapes":                   {in: `[{"task":"a\"}b","resource":"{","result":"\u00e9 ]"}]`, want: []extract.Candidate{{Task: `a"}b`, Resource: "{", Result: "é ]"}}},
		"white space around":        {in: `[{"task":" a ","resource":"b\n","result":"\tc"}]`, want: []extract.Candidate{{Task: "a", Resource: "b", Result: "c"}}},
		"empty":                     {bad: true},
		"prose":                     {in: "There is nothing of use.", bad: true},
		"another object":            {in: `{"intent":"X"}`, bad: true},
		"numbers":                   {in: "[1, 2]", bad: true},
		"cut off in the first":      {in: `[` + one[:30], bad: true},
		"too long":                  {in: strings.Repeat(" ", 300<<10) + one, bad: true},
		"too many brackets":         {in: strings.Repeat("{", 100) + one, bad: true},
		"not UTF-8":                 {in: "[{\"task\":\"a\xff\",\"resource\":\"b\",\"result\":\"c\"}]", want: []extract.Candidate{{Task: "a\uFFFD", Resource: "b", Result: "c"}}},
		"deeply nested, no answer":  {in: strings.Repeat(`{"a":[`, 20_000), bad: true},
		"a list within experiences": {in: `{"experiences": [[` + one + `]]}`, bad: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := extract.Parse(c.in)
			if c.bad {
				require.ErrorIs(t, err, extract.ErrUnparsable)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestParseConfidence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		"0": 0, "1": 1, "0.75": 0.75, `"0.75"`: 0.75, "75": 0.75, `"75%"`: 0.75, `"1%"`: 0.01, "101": 0, "-0.5": 0, "-0": 0,
		`"high"`: 0, "null": 0, "true": 0, "[1]": 0, `""`: 0, "1e400": 0, `"NaN"`: 0, `"Inf"`: 0,
	} {
		got, err := extract.Parse(strings.Replace(one, "0.9", in, 1))
		require.NoError(t, err, in)
		require.InDelta(t, want, got[0].Confidence, 1e-9, in)
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	got, err := extract.Parse("[" + strings.Repeat(one+",", 200) + one + "]")
	require.NoError(t, err)
	require.Len(t, got, 50)
	got, err = extract.Parse(`{"task":"` + strings.Repeat("ä", 5_000) + `","resource":"b","result":"` + strings.Repeat("c", 20_000) + `"}`)
	require.NoError(t, err)
	require.Equal(t, experience.MaxTask, utf8.RuneCountInString(got[0].Task))
	require.Equal(t, experience.MaxResult, utf8.RuneCountInString(got[0].Result))
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		one, "[" + one + "]", `{"experiences":[` + one + `]}`, "```json\n" + one, "<think>{</think>" + one, `{"experiences":[` + one[:50],
		`[{"task":["a"],"result":1,"confidence":"9%"}]`, "{{[[", `{"experiences":{"experiences":[]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := extract.Parse(s)
		if err != nil {
			require.ErrorIs(t, err, extract.ErrUnparsable)
			require.Nil(t, got)
			return
		}
		require.LessOrEqual(t, len(got), 50)
		for _, c := range got {
			require.NotEmpty(t, c.Task)
			require.NotEmpty(t, c.Result)
			require.GreaterOrEqual(t, c.Confidence, 0.0)
			require.LessOrEqual(t, c.Confidence, 1.0)
			require.LessOrEqual(t, utf8.RuneCountInString(c.Result), experience.MaxResult)
			require.True(t, utf8.ValidString(c.Task+c.Resource+c.Result))
			extract.Keep(c, 0.5)
		}
	})
}
