package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// one is a batch of one question.
func one(question string) string { return `{"state":"s","questions":{"q":` + question + `}}` }

func labels(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`"l%d":null`, i)
	}
	return "{" + strings.Join(out, ",") + "}"
}

func TestForm(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, body string
		wrong      string // "" for a valid one
	}{
		{"a boolean without anything", one(`{"type":"noul"}`), ""},
		{"a boolean by its other name", one(`{"type":"boolean","criteria":{"true":"yes"}}`), ""},
		{"null instructions and criteria", one(`{"type":"noul","instructions":null,"criteria":null}`), ""},
		{"structured instructions", one(`{"type":"noul","instructions":{"a":[1]}}`), ""},
		{"a list as instructions", one(`{"type":"noul","instructions":["a"]}`), ""},
		{"a choice of one", one(`{"type":"choice","criteria":{"a":null}}`), ""},
		{"a choice of 255", one(`{"type":"choice","criteria":` + labels(255) + `}`), ""},
		{"a score of one", one(`{"type":"score","criteria":["a"]}`), ""},
		{"a score of ten, some structured", one(`{"type":"score","criteria":[{"a":1},null,"","","","","","","",[]]}`), ""},
		{"further fields", `{"model":"m","state":null,"x":1,"questions":{"q":{"type":"noul","y":2}}}`, ""},
		{"a number as state", `{"state":1,"questions":{"q":{"type":"noul"}}}`, ""},
		{"an empty key", `{"state":[],"questions":{"":{"type":"noul"}}}`, ""},

		{"a list", `[]`, "must be an object"},
		{"a number as model", `{"model":7,"state":"","questions":{"q":{"type":"noul"}}}`, "model must be a text"},
		{"no state", `{"questions":{"q":{"type":"noul"}}}`, "state is missing"},
		{"no questions", `{"state":""}`, "there must be a question"},
		{"no question", `{"state":"","questions":{}}`, "there must be a question"},
		{"a list of questions", `{"state":"","questions":[]}`, "questions must be an object"},
		{"a text as question", one(`"x"`), "must be an object"},
		{"no type", one(`{}`), "type must be"},
		{"images", one(`{"type":"box"}`), "type must be"},
		{"a number as instructions", one(`{"type":"noul","instructions":1}`), "instructions must be"},
		{"true as instructions", one(`{"type":"noul","instructions":true}`), "instructions must be"},
		{"a choice without criteria", one(`{"type":"choice"}`), "must be an object"},
		{"a choice of none", one(`{"type":"choice","criteria":{}}`), "1 to 255"},
		{"a choice of 256", one(`{"type":"choice","criteria":` + labels(256) + `}`), "1 to 255"},
		{"a choice with an empty label", one(`{"type":"choice","criteria":{"":null}}`), "none empty"},
		{"a choice with a label twice", one(`{"type":"choice","criteria":{"a":null,"a":null}}`), "different"},
		{"a choice with a number", one(`{"type":"choice","criteria":{"a":1}}`), "criteria must be"},
		{"a score as object", one(`{"type":"score","criteria":{"a":null}}`), "must be an array"},
		{"a score of none", one(`{"type":"score","criteria":[]}`), "1 to 10"},
		{"a score of eleven", one(`{"type":"score","criteria":[null,null,null,null,null,null,null,null,null,null,null]}`), "1 to 10"},
		{"a boolean with another criterion", one(`{"type":"noul","criteria":{"maybe":"x"}}`), "true and false only"},
		{"a boolean with a list", one(`{"type":"noul","criteria":[]}`), "must be an object"},
		{"a question twice", `{"state":"","questions":{"q":{"type":"noul"},"q":{"type":"noul"}}}`, "twice"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseBatch([]byte(row.body))
			if row.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrForm)
			require.ErrorContains(t, err, row.wrong)
		})
	}
	_, err := ParseBatch([]byte(`{"state":`))
	require.ErrorIs(t, err, ErrNotJSON)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	questions := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"q%d":{"type":"noul"}`, i)
		}
		return `{"state":"","questions":{` + strings.Join(list, ",") + `}}`
	}
	state := func(s string) string { return `{"state":` + s + `,"questions":{"q":{"type":"noul"}}}` }
	list := func(n int) string { return "[" + strings.Join(slices.Repeat([]string{"1"}, n), ",") + "]" }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, row := range []struct {
		name, body string
		fits       bool
	}{
		{"256 questions", questions(256), true},
		{"257 questions", questions(257), false},
		// The body, its state, the questions, the question and its type are five values.
		{"20,000 values", state(list(20000 - 5)), true},
		{"20,001 values", state(list(20001 - 5)), false},
		{"32 deep", state(deep(31)), true},
		{"33 deep", state(deep(32)), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseBatch([]byte(row.body))
			require.Equal(t, row.fits, err == nil, "%v", err)
		})
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		json         string
		nodes, depth int
	}{
		{`1`, 1, 0},
		{`"a:b,{"`, 1, 0},
		{`"\\\":{"`, 1, 0},
		{`{}`, 1, 1},
		{`{"a": [true, null, -1.5e3, "x"], "b":{"c":{}}}`, 8, 3},
		{" [ 1 ,\n2 ] ", 3, 1},
	} {
		nodes, depth := measure([]byte(row.json))
		require.Equal(t, []int{row.nodes, row.depth}, []int{nodes, depth}, row.json)
	}
}

// What a batch says is written again in the same words and order.
func TestQuestionsAreWrittenAsTheyWereRead(t *testing.T) {
	t.Parallel()
	const sent = `{"z":{"type":"noul"},"a":{"type":"noul","instructions":"<b>","criteria":{"false":"no"}},` +
		`"c":{"type":"choice","instructions":{"x":1},"criteria":{"z":null,"a":"A","m":{"what":["b"]}}},"s":{"type":"score","criteria":["low",null]}}`
	b, err := ParseBatch([]byte(`{"state":"","questions":` + sent + `}`))
	require.NoError(t, err)
	require.Equal(t, sent, string(wireQuestions(b.Questions)))
}

func FuzzParseBatch(f *testing.F) {
	f.Add([]byte(one(`{"type":"choice","criteria":{"a":"x","b":null}}`)))
	f.Add([]byte(one(`{"type":"score","instructions":{"a":"s"},"criteria":["a",["b"]]}`)))
	f.Add([]byte(one(`{"type":"noul","criteria":{"true":{}}}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := ParseBatch(body)
		if err != nil {
			return
		}
		again, err := ParseBatch([]byte(`{"state":` + string(b.State) + `,"questions":` + string(wireQuestions(b.Questions)) + `}`))
		require.NoError(t, err)
		require.Equal(t, len(b.Questions), len(again.Questions))
		for i := range b.Questions {
			q := &b.Questions[i]
			require.Equal(t, len(q.Labels), len(q.Criteria))
			require.Equal(t, Fingerprint(q, b.State), Fingerprint(&again.Questions[i], b.State))
			require.True(t, ValidRubric(Fingerprint(q, b.State)))
			require.True(t, json.Valid(canonicalWire(q, b.State)))
		}
		_ = recorded(textOf(b.State, "a.b"))
	})
}
