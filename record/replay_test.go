package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/store"
)

// answered is a turn with an answer.
func answered(run, text, intent string, confidence float64, source string) *store.Turn {
	return &store.Turn{RunID: run, Input: text, Intent: store.Intent{
		Result: &payload.Classification{Intent: intent, Confidence: confidence, Source: source},
	}}
}

func said(turn *store.Turn, verdict, intent string) *store.Turn {
	turn.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: verdict, Intent: intent}}
	return turn
}

func listed(turns ...*store.Turn) []Turn {
	out := make([]Turn, len(turns))
	for i, t := range turns {
		out[i] = NewTurn(store.Summary{SessionID: "s", SessionKey: "agent:ada:main"}, t, 0.5)
	}
	return out
}

func TestThen(t *testing.T) {
	for _, row := range []struct {
		name string
		turn *store.Turn
		min  float64
		want Answer
		none bool
	}{
		{name: "said", turn: answered("r", "x", "MONEY", 0.6, "local"), min: 0.5, want: Answer{Intent: "MONEY", Chosen: "MONEY", Confidence: 0.6, Source: "local"}},
		{name: "at the threshold", turn: answered("r", "x", "MONEY", 0.5, "local"), min: 0.5, want: Answer{Intent: "MONEY", Chosen: "MONEY", Confidence: 0.5, Source: "local"}},
		{name: "too unsure", turn: answered("r", "x", "MONEY", 0.4, "local"), min: 0.5, want: Answer{Intent: "OTHER", Chosen: "MONEY", Confidence: 0.4, Source: "local"}},
		{name: "too unsure for another threshold", turn: answered("r", "x", "MONEY", 0.6, "local"), min: 0.7, want: Answer{Intent: "OTHER", Chosen: "MONEY", Confidence: 0.6, Source: "local"}},
		{name: "sure enough for another threshold", turn: answered("r", "x", "MONEY", 0.4, "local"), min: 0.3, want: Answer{Intent: "MONEY", Chosen: "MONEY", Confidence: 0.4, Source: "local"}},
		{name: "the fallback", turn: answered("r", "x", "OTHER", 0.9, "local"), min: 0.5, want: Answer{Intent: "OTHER", Chosen: "OTHER", Confidence: 0.9, Source: "local"}},
		{name: "marked as right", turn: said(answered("r", "x", "MONEY", 0.6, "local"), "right", ""), min: 0.5, want: Answer{Intent: "MONEY", Chosen: "MONEY", Confidence: 0.6, Source: "local"}},
		{name: "marked as wrong", turn: said(answered("r", "x", "MONEY", 0.6, "local"), "wrong", "WEATHER"), min: 0.5, want: Answer{Intent: "MONEY", Chosen: "MONEY", Confidence: 0.6, Source: "local"}},
		{name: "unsure and marked as wrong", turn: said(answered("r", "x", "MONEY", 0.4, "local"), "wrong", ""), min: 0.5, want: Answer{Intent: "OTHER", Chosen: "MONEY", Confidence: 0.4, Source: "local"}},
		{name: "unsure and right after all", turn: said(answered("r", "x", "MONEY", 0.4, "local"), "wrong", "MONEY"), min: 0.5, want: Answer{Intent: "OTHER", Chosen: "MONEY", Confidence: 0.4, Source: "local"}},
		{name: "no answer", turn: &store.Turn{Input: "x"}, min: 0.5, none: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := listed(row.turn)[0].Then(row.min)
			require.Equal(t, !row.none, ok)
			require.Equal(t, row.want, got)
		})
	}
}

