package hint

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/hint/run"
	"intenthint/intents"
	"intenthint/internal/hook"
	"intenthint/model"
	"intenthint/payload"
	"intenthint/subjects"
)

// repeating returns settings under which a hint is said again after three turns.
func repeating() *Settings {
	s := settings(byLocal(0.87))
	s.Repeat = repetition.Rule{Repeat: repetition.Changed, After: 3}
	return s
}

// skips asks about texts, each of a run of its own, and returns the Hint-Skip of
// each reply.
func skips(t *testing.T, h *Hinter, from int, texts ...string) (out []string) {
	t.Helper()
	for i, s := range texts {
		res := handle(t, h, prompt(fmt.Sprint("r", from+i), s))
		skip := head(res, subjects.HeaderSkip)
		require.Equal(t, skip == "", given(res) != "")
		out = append(out, skip)
	}
	return out
}

const known = string(eligibility.Unchanged)

func TestAKnownHintIsNotRepeated(t *testing.T) {
	var r recorder
	h := hinter(&r, repeating())
	require.Equal(t, []string{"", known, known, known, "", known}, skips(t, h, 0, "code", "code", "code", "code", "code", "code"))
	res := handle(t, h, prompt("r9", "code"))
	require.Equal(t, []string{"CODE", "0.87", "local"}, []string{head(res, subjects.HeaderIntent), head(res, subjects.HeaderConfidence), head(res, subjects.HeaderSource)})
	require.Nil(t, res.Decision)
	last := r.turns(t)[6]
	require.Equal(t, "CODE", last.Result.Intent, "the turn is tracked with its result")
	require.Equal(t, known, last.Skip)
	require.Empty(t, last.Hint)
	require.Equal(t, 2, last.Last.Turns)
	// Another intent in between.
	require.Equal(t, []string{"", "", known}, skips(t, h, 20, "hello", "code", "code"))
}

func TestARetryOfAKnownHintIsGivenNothing(t *testing.T) {
	h := hinter(&recorder{}, repeating())
	skips(t, h, 0, "code", "code")
	retry := handle(t, h, prompt("r1", "Continue the current task"))
	require.Equal(t, []string{known, "cache", "CODE"}, []string{head(retry, subjects.HeaderSkip), head(retry, subjects.HeaderSource), head(retry, subjects.HeaderIntent)})
	first := handle(t, h, prompt("r0", "Continue the current task"))
	require.Contains(t, given(first), "intent: CODE", "the run's first answer was a hint")
	require.Equal(t, "cache", head(first, subjects.HeaderSource))
}

func TestARetryAfterACompactionIsGivenTheHint(t *testing.T) {
	h := hinter(&recorder{}, repeating())
	require.Equal(t, []string{"", known, known, known}, skips(t, h, 0, "code", "code", "code", "code"))
	require.Equal(t, known, head(handle(t, h, prompt("r3", "Continue")), subjects.HeaderSkip), "a retry is no turn")
	compacted := prompt("r3", "")
	h.Answers.Learn(payload.EncodeSignal("after_compaction", "e", compacted.Envelope.TS, compacted.Context))
	for range 2 {
		retry := handle(t, h, prompt("r3", "Continue"))
		require.Contains(t, given(retry), "intent: CODE")
		require.Equal(t, []string{"", "cache", "CODE"}, []string{head(retry, subjects.HeaderSkip), head(retry, subjects.HeaderSource), head(retry, subjects.HeaderIntent)})
	}
}

// The hint that a retry was given is the last one of the session, in all processes.
func TestAHintOfARetryIsNotSaidAgain(t *testing.T) {
	first, told := hinterWithPeer(t, &recorder{}, repeating())
	require.Equal(t, []string{"", known}, skips(t, first, 0, "code", "code"))
	compacted := payload.EncodeSignal("after_compaction", "e", prompt("", "").Envelope.TS, prompt("r1", "").Context)
	first.Answers.Learn(compacted)
	require.Contains(t, given(handle(t, first, prompt("r1", "Continue"))), "intent: CODE")

	second := hinter(&recorder{}, repeating())
	for range 3 { // two turns and the retry
		select {
		case m := <-told:
			second.Answers.Learn(m)
		case <-time.After(10 * time.Second):
			require.FailNow(t, "not told to other processes")
		}
	}
	second.Answers.Learn(compacted)
	for _, h := range []*Hinter{first, second} {
		require.Contains(t, given(handle(t, h, prompt("r1", "Continue"))), "intent: CODE", "another retry is given it, too")
		require.Equal(t, []string{known}, skips(t, h, 2, "code"))
	}
}

