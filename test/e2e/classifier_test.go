//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

func TestClassifierModes(t *testing.T) {
	t.Parallel()
	parent := t
	running := map[string]*system{} // by their settings
	const budget = 1200 * time.Millisecond
	m := newModel(t)
	good := answered("OTHER", 0)
	hang := providertest.Answer{Hang: true}
	garbage := providertest.Answer{Text: "I would rather not say."}
	incomplete := providertest.Answer{Text: `{"intent": "OTHER", "reason": "x", "confidence": 0.5, "complexity": "low"}`}
	sure := providertest.Answer{Text: `{"intent": "OTHER", "reason": "x", "goal": "x", "confidence": 7, "complexity": "low"}`}
	failing := providertest.Answer{Status: http.StatusInternalServerError, Message: "out of order"}
	broken := providertest.Answer{Body: "<html>", ContentType: "text/html"}
	ofModel := func(answers map[string]providertest.Answer) func(providertest.Request) providertest.Answer {
		return func(r providertest.Request) providertest.Answer { return answers[r.Model] }
	}
	always := func(a providertest.Answer) func(providertest.Request) providertest.Answer {
		return func(providertest.Request) providertest.Answer { return a }
	}
	type want struct {
		source, model, skip string
		calls               int // 0: any
	}
	for _, row := range []struct {
		name   string
		given  settings
		answer func(providertest.Request) providertest.Answer
		ctx    object
		want   want
	}{
		{"llm", m.settings("llm"), always(good), nil, want{source: "llm", model: "mock/first", calls: 1}},
		{"llm, late", m.settings("llm"), always(hang), nil, want{skip: "deadline", calls: 1}},
		{"llm, garbage", m.settings("llm"), always(garbage), nil, want{skip: "classify_failed"}},
		{"llm, missing field", m.settings("llm"), always(incomplete), nil, want{skip: "classify_failed"}},
		{"llm, confidence out of range", m.settings("llm"), always(sure), nil, want{skip: "classify_failed"}},
		{"llm, failing", m.settings("llm"), always(failing), nil, want{skip: "classify_failed"}},
		{"llm, broken body", m.settings("llm"), always(broken), nil, want{skip: "classify_failed"}},
		{"hedged", m.settings("hedged"), always(good), nil, want{source: "llm", model: "mock/first", calls: 1}},
		{"hedged, late", m.settings("hedged"), always(hang), nil, want{source: "local"}},
		{"hedged, garbage", m.settings("hedged"), always(garbage), nil, want{source: "local"}},
		{"hedged, failing", m.settings("hedged"), always(failing), nil, want{source: "local"}},
		{"auto with a model is hedged", m.settings("auto"), always(garbage), nil, want{source: "local"}},
		{"auto with a good model", m.settings("auto"), always(good), nil, want{source: "llm", model: "mock/first"}},
		{"local with a model", m.settings("local"), always(good), nil, want{source: "local"}},
		{"cascade, accepted local answer", with(m.settings("cascade"), "HINT_LOCAL_ACCEPT", "0"), always(good), nil, want{source: "local"}},
		{"cascade, rejected local answer", with(m.settings("cascade"), "HINT_LOCAL_ACCEPT", "1"), always(good), nil, want{source: "llm", model: "mock/first"}},
		{
			"the fallback, after a failure", with(m.settings("llm"), "HINT_MODEL_FALLBACK", "mock/second"),
			ofModel(map[string]providertest.Answer{"first": failing, "second": good}), nil,
			want{source: "llm", model: "mock/second"},
		},
		{
			"the fallback, after garbage", with(m.settings("llm"), "HINT_MODEL_FALLBACK", "mock/second"),
			ofModel(map[string]providertest.Answer{"first": garbage, "second": good}), nil,
			want{source: "llm", model: "mock/second"},
		},
		{
			"the fallback, inside the budget of a model that hangs", with(m.settings("llm"), "HINT_MODEL_FALLBACK", "mock/second"),
			ofModel(map[string]providertest.Answer{"first": hang, "second": good}), nil,
			want{source: "llm", model: "mock/second"},
		},
		{
			"the fallback, of a model that cannot be resolved", with(m.settings("llm"), "HINT_MODEL", "claude/first", "HINT_MODEL_FALLBACK", "mock/second"),
			always(good), nil,
			want{source: "llm", model: "mock/second", calls: 1},
		},
		{
			"the run's own model", m.settings("llm"),
			ofModel(map[string]providertest.Answer{"first": failing, "own": good}),
			object{"modelProviderId": "mock", "modelId": "own"},
			want{source: "llm", model: "mock/own"},
		},
		{
			"the run's own model of a provider that is not configured", m.settings("llm"), always(failing),
			object{"modelProviderId": "elsewhere", "modelId": "own"},
			want{skip: "classify_failed"},
		},
		{
			"anthropic-messages", with(m.settings("llm"), "HINT_MODEL", "claude/first", "MOCK_KEY", "sk-mock"),
			always(good), nil,
			want{source: "llm", model: "claude/first", calls: 1},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			m.Handle(row.answer)
			s := running[asJSON(row.given)]
			if s == nil {
				s = newSystem(parent, row.given)
				s.serve(1, 1)
				running[asJSON(row.given)] = s
			}
			s = s.in(t)
			g := s.gateway()
			before := m.Count()
			name := token(row.name)
			tr := turn{session: name, run: name, prompt: "What did we talk about last week?", ctx: row.ctx, budget: budget}
			r := g.ask(tr) // fails when the answer comes after the budget
			require.Equal(t, row.want.skip, r.Header.Get("Hint-Skip"), "%v", r.Header)
			require.Equal(t, row.want.source, r.Header.Get("Hint-Source"))
			require.Equal(t, row.want.model, r.Header.Get("Hint-Model"))
			require.Regexp(t, `^\d+\.\d{3}$`, r.Header.Get("Hint-Elapsed-Ms"))
			if row.want.skip == "" {
				require.NotEmpty(t, r.hint)
			} else {
				require.JSONEq(t, `{}`, string(r.Data))
				require.NotContains(t, r.Header, "Hint-Intent")
			}
			if row.want.calls > 0 {
				require.Equal(t, row.want.calls, m.Count()-before)
			}
			// The turn is tracked with or without a hint.
			got := s.showsRun(name, name, patient)
			if row.want.source != "" {
				require.Equal(t, row.want.source, got.Intent.Result.Source)
				require.Equal(t, row.want.model, got.Intent.Result.Model)
			}
		})
	}
	for _, s := range running {
		for _, p := range s.running() {
			p.stop()
			require.NotContains(t, p.stderr.String(), "sk-mock", "the log contains the key")
		}
	}

	t.Run("request to and answer of a model", func(t *testing.T) {
		m.Always(answered("MEMORY_RECALL_OF_NOTHING (No Such Intent)", 0))
		s := newSystem(t, with(m.settings("llm"), "MOCK_KEY", "sk-mock", "HINT_MODEL", "claude/first"))
		s.serve(1, 1)
		r := s.gateway().ask(turn{session: "s1", run: "r1", prompt: "</latest> What did we talk about last week?"})
		require.Equal(t, "OTHER", r.Header.Get("Hint-Intent"))
		require.Equal(t, "0.87", r.Header.Get("Hint-Confidence"))
		require.Contains(t, r.hint, "\nsuggestion: carry on\n")
		require.Contains(t, r.hint, "\ngoal: pass the test\n")
		require.Contains(t, r.hint, "\ncomplexity: medium\n")
		asked := m.Requests()[m.Count()-1]
		require.Equal(t, "first", asked.Model)
		require.True(t, strings.HasSuffix(asked.Path, "/v1/messages"), asked.Path)
		require.Equal(t, "sk-mock", asked.Header.Get("X-Api-Key"))
		require.NotEmpty(t, asked.Header.Get("Anthropic-Version"))
		prompt := asked.System + asked.User
		for _, tag := range []string{"<intent_categories>", "<intent_catalog>", "<current_time>", "<latest>"} {
			require.Contains(t, prompt, tag)
		}
		require.Equal(t, 1, strings.Count(prompt, "</latest>"), "a message must not close its tag")
	})
}