func TestCompare(t *testing.T) {
	for _, row := range []struct {
		name      string
		then, now Answer
		want      bool
	}{
		{"the same", Answer{Intent: "A", Chosen: "A", Confidence: 0.9, Source: "local"}, Answer{Intent: "A", Chosen: "A", Confidence: 0.6, Source: "local"}, false},
		{"the same in other letters", Answer{Intent: "A", Chosen: "A", Confidence: 0.9, Source: "local"}, Answer{Intent: "a", Chosen: "a", Confidence: 0.6, Source: "local"}, false},
		{"nothing, by two ways", Answer{Intent: "OTHER", Chosen: "A", Confidence: 0.4, Source: "local"}, Answer{Intent: "OTHER", Chosen: "OTHER", Confidence: 0.9, Source: "local"}, false},
		{"another one", Answer{Intent: "A", Chosen: "A", Confidence: 0.9, Source: "local"}, Answer{Intent: "B", Chosen: "B", Confidence: 0.9, Source: "local"}, true},
		{"too unsure now", Answer{Intent: "A", Chosen: "A", Confidence: 0.9, Source: "local"}, Answer{Intent: "OTHER", Chosen: "A", Confidence: 0.4, Source: "local"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, ok := compare(&listed(answered("r", "x", "A", 0.9, "local"))[0], row.then, row.now)
			require.Equal(t, row.want, ok)
			if ok {
				require.Equal(t, []any{row.then.Intent, row.now.Intent}, []any{d.From, d.To})
			}
		})
	}
}

func TestPairs(t *testing.T) {
	require.Equal(t, []Pair{{"C", "D", 2}, {"A", "B", 1}, {"A", "OTHER", 1}}, pairs([]Difference{
		{From: "A", To: "OTHER"}, {From: "C", To: "D"}, {From: "A", To: "B"}, {From: "C", To: "D"},
	}))
	require.NotNil(t, pairs(nil), "[] as JSON")
}

func TestAltered(t *testing.T) {
	for _, row := range []struct {
		name, text string
		before     string
		want       bool
	}{
		{"as it was", "write to ada [today]", "hello", false},
		{"redacted", "write to [EMAIL]", "hello", true},
		{"a redacted path", "ls /home/[REDACTED]/x", "hello", true},
		{"a redacted conversation", "and now?", "my key is [API_KEY]", true},
		{"cut for the event", "a long text (truncated...)", "hello", true},
		{"a conversation that the classifier read cut", "and now?", "a long text (truncated...)", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			turn := Turn{Text: row.text, History: []payload.Turn{{Role: "user", Text: row.before}}}
			require.Equal(t, row.want, turn.Altered())
		})
	}
}

// by answers a message with what stands under its text.
type by map[string]payload.Classification

var errBroken = errors.New("broken")

func (b by) Classify(_ context.Context, in classify.Input) (payload.Classification, error) {
	c, ok := b[in.Latest]
	if !ok {
		return c, fmt.Errorf("%q: %w", in.Latest, errBroken)
	}
	return c, nil
}

var catalog = intents.NewCatalog([]intents.Intent{
	{ID: "MONEY", Name: "Money", Fastpath: intents.Fastpath{Keywords: []string{"balance"}}},
	{ID: "WEATHER", Name: "Weather"},
})

func options() ReplayOptions {
	return ReplayOptions{
		Catalog:           func(string) *intents.Catalog { return catalog },
		ThenMinConfidence: 0.5, MinConfidence: 0.5,
	}
}