// A hint that was lost from the conversation is there again after a retry.
func TestARetryRestoresALostHint(t *testing.T) {
	ctx, at := prompt("r0", "").Context, prompt("", "").Envelope.TS
	for _, row := range []struct {
		name string
		lost []byte
	}{
		{"by a compaction", payload.EncodeSignal("after_compaction", "e", at, ctx)},
		{"by an answer that did not arrive", payload.EncodeUnanswered("before_prompt_build", "e", at, ctx, "code")},
	} {
		t.Run(row.name, func(t *testing.T) {
			first, told := hinterWithPeer(t, &recorder{}, repeating())
			second, third := hinter(&recorder{}, repeating()), hinter(&recorder{}, repeating())
			learn := func(h ...*Hinter) {
				select {
				case m := <-told:
					for _, h := range h {
						h.Answers.Learn(m)
					}
				case <-time.After(10 * time.Second):
					require.FailNow(t, "not told to other processes")
				}
			}
			retry := func(h *Hinter) {
				req := prompt("r0", "Continue")
				req.Envelope.TS++
				require.Contains(t, given(handle(t, h, req)), "intent: CODE")
			}
			require.Equal(t, []string{""}, skips(t, first, 0, "code"))
			learn(second, third)
			for _, h := range []*Hinter{first, second, third} {
				h.Answers.Learn(row.lost)
			}
			retry(first)
			learn(second) // the third process did not hear of the retry
			retry(third)
			for _, h := range []*Hinter{first, second, third} {
				require.Equal(t, []string{known, known, known, ""}, skips(t, h, 1, "code", "code", "code", "code"))
			}
		})
	}
	t.Run("not that of another session", func(t *testing.T) {
		h := hinter(&recorder{}, repeating())
		nameless := func(run, text string) *hook.Request {
			req := prompt(run, text)
			req.Context.SessionID, req.Context.SessionKey, req.Context.MessageProvider = "", "", "webchat"
			return req
		}
		for _, request := range []string{"code", "Continue", "Continue"} {
			require.NotEmpty(t, given(handle(t, h, nameless("r0", request))))
		}
		require.NotEmpty(t, given(handle(t, h, nameless("r1", "code"))))
	})
}

// The second of two simultaneous requests of a run may be answered before the first
// one has recorded the hint. That hint is not lost.
func TestASimultaneousRequestDoesNotBeginTheTurnAgain(t *testing.T) {
	h, told := hinterWithPeer(t, &recorder{}, repeating())
	req := prompt("r0", "code")
	h.Answers.Learn(payload.EncodeSignal("session_start", "e", req.Envelope.TS-1, req.Context))
	_, origin := h.Answers.First(t.Context(), run.Request{
		Key: run.Key(req.Context), Prompt: "code", Deadline: req.Deadline,
		Prepare:   func(string) {},
		AsksModel: func() bool { return false },
		Classify: func(context.Context) run.Answer {
			return run.Answer{Hint: "intent: CODE", Result: &payload.Classification{Intent: "CODE"}, Full: true}
		},
		Commit: func() bool { return true },
	})
	require.Equal(t, run.Fresh, origin)
	require.Contains(t, given(handle(t, h, req)), "intent: CODE")
	require.Nil(t, h.Answers.Sessions.Last(req.Context.Session()), "left to the first request")
	skips(t, h, 1, "hello")
	select {
	case m := <-told:
		require.Contains(t, string(m), "r1", "only the next turn is told")
	case <-time.After(10 * time.Second):
		require.FailNow(t, "not told to other processes")
	}
}