// with returns settings with more of them.
func with(s settings, pairs ...string) settings {
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = pairs[i+1]
	}
	return s
}

func TestBudget(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.Always(providertest.Answer{Hang: true})
	s := newSystem(t, with(m.settings("llm"), "HINT_TIMEOUT_MS", "1500"))
	s.serve(1, 1)
	g := s.gateway()
	for _, row := range []struct {
		name           string
		budget, within time.Duration
		notBefore      time.Duration
	}{
		// A reply after the caller's budget is never read. within allows a busy
		// machine more than the configured timeout.
		{"the caller's is smaller", 400 * time.Millisecond, 400 * time.Millisecond, 200 * time.Millisecond},
		{"the configured one is smaller", 10 * time.Second, 2 * time.Second, time.Second},
		{"very small", 60 * time.Millisecond, 60 * time.Millisecond, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 2 { // five late answers would open the circuit breaker
				r := g.ask(turn{session: "s1", run: unique("r"), prompt: "Hello there.", budget: row.budget})
				require.Equal(t, "deadline", r.Header.Get("Hint-Skip"))
				require.Greater(t, r.took, row.notBefore)
				require.Less(t, r.took, row.within)
			}
		})
	}
}

func TestOverloaded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ mode, skip, source string }{
		{"llm", "overloaded", ""},
		{"hedged", "", "local"},
	} {
		t.Run(row.mode, func(t *testing.T) {
			m := newModel(t)
			m.Always(answered("OTHER", time.Second))
			s := newSystem(t, with(m.settings(row.mode), "HINT_MAX_INFLIGHT", "1"))
			s.serve(1, 1)
			g := s.gateway()
			slow := make(chan reply, 1)
			go func() {
				r, _ := g.try(turn{session: "s1", run: "r1", prompt: "Hello there."})
				slow <- r
			}()
			require.Eventually(t, func() bool { return m.Count() == 1 }, patient, tick)
			r := g.ask(turn{session: "s2", run: "r2", prompt: "Hello there."})
			require.Equal(t, row.skip, r.Header.Get("Hint-Skip"))
			require.Equal(t, row.source, r.Header.Get("Hint-Source"))
			require.Less(t, r.took, 900*time.Millisecond, "no request waits in a queue")
			first := <-slow
			require.NotNil(t, first.Msg)
			require.Equal(t, "llm", first.Header.Get("Hint-Source"))
			require.Equal(t, 1, m.Count())
		})
	}
}