func TestRecall(t *testing.T) {
	said := func(session, text string, earlier int, asked bool) Turn {
		turn := &store.Turn{Input: text, Intent: store.Intent{Earlier: earlier}}
		if asked {
			turn.Intent.Skip = "classify_failed"
		}
		return NewTurn(store.Summary{SessionID: session}, turn, 0.5)
	}
	turns := []Turn{
		said("a", "one", 0, true), said("b", "other", 0, true), said("a", "two", 1, true), said("a", "nobody was asked", 0, false),
		said("a", " ", 0, true), said("a", strings.Repeat("x", 501), 2, true), said("a", "after a reset", 0, true),
		said("a", "four", 1, true), said("b", "more than there are", 3, true), said("a", "five", 3, true),
	}
	Recall(turns)
	var got [][]string
	for _, turn := range turns {
		var texts []string
		for _, before := range turn.Earlier {
			require.Equal(t, payload.RoleUser, before.Role)
			texts = append(texts, before.Text)
		}
		got = append(got, texts)
	}
	cut := strings.Repeat("x", 241) + "… (truncated...) …" + strings.Repeat("x", 241)
	require.Equal(t, [][]string{
		nil, nil, {"one"}, nil, nil, {"one", "two"}, nil, {"after a reset"}, {"other"}, {cut, "after a reset", "four"},
	}, got)
	o := options()
	require.Equal(t, turns[2].Earlier, o.input(&turns[2]).Earlier)
	turns[2].Earlier[0].Text = "my key is [API_KEY]"
	require.True(t, turns[2].Altered())
}

func TestReplay(t *testing.T) {
	turns := listed(
		answered("same", "pay", "MONEY", 0.9, "local"),
		answered("other", "rain", "MONEY", 0.9, "embedding"),
		answered("gained", "sun", "WEATHER", 0.4, "local"),
		said(answered("lost", "xq", "MONEY", 0.7, "local"), "right", ""),
		said(answered("better", "snow", "MONEY", 0.7, "local"), "wrong", "WEATHER"),
		answered("keyword", " Balance", "MONEY", 1, "fastpath"),
		answered("keyword now", "balance", "WEATHER", 0.9, "local"),
		answered("model", "rain", "MONEY", 0.9, "llm"),
		&store.Turn{RunID: "unanswered", Input: "rain"},
		answered("altered", "mail [EMAIL]", "WEATHER", 0.9, "local"),
		answered("altered and the same", "pay [EMAIL]", "MONEY", 0.9, "local"),
		answered("blank", " ", "WEATHER", 0.9, "local"),
		answered("failed", "boo", "WEATHER", 0.9, "local"),
	)
	classifier := by{
		"pay": {Intent: "MONEY", Confidence: 0.8}, "rain": {Intent: "WEATHER", Confidence: 0.8}, "sun": {Intent: "WEATHER", Confidence: 0.8},
		"xq": {Intent: "MONEY", Confidence: 0.2}, "snow": {Intent: "WEATHER", Confidence: 0.8}, "mail [EMAIL]": {Intent: "MONEY", Confidence: 0.8},
		"pay [EMAIL]": {Intent: "MONEY", Confidence: 0.8},
	}
	for _, row := range []struct {
		name string
		edit func(*ReplayOptions)
		runs []string
		want Summary
	}{
		{
			"what is left out", func(*ReplayOptions) {},
			[]string{"other", "gained", "lost", "better", "keyword now"},
			Summary{
				Turns: 13, Compared: 8, LeftOut: LeftOut{Model: 1, Unanswered: 1, Altered: 1, Blank: 1, Failed: 1},
				Changed: 5, Gained: 1, Lost: 1, Better: 1, Worse: 1,
				Pairs: []Pair{{"MONEY", "WEATHER", 2}, {"MONEY", "OTHER", 1}, {"OTHER", "WEATHER", 1}, {"WEATHER", "MONEY", 1}},
			},
		},
		{
			"all that can be compared", func(o *ReplayOptions) { o.Models, o.Unanswered, o.Altered = true, true, true },
			[]string{"other", "gained", "lost", "better", "keyword now", "model", "unanswered", "altered"},
			Summary{
				Turns: 13, Compared: 11, LeftOut: LeftOut{Blank: 1, Failed: 1}, Changed: 8, Gained: 2, Lost: 1, Better: 1, Worse: 1,
				Pairs: []Pair{{"MONEY", "WEATHER", 3}, {"OTHER", "WEATHER", 2}, {"WEATHER", "MONEY", 2}, {"MONEY", "OTHER", 1}},
			},
		},
		{
			"another threshold", func(o *ReplayOptions) { o.MinConfidence = 0.9 },
			[]string{"same", "other", "lost", "better", "keyword now"},
			Summary{
				Turns: 13, Compared: 7, LeftOut: LeftOut{Model: 1, Unanswered: 1, Altered: 2, Blank: 1, Failed: 1}, Changed: 5, Lost: 4, Worse: 1,
				Pairs: []Pair{{"MONEY", "OTHER", 4}, {"WEATHER", "MONEY", 1}},
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options()
			row.edit(&o)
			steps := 0
			o.Progress = func(done, of int) { steps++; require.Equal(t, []int{steps, 13}, []int{done, of}) }
			got, err := Replay(t.Context(), turns, classify.New(classify.ModeLLM, nil, classifier, classify.Options{}), o)
			require.NoError(t, err)
			require.Equal(t, row.want, got.Summary)
			var runs []string
			for _, d := range got.Differences {
				runs = append(runs, d.RunID)
			}
			require.Equal(t, row.runs, runs)
			require.ErrorIs(t, got.Err, errBroken)
			require.Equal(t, 13, steps)
		})
	}
}