// Anyone who may publish answers can say what no process says.
func TestARetryOfAnAnswerWithoutAResult(t *testing.T) {
	h := hinter(&recorder{}, repeating())
	skips(t, h, 0, "code")
	req := prompt("r1", "Continue")
	last := *h.Answers.Sessions.Last(req.Context.Session())
	h.Answers.Learn(payload.EncodeTurnBegun("e", req.Envelope.TS, req.Context, payload.TurnBegun{RunID: "r1", Skip: known, Hint: "x", Last: &last}, 0))
	h.Answers.Learn(payload.EncodeSignal("after_compaction", "e", req.Envelope.TS, req.Context))
	require.True(t, h.Answers.Sessions.Forgot(req.Context.Session()))
	require.Equal(t, known, head(handle(t, h, req), subjects.HeaderSkip))
}

// A turn that the gateway told of later is retried with another prompt.
func TestARetryOfAnUnansweredRunIsAboutItsFirstPrompt(t *testing.T) {
	var r recorder
	h := hinter(&r, repeating())
	first := prompt("r1", "code")
	h.Answers.Learn(payload.EncodeUnanswered(first.Envelope.Hook, "e", first.Envelope.TS, first.Context, "code"))
	retry := handle(t, h, prompt("r1", "Continue the current task"))
	require.Equal(t, []string{"CODE", "local"}, []string{head(retry, subjects.HeaderIntent), head(retry, subjects.HeaderSource)})
	require.Equal(t, "code", r.turns(t)[0].Prompt)

	// One that has been answered stays so.
	h.Answers.Learn(payload.EncodeUnanswered(first.Envelope.Hook, "e", first.Envelope.TS, first.Context, "hello"))
	require.Equal(t, "CODE", head(handle(t, h, prompt("r1", "Continue")), subjects.HeaderIntent))
}

func TestWhatMakesAHintSaidAgain(t *testing.T) {
	ctx := payload.Context{SessionID: "s1", SessionKey: "agent:main:telegram:direct:1"}
	later := prompt("", "").Envelope.TS
	for _, row := range []struct {
		name string
		do   func(h *Hinter)
		said bool
	}{
		{"nothing", func(*Hinter) {}, false},
		{"always", func(h *Hinter) { h.Use(settingsWith(func(s *Settings) { s.Repeat.Repeat = repetition.Always })) }, true},
		{"a compaction", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("after_compaction", "e", later, ctx)) }, true},
		{"the beginning of one", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("before_compaction", "e", later, ctx)) }, true},
		{"the session's start", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("session_start", "e", later, ctx)) }, true},
		{"its end", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("session_end", "e", later, ctx)) }, true},
		{"an older event that comes late", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("session_start", "e", later-1, ctx)) }, false},
		{"an event of another session", func(h *Hinter) {
			h.Answers.Learn(payload.EncodeSignal("session_end", "e", later, payload.Context{SessionID: "s2"}))
		}, false},
		{"a hint that did not arrive", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("before_prompt_build", "e", later, ctx)) }, true},
		{"another turn whose answer did not", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("before_prompt_build", "e", later+1, ctx)) }, false},
		{"another event", func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal("agent_end", "e", later, ctx)) }, false},
		{"a new text of the intent", func(h *Hinter) {
			h.Use(settingsWith(func(s *Settings) {
				changed := intents.NewCatalog([]intents.Intent{{ID: "CODE", Name: "Code", Triggers: []string{"code"}, Prompt: "Write other code."}})
				s.Catalog = func(string) *intents.Catalog { return changed }
			}))
		}, true},
		{"another process that gave a hint", func(h *Hinter) {
			other := payload.TurnBegun{RunID: "x", Prompt: "hello", Hint: "intent: CHAT", Result: &payload.Classification{Intent: "CHAT"}, Last: &payload.LastHint{Intent: "CHAT", Complexity: "low"}}
			h.Answers.Learn(payload.EncodeTurnBegun("e", later+1, ctx, other, 0))
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hinter(&recorder{}, repeating())
			require.Equal(t, []string{"", known}, skips(t, h, 0, "code", "code"))
			row.do(h)
			require.Equal(t, row.said, given(handle(t, h, prompt("r7", "code"))) != "")
		})
	}
}

func settingsWith(change func(*Settings)) *Settings {
	s := repeating()
	change(s)
	return s
}

