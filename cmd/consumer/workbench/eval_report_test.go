package workbench

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify/evaluate"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/golden"
)

// TestEvalReport shows every table, from outcomes that no classifier of another
// version or processor changes.
func TestEvalReport(t *testing.T) {
	t.Parallel()
	texts := []string{"will it rain", "pay the rain cover", "is it hot", "what do I owe", "hmm", "asdf \x1b[31m\n" + strings.Repeat("long ", 40), "send it", "snow?"}
	lines := make([]evaluate.Line, len(texts))
	before := make([]evaluate.Outcome, len(texts))
	for i, text := range texts {
		lines[i] = evaluate.Line{Text: text, Intent: []string{"WEATHER", "MONEY", "WEATHER", "MONEY", "OTHER", "OTHER", "MONEY", "WEATHER"}[i], Number: i + 1}
		before[i] = evaluate.Outcome{
			Text: text, Line: i + 1, Want: lines[i].Intent, Got: lines[i].Intent, Forced: lines[i].Intent, Source: "local",
			Confidence: 0.9 - 0.1*float64(i), RunnerUp: "OTHER", RunnerUpConfidence: 0.05, Took: time.Duration(i+1) * 10 * time.Microsecond,
		}
	}
	lines[6].Intents = []string{"MONEY", "MAIL"}
	before[6].Also = []string{"MAIL"}
	after := append([]evaluate.Outcome(nil), before...)
	answered := func(o *evaluate.Outcome, got, misled string) {
		o.Got, o.Forced, o.Misled, o.Similarity = got, got, misled, 0.42
	}
	answered(&before[1], "WEATHER", "will there be rain")
	answered(&before[4], "WEATHER", "")
	answered(&before[5], "MONEY", "send money")
	answered(&before[6], "WEATHER", "it is hot")
	before[7] = evaluate.Outcome{Text: texts[7], Line: 8, Want: "WEATHER", Got: "OTHER", Err: errors.New("model: 500"), Took: time.Second}
	answered(&after[2], "MONEY", "is it mine")
	answered(&after[4], "MONEY", "")
	answered(&after[6], "MAIL", "")

	const minConfidence = 0.5
	hints := evaluate.HintsAt(before, minConfidence)
	e := &Evaluation{
		Metrics: evaluate.Measure(before), Hints: hints.Hints, LoadMs: 12, Thresholds: evaluate.Thresholds(before),
		Confusion: evaluate.Confusions(before), Wrong: misses(lines, before, minConfidence),
		Against: compared(lines, before, after, minConfidence),
	}
	lines[0].Lang, lines[1].Lang, lines[2].Lang, lines[1].Src = "en", "de", "en", "arena"
	e.Groups = evaluate.Groups(lines, before, minConfidence)
	e.Against.Intents, e.Against.LoadMs = "new", 15
	text := evalText{Evaluation: e, data: "data.jsonl", dir: "old", minConfidence: minConfidence}
	var out strings.Builder
	require.NoError(t, text.print(&out, evaluate.ByIntent(before), hints))
	golden.Equal(t, "eval.txt", out.String())

	var object strings.Builder
	require.NoError(t, cli.PrintJSON(&cli.Invocation{Stdout: &object}, e))
	golden.Equal(t, "eval.json", object.String())
}

func TestEvalReportCutsLongLists(t *testing.T) {
	t.Parallel()
	changes := make([]change, 23)
	e := &Evaluation{Against: &comparison{Better: changes}}
	text := evalText{Evaluation: e, data: "d"}
	var out strings.Builder
	require.NoError(t, report(&out, "against", &text))
	require.Contains(t, out.String(), "BETTER (23)")
	require.Equal(t, 20, strings.Count(out.String(), "\nd:0:"))
	require.Contains(t, out.String(), "… and 3 more (--json lists all)")
}

func TestEvalReportOfNothingButFigures(t *testing.T) {
	t.Parallel()
	text := evalText{Evaluation: &Evaluation{LoadMs: 12, EmbedMs: 1234}, data: "d"}
	var out strings.Builder
	require.NoError(t, text.print(&out, []evaluate.IntentScore{{Intent: "A", N: 2}}, evaluate.Threshold{}))
	require.Contains(t, out.String(), "\nload and training             12 ms    \nvectors and training on them  1234 ms  \n\nINTENT  RECALL  PRECISION  N\n")
	require.True(t, strings.HasSuffix(out.String(), "\nA       0.0 %   -          2\n"), out.String())
}