// What words alone answered is not what the embedding model says once it is there.
func TestReplayAnswersByTheTierThatAnswered(t *testing.T) {
	withVectors := by{"x": {Intent: "WEATHER", Confidence: 0.9, Source: "embedding"}}
	words := by{"x": {Intent: "MONEY", Confidence: 0.6, Source: "local"}}
	for _, row := range []struct {
		name   string
		turn   *store.Turn
		accept float64
		want   int
	}{
		{"words, unsure", answered("r", "x", "MONEY", 0.6, "local"), 0.8, 0},
		{"words, sure", answered("r", "x", "MONEY", 0.9, "local"), 0.8, 1},
		{"words, sure, where vectors are always wanted", answered("r", "x", "MONEY", 0.9, "local"), 0, 0},
		{"vectors", answered("r", "x", "MONEY", 0.6, "embedding"), 0.8, 1},
		{"a keyword of another catalogue", answered("r", "x", "MONEY", 1, "fastpath"), 0.8, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options()
			o.Words, o.Accept = words, row.accept
			got, err := Replay(t.Context(), listed(row.turn), withVectors, o)
			require.NoError(t, err)
			require.Equal(t, row.want, got.Changed)
		})
	}
}

func TestReplayAsksWithWhatTheAgentHas(t *testing.T) {
	o := options()
	o.Catalog = func(agent string) *intents.Catalog {
		require.Equal(t, "ada", agent)
		return catalog.Without([]string{"MONEY"})
	}
	// The keyword of an intent that is left out is not looked up.
	got, err := Replay(t.Context(), listed(answered("r", "balance", "MONEY", 1, "fastpath")), classify.New(classify.ModeLLM, nil, by{"balance": {Intent: "OTHER", Confidence: 0.9}}, classify.Options{}), o)
	require.NoError(t, err)
	require.Equal(t, 1, got.Lost)
}

func TestReplayEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options()
	o.Workers = 1
	o.Progress = func(int, int) { cancel() }
	_, err := Replay(ctx, listed(answered("a", "x", "MONEY", 1, "local"), answered("b", "x", "MONEY", 1, "local")), by{}, o)
	require.ErrorIs(t, err, context.Canceled)
}

func TestCalls(t *testing.T) {
	turns := listed(
		answered("a", "ask", "MONEY", 0.9, "local"), answered("b", "sure", "MONEY", 0.9, "local"), answered("c", "balance", "MONEY", 1, "fastpath"),
		answered("d", "ask", "MONEY", 0.9, "llm"), &store.Turn{Input: "ask"},
	)
	o := options()
	o.Models = true
	calls, bytes, err := Calls(t.Context(), turns, o, func(in classify.Input) int {
		if in.Latest == "ask" {
			return 100
		}
		return 0
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.EqualValues(t, 200, bytes)
}