func TestAnotherProcessKnowsTheHint(t *testing.T) {
	var r recorder
	first, second := hinter(&r, repeating()), hinter(&recorder{}, repeating())
	skips(t, first, 0, "code")
	require.Equal(t, []string{""}, skips(t, second, 10, "code"), "one that does not know gives it")
	second = hinter(&recorder{}, repeating())
	begun := r.turns(t)[0]
	second.Answers.Learn(payload.EncodeTurnBegun("e", prompt("", "").Envelope.TS, payload.Context{RunID: "r0", SessionID: "s1"}, begun, 0))
	require.Equal(t, []string{known, known, known, ""}, skips(t, second, 20, "code", "code", "code", "code"))
}

func TestAHintThatWasNotGivenIsSaid(t *testing.T) {
	h := hinter(&recorder{}, repeating())
	h.Use(settingsWith(func(s *Settings) { s.MinConfidence = 0.9 }))
	require.Equal(t, []string{"low_confidence"}, skips(t, h, 0, "code"))
	h.Use(repeating())
	require.Equal(t, []string{"", known}, skips(t, h, 1, "code", "code"))
}

func TestAKeywordAsksNobody(t *testing.T) {
	asked := 0
	s := settings(classify.New(classify.ModeLocal, localStub(func(classify.Input) payload.Classification {
		asked++
		return taken("CHAT", 0.9)
	}), nil, classify.Options{}))
	own := intents.NewCatalog([]intents.Intent{
		{ID: "CODE", Name: "Code", Triggers: []string{"code"}, Prompt: "Write code.", Fastpath: intents.Fastpath{Keywords: []string{"Next Step"}, Hint: "Go on with the plan."}},
		{ID: "CHAT", Name: "Chat", Triggers: []string{"chat"}, Prompt: "Chat."},
	})
	s.Catalog = func(string) *intents.Catalog { return own }
	s.Repeat.Repeat = repetition.Always
	for _, form := range []render.Form{render.Full, render.Brief} {
		s.Style.Form = form
		h := hinter(&recorder{}, s)
		res := handle(t, h, prompt("r1", "  next\nSTEP "))
		require.Equal(t, []string{"CODE", "1.00", "fastpath"}, []string{head(res, subjects.HeaderIntent), head(res, subjects.HeaderConfidence), head(res, subjects.HeaderSource)})
		require.True(t, strings.HasSuffix(given(res), "(Code)\n\nGo on with the plan.\n</intention_hint_plugin>"), given(res))
		require.Zero(t, asked)
	}
	h := hinter(&recorder{}, s)
	require.Equal(t, "CHAT", head(handle(t, h, prompt("r2", "the next step")), subjects.HeaderIntent))
	require.Equal(t, 1, asked)
}

func TestAKeywordsHintIsNotThatOfItsIntent(t *testing.T) {
	catalogOf := func(own string) func(string) *intents.Catalog {
		in := intents.Intent{ID: "CODE", Name: "Code", Triggers: []string{"code"}, Prompt: "Write code.", Fastpath: intents.Fastpath{Keywords: []string{"ok"}, Hint: own}}
		return func(string) *intents.Catalog { return intents.NewCatalog([]intents.Intent{in}) }
	}
	for _, row := range []struct {
		name, own string
		form      render.Form
		texts     []string
		skips     []string
	}{
		{"the prompt comes after it", "Go on.", render.Full, []string{"ok", "ok", "code", "code", "ok"}, []string{"", known, "", known, known}},
		{"a keyword without a hint of its own", "", render.Full, []string{"ok", "code"}, []string{"", known}},
		{"where hints hold no prompts", "Go on.", render.Brief, []string{"ok", "code"}, []string{"", known}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hinter(&recorder{}, settingsWith(func(s *Settings) {
				s.Catalog, s.Style.Form, s.Repeat.After = catalogOf(row.own), row.form, 0
			}))
			require.Equal(t, row.skips, skips(t, h, 0, row.texts...))
		})
	}
}

