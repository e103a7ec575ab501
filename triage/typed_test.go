package triage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/triage/state"
)

// wire answers typed questions with one answer, or fails.
type wire struct {
	answer string
	err    error
	asked  provider.Decisions
}

func (w *wire) Decide(_ context.Context, q provider.Decisions) (json.RawMessage, provider.Usage, error) {
	w.asked = q
	return json.RawMessage(w.answer), provider.Usage{InputTokens: 100, OutputTokens: 2}, w.err
}

func yes(p string) string { return `{"answer":{"type":"noul","noul":` + p + `}}` }

// typed returns settings whose model answers typed questions.
func typed(w *wire) *Settings {
	s := settings(says(""))
	s.Asked = part.Asked{Decider: model.NewDecider("wire/one", w, model.Options{})}
	return s
}

func TestTypedDecisions(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	scores := func(s *Settings) { s.Scores = true }
	for i, row := range []struct {
		name  string
		w     wire
		with  func(*Settings)
		want  string
		score string
	}{
		{"likely", wire{answer: yes("0.97")}, nil, "respond model", ""},
		{"in doubt", wire{answer: yes("0.5")}, nil, "respond model", ""},
		{"unlikely", wire{answer: yes("0.49")}, nil, "skip model", ""},
		{"a score at the threshold", wire{answer: yes("0.44")}, scores, "respond model", "5"},
		{"a score below it", wire{answer: yes("0.38")}, scores, "skip model", "4"},
		{"the highest score", wire{answer: yes("1")}, scores, "respond model", "10"},
		{"the lowest score", wire{answer: yes("0")}, scores, "skip model", "1"},
		{"an answer of another form", wire{answer: `{"answer":{"type":"noul"}}`}, nil, "respond error", ""},
		{"it does not know", wire{err: &provider.StatusError{Code: http.StatusUnprocessableEntity}}, nil, "respond error", ""},
		{"it fails", wire{err: &provider.StatusError{Code: http.StatusBadGateway}}, nil, "respond error", ""},
	} {
		set := typed(&row.w)
		if row.with != nil {
			row.with(set)
		}
		reply, header := decide(t, process(t, ns, set), requestOf(event(fmt.Sprint("typed-", i), "lunch at noon")))
		require.Equal(t, row.want, reply, row.name)
		require.Equal(t, row.score == "", header[HeaderScore] == nil, row.name)
		if row.score != "" {
			require.Equal(t, row.score, header[HeaderScore][0], row.name)
		}
		if row.want != "respond error" {
			require.Equal(t, "wire/one", header[HeaderModel][0], row.name)
		}
	}
}

func TestTypedQuestion(t *testing.T) {
	t.Parallel()
	w := &wire{answer: yes("0.2")}
	set := typed(w)
	set.History = 1
	m := message("lunch\nat noon?")
	before := []state.RecentMessage{{Sender: "ann", Text: "older"}, {Sender: "bob: x", Text: "hungry"}}
	marks := []state.Mark{{Text: "who can help?", Verdict: state.Respond}, {Text: "nice", Verdict: state.Skip}}
	trial, err := set.Try(t.Context(), m, before, marks)
	require.NoError(t, err)
	require.Equal(t, Trial{Verdict: Verdict{Skip: true, Reason: ByModel}, Answer: "0.20", Model: "wire/one", Tokens: state.Tokens{In: 100, Out: 2}}, trial)
	require.JSONEq(t, `{"message":"lunch at noon?","from":"555","recentConversation":[{"from":"bob x","text":"hungry"}]}`, string(w.asked.State))
	require.JSONEq(t, fmt.Sprintf(`{"answer":{"type":"noul","instructions":%q,"criteria":{
		"true":{"what":%q,"examples":["who can help?"]},"false":{"what":%q,"examples":["nice"]}}}}`,
		typedPrompt+"\n\nThe assistant is called: Claw", typedYes, typedNo), string(w.asked.Questions))

	// A prompt of one's own is the question.
	set.GroupPrompts = map[string]string{groupKey: "Answer what is about food."}
	_, err = set.Try(t.Context(), m, nil, nil)
	require.NoError(t, err)
	require.Contains(t, string(w.asked.Questions), `"instructions":"Answer what is about food.\n\nThe assistant is called: Claw"`)
	require.NotContains(t, string(w.asked.Questions), typedYes)
	require.JSONEq(t, `{"message":"lunch at noon?","from":"555"}`, string(w.asked.State))
}
