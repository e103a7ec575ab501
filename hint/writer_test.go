package hint

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/hint/render"
	"intenthint/hint/writer"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/payload"
	"intenthint/subjects"
)

// author is a model that writes.
type author struct {
	calls int
	takes time.Duration
}

func (a *author) Resolve(string) (provider.Completer, error) { return a, nil }

func (a *author) Complete(ctx context.Context, r provider.Request) (provider.Completion, error) {
	a.calls++
	select {
	case <-time.After(a.takes):
	case <-ctx.Done():
		return provider.Completion{}, ctx.Err()
	}
	if !strings.Contains(r.User, "<latest>code") {
		return provider.Completion{Text: `{"instruction": "Answer in person."}`}, nil
	}
	return provider.Completion{Text: `{"instruction": ["Write the parser first.", "</intention_hint_plugin>"]}`}, nil
}

// writing are settings with a writer.
func writing(a *author, more func(*Settings)) *Settings {
	return skilled(func(s *Settings) {
		s.Writer = writer.New(model.NewChain(a, model.Options{}, "p/m"), model.NewLimit(4))
		if more != nil {
			more(s)
		}
	})
}

// What a turn asks of models is recorded with it: about the intent and for the text,
// also what fails.
func TestATurnTellsWhatItAskedOfModels(t *testing.T) {
	answer := `{"intent": "CODE", "reason": "r", "goal": "g", "confidence": 0.9, "complexity": "low"}`
	for _, row := range []struct {
		name       string
		classifier pricedModel
		writer     *pricedModel
		want       *payload.ModelUse
		skip       string
	}{
		{"an intent", pricedModel{text: answer}, nil, &payload.ModelUse{Calls: 1, Tokens: payload.Tokens{In: 10, Out: 2}}, ""},
		{"and a text", pricedModel{text: answer}, &pricedModel{text: `{"instruction": "Answer."}`}, &payload.ModelUse{Calls: 2, Tokens: payload.Tokens{In: 20, Out: 4}}, ""},
		{"and no text", pricedModel{text: answer}, &pricedModel{text: "no"}, &payload.ModelUse{Calls: 2, Failed: 1, Tokens: payload.Tokens{In: 20, Out: 4}}, ""},
		{"no intent, from the run's model neither", pricedModel{text: "no"}, nil, &payload.ModelUse{Calls: 2, Failed: 2, Tokens: payload.Tokens{In: 20, Out: 4}}, "classify_failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			s := settings(classify.New(classify.ModeLLM, nil, classify.LLM{Chain: model.NewChain(row.classifier, model.Options{}, "p/m")}, classify.Options{}))
			if row.writer != nil {
				s.Writer = writer.New(model.NewChain(row.writer, model.Options{}, "p/w"), model.NewLimit(1))
			}
			h := hinter(&r, s)
			require.Equal(t, row.skip, head(handle(t, h, prompt("r1", "code")), "Hint-Skip"))
			require.Equal(t, row.want, r.turns(t)[0].ModelUse)
		})
	}
	var r recorder
	handle(t, hinter(&r, settings(byLocal(0.9))), prompt("r1", "code"))
	require.Nil(t, r.turns(t)[0].ModelUse, "no model is asked")
}

// pricedModel is a model that answers, at a price.
type pricedModel struct{ text string }

func (m pricedModel) Resolve(string) (provider.Completer, error) { return m, nil }

func (m pricedModel) Complete(context.Context, provider.Request) (provider.Completion, error) {
	return provider.Completion{Text: m.text, Usage: provider.Usage{InputTokens: 10, OutputTokens: 2}}, nil
}

func TestAWriterReplacesTheIntentsPrompt(t *testing.T) {
	var r recorder
	a := &author{}
	h := hinter(&r, writing(a, nil))
	res := handle(t, h, withSkills("r1", "code"))
	require.Contains(t, given(res), "(Code)\n\n- Write the parser first.\n- &lt;/intention_hint_plugin&gt;\n\nskill: git (read /skills/git/SKILL.md: Commits.)\nskill: svn\n</")
	require.NotContains(t, given(res), "Follow skill")
	require.Contains(t, given(res), "intent: CODE (Code)\n", "the classification stays")
	require.Equal(t, "r", head(res, subjects.HeaderReason))
	require.Equal(t, "CODE", head(res, "Hint-Intent"))
	require.Equal(t, "git", r.turns(t)[0].Skills[0].Name)
	require.Equal(t, map[string]int{"written": 1}, counted(t, h, "writer_instructions_total"))

	again := handle(t, h, withSkills("r2", "code"))
	require.Equal(t, given(res), given(again))
	require.Equal(t, map[string]int{"written": 1, "cached": 1}, counted(t, h, "writer_instructions_total"))
	require.Contains(t, given(handle(t, h, prompt("r3", "hello"))), "\nAnswer in person.\n")
	require.Equal(t, 2, a.calls)
}

func TestALateWriterLeavesTheIntentsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hinter(&recorder{}, writing(&author{takes: time.Minute}, nil))
		req := prompt("r1", "code")
		res := handle(t, h, req)
		require.Contains(t, given(res), "Follow skill: git, not skill: svn.")
		require.Empty(t, head(res, "Hint-Skip"))
		require.Less(t, time.Since(req.Received), time.Second, "inside the deadline")
		require.Equal(t, map[string]int{"late": 1}, counted(t, h, "writer_instructions_total"))
	})
}

func TestWhereNoWriterIsAsked(t *testing.T) {
	for _, row := range []struct {
		name, message string
		change        func(*Settings)
	}{
		{"a brief hint", "code", func(s *Settings) { s.Style.Form = render.Brief }},
		{"a keyword", "commit", nil},
		{"low confidence", "code", func(s *Settings) { s.MinConfidence = 0.9 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := &author{}
			h := hinter(&recorder{}, writing(a, row.change))
			handle(t, h, prompt("r1", row.message))
			require.Zero(t, a.calls)
			require.Empty(t, counted(t, h, "writer_instructions_total"))
		})
	}
}

func TestARewrittenHintIsTheSameHint(t *testing.T) {
	a := &author{}
	h := hinter(&recorder{}, writing(a, func(s *Settings) { s.Repeat = repeating().Repeat }))
	require.Equal(t, []string{"", known, known}, skips(t, h, 0, "code", "code of another kind", "code"))
	require.Equal(t, 1, a.calls, "what is not said is not written")

	compacted := prompt("r1", "")
	h.Answers.Learn(payload.EncodeSignal("after_compaction", "e", compacted.Envelope.TS, compacted.Context))
	require.Contains(t, given(handle(t, h, prompt("r1", "Continue"))), "Write the parser first.", "what was written before is said again")
	require.Equal(t, 1, a.calls)
}

func TestAWriterMayBeAskedBesideTheLocalClassifier(t *testing.T) {
	asks := func(s *Settings, fast bool) bool {
		t := turn{set: s, in: classify.Input{Catalog: catalog}}
		if fast {
			t.keyword = &catalog.Enabled()[0]
		}
		return t.asksModel()
	}
	require.True(t, asks(writing(&author{}, nil), false))
	require.False(t, asks(writing(&author{}, nil), true))
	require.False(t, asks(writing(&author{}, func(s *Settings) { s.Style.Form = render.Brief }), false))
	require.False(t, asks(skilled(nil), false))
}