func TestAnotherComplexityIsSaidInBrief(t *testing.T) {
	for _, row := range []struct {
		name  string
		keeps bool
		forms []string
		turns []int // since the hint, by turn
	}{
		{"where hints are kept in the history", true, []string{"full", "brief", "none", "brief", "brief"}, []int{0, 0, 1, 0, 0}},
		{"elsewhere", false, []string{"full", "full", "none", "full", "full"}, []int{0, 0, 1, 0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			h := hinter(&r, settingsWith(func(s *Settings) {
				s.Classifier = classify.New(classify.ModeLocal, localStub(func(in classify.Input) payload.Classification {
					c := taken("CODE", 0.9)
					c.Complexity = in.Latest
					return c
				}), nil, classify.Options{})
			}))
			var forms []string
			for i, complexity := range []string{"low", "high", "high", "low", "high"} {
				req := prompt(fmt.Sprint("r", i), complexity)
				req.Context.KeepsHints = row.keeps
				hint := given(handle(t, h, req))
				switch {
				case hint == "":
					forms = append(forms, "none")
				case strings.Contains(hint, "Write code."):
					forms = append(forms, "full")
				default:
					require.Contains(t, hint, "\ncomplexity: "+complexity+"\n</intention_hint_plugin>")
					forms = append(forms, "brief")
				}
			}
			require.Equal(t, row.forms, forms)
			var turns []int
			for _, begun := range r.turns(t) {
				require.True(t, begun.Last.Full)
				turns = append(turns, begun.Last.Turns)
			}
			require.Equal(t, row.turns, turns)
		})
	}
}

// A hint is brief because the conversation holds the prompt of one before it. When a
// compaction comes between the answer and its turn, the prompt is gone.
func TestACompactionAfterABriefHintWasMade(t *testing.T) {
	var r recorder
	h := hinter(&r, settingsWith(func(s *Settings) {
		s.Classifier = classify.New(classify.ModeLocal, localStub(func(in classify.Input) payload.Classification {
			c := taken("CODE", 0.9)
			c.Complexity = in.Latest
			return c
		}), nil, classify.Options{})
	}))
	keeping := func(run, complexity string) *hook.Request {
		req := prompt(run, complexity)
		req.Context.KeepsHints = true
		return req
	}
	require.Contains(t, given(handle(t, h, keeping("r0", "low"))), "Write code.")

	req := keeping("r1", "high")
	brief := turn{req: req, set: h.settings.Load(), agent: "main", catalog: catalog, latest: "high"}
	brief.prepare("high")
	a := h.classify(t.Context(), brief)
	require.NotEmpty(t, a.Hint)
	require.NotContains(t, a.Hint, "Write code.")
	h.Answers.Learn(payload.EncodeSignal("after_compaction", "e", req.Envelope.TS, req.Context))
	h.begin(brief, a, &model.Use{})
	last := r.turns(t)[1].Last
	require.False(t, last.Full)
	require.Zero(t, last.Turns)

	require.Contains(t, given(handle(t, h, keeping("r2", "low"))), "Write code.")
}

// keeping asks about texts, as a gateway that keeps hints since a time, and returns
// the form of each hint.
func keeping(t *testing.T, h *Hinter, from int, since float64, texts ...string) (forms []string) {
	t.Helper()
	for i, s := range texts {
		req := prompt(fmt.Sprint("r", from+i), s)
		req.Envelope.TS += int64(from + i)
		req.Context.KeepsHints, req.Context.KeptSince = true, since
		switch hint := given(handle(t, h, req)); {
		case hint == "":
			forms = append(forms, "none")
		case strings.Contains(hint, "Write code.") || strings.Contains(hint, "Chat away."):
			forms = append(forms, "full")
		default:
			forms = append(forms, "brief")
		}
	}
	return forms
}

