package decide

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/model/provider"
)

func questions(t *testing.T, list string) []Question {
	t.Helper()
	b, err := ParseBatch([]byte(`{"state":"s","questions":` + list + `}`))
	require.NoError(t, err)
	return b.Questions
}

func question(t *testing.T, one string) *Question {
	t.Helper()
	return &questions(t, `{"q":`+one+`}`)[0]
}

const (
	aChoice = `{"type":"choice","criteria":{"refund":"money back","other":null}}`
	aScore  = `{"type":"score","criteria":["can wait",{"a":1},null]}`
	aNoul   = `{"type":"noul"}`
)

func TestConfidence(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, question string
		p              []float64
		want           float64
	}{
		{"a sure choice", aChoice, []float64{1, 0}, 1},
		{"an even choice", aChoice, []float64{0.5, 0.5}, 0},
		{"a choice", aChoice, []float64{0.88, 0.12}, 0.76},
		{"a choice of one", `{"type":"choice","criteria":{"a":null}}`, []float64{1}, 1},
		{"a sure score", aScore, []float64{0, 1, 0}, 1},
		{"a score", aScore, []float64{0.2, 0.8, 0}, 0.9},
		{"a score at its ends", aScore, []float64{0.5, 0, 0.5}, 0.5},
		{"a score of one", `{"type":"score","criteria":["a"]}`, []float64{1}, 1},
	} {
		require.InDelta(t, row.want, Confidence(question(t, row.question), row.p), 1e-12, row.name)
	}
}

// An answer has exactly the fields of the wire.
func TestReply(t *testing.T) {
	t.Parallel()
	b := &Batch{Questions: questions(t, `{"intent":`+aChoice+`,"urgency":`+aScore+`,"yes":`+aNoul+`}`)}
	usage := provider.Usage{InputTokens: 318, OutputTokens: 34}
	reply := replyOf(b, []Answer{
		{Probabilities: []float64{0.25, 0.75}, Source: Local, Model: "intenthint/student"},
		{Probabilities: []float64{0.25, 0.75, 0}, Source: Model, Model: "one/m", Usage: usage},
		{Probabilities: []float64{0.5, 0.5}, Source: Model, Model: "one/m"},
	})
	body, err := json.Marshal(reply)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"one/m","answers":{
		"intent":{"type":"choice","choice":"other","confidence":0.5,"probabilities":{"refund":0.25,"other":0.75}},
		"urgency":{"type":"score","score":0.75,"confidence":0.875,"probabilities":{"0":0.25,"1":0.75,"2":0},"legend":{"0":"can wait","1":{"a":1},"2":null}},
		"yes":{"type":"noul","noul":0.5}},
		"usage":{"input_tokens":318,"output_tokens":34}}`, string(body))
}

func TestAnswersOfAnotherServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, question, answer string
		want                   []float64
		wrong                  string
	}{
		{"a choice", aChoice, `{"type":"choice","choice":"refund","confidence":0.8,"probabilities":{"other":0.1,"refund":0.9}}`, []float64{0.9, 0.1}, ""},
		{"rounded to another sum", aChoice, `{"type":"choice","choice":"refund","probabilities":{"other":0.1,"refund":0.3}}`, []float64{0.75, 0.25}, ""},
		{"rounded to a tie that the label breaks", aChoice, `{"type":"choice","choice":"other","probabilities":{"other":0.25,"refund":0.75}}`, []float64{0.25, 0.75}, ""},
		{"a score", aScore, `{"type":"score","score":1,"confidence":1,"probabilities":{"0":0,"1":1,"2":0},"legend":{}}`, []float64{0, 1, 0}, ""},
		{"a score in the host's form", aScore, `{"type":"score","score":1,"probabilities":[0,1,0]}`, []float64{0, 1, 0}, ""},
		{"a boolean", aNoul, `{"type":"noul","noul":0.25}`, []float64{0.25, 0.75}, ""},
		{"a boolean in the host's form", aNoul, `{"type":"boolean","probabilityTrue":0.25}`, []float64{0.25, 0.75}, ""},

		{"none", aNoul, `null`, nil, "type"},
		{"another type", aNoul, aChoice, nil, "type"},
		{"a boolean beyond 1", aNoul, `{"type":"noul","noul":1.5}`, nil, "from 0 to 1"},
		{"a boolean as text", aNoul, `{"type":"noul","noul":"0.5"}`, nil, "from 0 to 1"},
		{"a label is missing", aChoice, `{"type":"choice","choice":"refund","probabilities":{"refund":1}}`, nil, "a label without"},
		{"below 0", aChoice, `{"type":"choice","choice":"refund","probabilities":{"refund":1,"other":-0.1}}`, nil, "a label without"},
		{"all 0", aChoice, `{"type":"choice","choice":"refund","probabilities":{"refund":0,"other":0}}`, nil, "all probabilities are 0"},
		{"an unknown choice", aChoice, `{"type":"choice","choice":"x","probabilities":{"refund":1,"other":0}}`, nil, "not one of the labels"},
		{"a level is missing", aScore, `{"type":"score","probabilities":[0,1]}`, nil, "a label without"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseAnswers(questions(t, `{"q":`+row.question+`}`), json.RawMessage(`{"q":`+row.answer+`,"more":1}`))
			if row.wrong != "" {
				require.ErrorIs(t, err, model.ErrUnparsable)
				require.ErrorContains(t, err, row.wrong)
				return
			}
			require.NoError(t, err)
			require.InDeltaSlice(t, row.want, got[0], 1e-12)
		})
	}
}

func FuzzParseAnswers(f *testing.F) {
	f.Add(`{"a":{"type":"choice","choice":"x","probabilities":{"x":1,"y":0}},"b":{"type":"score","probabilities":[1]},"c":{"type":"noul","noul":1}}`)
	b, err := ParseBatch([]byte(`{"state":1,"questions":{"a":{"type":"choice","criteria":{"x":null,"y":null}},"b":{"type":"score","criteria":["l"]},"c":{"type":"noul"}}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, answers string) {
		if !json.Valid([]byte(answers)) {
			return
		}
		got, err := parseAnswers(b.Questions, json.RawMessage(answers))
		if err != nil {
			return
		}
		requireShares(t, b.Questions, got)
	})
}

// requireShares checks that answers are probabilities.
func requireShares(t *testing.T, questions []Question, got [][]float64) {
	t.Helper()
	require.Len(t, got, len(questions))
	for i, p := range got {
		require.Len(t, p, len(questions[i].Labels))
		sum := 0.0
		for _, share := range p {
			require.False(t, math.IsNaN(share) || share < 0 || share > 1, "%v", p)
			sum += share
		}
		require.InDelta(t, 1, sum, 1e-9)
	}
}