func TestAPromptInTheConversationIsNotSaidAgain(t *testing.T) {
	at := prompt("", "").Envelope.TS
	signal := func(hook string) func(h *Hinter) {
		return func(h *Hinter) { h.Answers.Learn(payload.EncodeSignal(hook, "e", at+5, prompt("", "").Context)) }
	}
	for _, row := range []struct {
		name  string
		do    func(h *Hinter)
		since float64
		forms []string // of a second "code" and a third "hello"
	}{
		{"however many turns ago", func(*Hinter) {}, 0, []string{"brief", "brief"}},
		{"unless a compaction came in between", signal("after_compaction"), 0, []string{"full", "full"}},
		{"or the session's start", signal("session_start"), 0, []string{"full", "full"}},
		{"or its end", signal("session_end"), 0, []string{"full", "full"}},
		{"or the gateway was started again", func(*Hinter) {}, float64(at + 5), []string{"full", "full"}},
		{"or the text of the intent was changed", func(h *Hinter) {
			h.Use(settingsWith(func(s *Settings) {
				changed := intents.NewCatalog([]intents.Intent{
					{ID: "CODE", Name: "Code", Triggers: []string{"code"}, Prompt: "Write code. Now."},
					catalogIntent(t, "CHAT"),
				})
				s.Catalog = func(string) *intents.Catalog { return changed }
			}))
		}, 0, []string{"full", "brief"}},
		{"a hint on every turn is brief, too", func(h *Hinter) { h.Use(settingsWith(func(s *Settings) { s.Repeat.Repeat = repetition.Always })) }, 0, []string{"brief", "brief"}},
		{"a hint that did not arrive was not said", func(h *Hinter) {
			h.Answers.Learn(payload.EncodeSignal("before_prompt_build", "e", at+1, prompt("r1", "").Context))
		}, 0, []string{"brief", "full"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hinter(&recorder{}, repeating())
			require.Equal(t, []string{"full", "full"}, keeping(t, h, 0, 0, "code", "hello"))
			row.do(h)
			require.Equal(t, row.forms, keeping(t, h, 10, row.since, "code", "hello"))
		})
	}
	t.Run("also after the turns after which a hint is repeated", func(t *testing.T) {
		h := hinter(&recorder{}, repeating())
		require.Equal(t, []string{"full", "none", "none", "none", "brief", "none"}, keeping(t, h, 0, 0, "code", "code", "code", "code", "code", "code"))
	})
	t.Run("not where the gateway keeps no hints", func(t *testing.T) {
		var r recorder
		h := hinter(&r, repeating())
		skips(t, h, 0, "code", "hello")
		require.Contains(t, given(handle(t, h, prompt("r2", "code"))), "Write code.")
		require.Nil(t, r.turns(t)[0].Kept)
	})
}

func catalogIntent(t *testing.T, id string) intents.Intent {
	t.Helper()
	in, ok := catalog.Lookup(id)
	require.True(t, ok)
	return in
}

func TestTheBudgetOfASession(t *testing.T) {
	with := func(budget int) *Settings {
		return settingsWith(func(s *Settings) { s.Repeat.Budget = budget })
	}
	h := hinter(&recorder{}, with(1))
	require.Equal(t, []string{"full", "brief", "none", "brief"}, keeping(t, h, 0, 0, "code", "hello", "hello", "code"), "after it only brief, and known")
	h.Answers.Learn(payload.EncodeSignal("after_compaction", "e", prompt("", "").Envelope.TS+5, prompt("", "").Context))
	require.Equal(t, []string{"full", "brief"}, keeping(t, h, 10, 0, "hello", "code"), "the conversation no longer holds them")
	h = hinter(&recorder{}, with(0))
	require.Equal(t, []string{"full", "full"}, keeping(t, h, 0, 0, "code", "hello"))
	h = hinter(&recorder{}, with(1))
	require.Equal(t, []string{"", ""}, skips(t, h, 0, "code", "hello"))
	require.Contains(t, given(handle(t, h, prompt("r2", "code"))), "Write code.", "not where the gateway keeps no hints")
}

// A process that takes over knows what the conversation holds, also from a brief hint;
// a retry that it answers after a compaction does not make the prompt known.
func TestAnotherProcessKnowsThePrompts(t *testing.T) {
	var r recorder
	first, second := hinter(&r, repeating()), hinter(&recorder{}, repeating())
	require.Equal(t, []string{"full", "full", "brief"}, keeping(t, first, 0, 0, "code", "hello", "code"))
	for i, begun := range r.turns(t) {
		req := prompt(begun.RunID, "")
		second.Answers.Learn(payload.EncodeTurnBegun("e", req.Envelope.TS+int64(i), req.Context, begun, 0))
	}
	require.Equal(t, []string{"brief"}, keeping(t, second, 3, 0, "hello"))
	second.Answers.Learn(payload.EncodeSignal("after_compaction", "e", prompt("", "").Envelope.TS+4, prompt("", "").Context))
	require.Equal(t, []string{"brief"}, keeping(t, second, 2, 0, "Continue"), "the retry is given its own hint")
	require.Equal(t, []string{"full"}, keeping(t, second, 4, 0, "code"))
}
