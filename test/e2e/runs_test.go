//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

// continued is the prompt with which a gateway retries a run.
const continued = "Continue the current task from the existing transcript, preserving completed work."

func TestRunHasTheSameAnswerFromEveryProcess(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	processes := s.serve(3, 3)
	g := s.gateway()
	const prompt = "What did we talk about last week?"
	first := g.ask(turn{session: "s1", run: "r1", prompt: prompt})
	require.NotEmpty(t, first.hint)
	require.Equal(t, "local", first.Header.Get("Hint-Source"))
	same := func(what string) {
		t.Helper()
		r := g.ask(turn{session: "s1", run: "r1", prompt: continued})
		require.Equal(t, "cache", r.Header.Get("Hint-Source"), what)
		require.Equal(t, string(first.Data), string(r.Data), what)
		require.Equal(t, first.Header.Get("Hint-Intent"), r.Header.Get("Hint-Intent"), what)
		require.Equal(t, first.Header.Get("Hint-Confidence"), r.Header.Get("Hint-Confidence"), what)
	}
	for i := range 20 {
		same(fmt.Sprintf("retry %d", i))
	}
	s.showsRun("s1", "r1", visible())

	t.Run("a process that joined later", func(t *testing.T) {
		late := s.serve(1, 4)[0]
		for _, p := range processes[1:] {
			if p.logged("joined") {
				p.stop()
			}
		}
		for i := range 20 {
			same(fmt.Sprintf("retry %d", i))
		}
		require.False(t, late.ended())
	})
	t.Run("after a restart of all processes", func(t *testing.T) {
		s.again()
		require.Eventually(t, g.nc.IsConnected, patient, tick)
		for i := range 20 {
			same(fmt.Sprintf("retry %d", i))
		}
		g.drained()
		d, _ := s.document("s1")
		require.Empty(t, d.History, "a retry must not begin a turn")
		require.Equal(t, prompt, d.Current.Input)
	})
	t.Run("another run of the session is classified", func(t *testing.T) {
		r := g.ask(turn{session: "s1", run: "r2", prompt: "Hello there."})
		require.Equal(t, "local", r.Header.Get("Hint-Source"))
	})
}

// again stops every process of the system and starts three new ones.
func (s *system) again() {
	s.t.Helper()
	before := s.running()
	for _, p := range before {
		p.terminate()
	}
	for _, p := range before {
		require.Zero(s.t, p.wait(patient))
	}
	s.serve(3, 3)
}

// A gateway retries after a pause, but nothing may depend on its length: the
// other processes know the answer before the gateway does.
func TestImmediateRetry(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(3, 3)
	g := s.gateway()
	for i := range 300 {
		tr := turn{session: fmt.Sprintf("s%d", i%10), run: fmt.Sprintf("r%d", i), prompt: "What did we talk about last week?"}
		first := g.ask(tr)
		tr.prompt = continued
		r := g.ask(tr)
		require.Equal(t, "cache", r.Header.Get("Hint-Source"), "run %d", i)
		require.Equal(t, string(first.Data), string(r.Data), "run %d", i)
	}
	g.drained()
	for i := range 10 {
		d, there := s.document(fmt.Sprintf("s%d", i))
		require.True(t, there)
		require.Len(t, d.History, 29)
		for _, turn := range append(d.History, *d.Current) {
			require.Equal(t, "What did we talk about last week?", turn.Input, turn.RunID)
		}
	}
}

func TestOneModelCallForOneRun(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.Always(answered("OTHER", 300*time.Millisecond))
	s := newSystem(t, m.settings("llm"))
	s.serve(3, 3)
	g := s.gateway()
	for range 5 {
		askOneRunAtOnce(t, g, m)
	}

	t.Run("none for a retry after a restart of all processes", func(t *testing.T) {
		tr := turn{session: "s1", run: "r1", prompt: "Hello there."}
		first := g.ask(tr)
		require.Equal(t, "llm", first.Header.Get("Hint-Source"))
		s.showsRun("s1", "r1", visible())
		s.again()
		require.Eventually(t, g.nc.IsConnected, patient, tick)
		before := m.Count()
		tr.prompt = continued
		for range 10 {
			r := g.ask(tr)
			require.Equal(t, "cache", r.Header.Get("Hint-Source"))
			require.Equal(t, "mock/first", r.Header.Get("Hint-Model"))
			require.Equal(t, string(first.Data), string(r.Data))
		}
		require.Equal(t, before, m.Count())
	})
}

func TestFailureIsClassifiedAgain(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	s := newSystem(t, m.settings("llm"))
	s.serve(3, 3)
	g := s.gateway()
	for i := range 10 {
		session := fmt.Sprintf("s%d", i)
		m.Always(providertest.Answer{Text: "I would rather not say."})
		r := g.ask(turn{session: session, run: "r", prompt: "What did we talk about last week?"})
		require.Equal(t, "classify_failed", r.Header.Get("Hint-Skip"))
		require.JSONEq(t, `{}`, string(r.Data))

		m.Always(answered("OTHER", 0))
		r = g.ask(turn{session: session, run: "r", prompt: continued})
		require.Equal(t, "llm", r.Header.Get("Hint-Source"), "%v", r.Header)
		require.NotEmpty(t, r.hint)
		// Every process asks the model about the first prompt.
		asked := m.Requests()[m.Count()-1]
		require.Contains(t, asked.User+asked.System, "What did we talk about last week?")
		require.NotContains(t, asked.User+asked.System, continued)

		d := s.shows(session, patient, "the result", func(d document) bool {
			return d.Current.Intent != nil && d.Current.Intent.Result != nil
		})
		require.Equal(t, "What did we talk about last week?", d.Current.Input)
		require.Empty(t, d.History)
	}
}

func TestLowConfidenceIsRepeated(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.Always(answered("OTHER", 0))
	s := newSystem(t, m.settings("llm"), settings{"HINT_MIN_CONFIDENCE": "0.9"})
	s.serve(2, 2)
	g := s.gateway()
	for i := range 10 {
		r := g.ask(turn{session: "s1", run: "r1", prompt: "Hello there."})
		require.Equal(t, "low_confidence", r.Header.Get("Hint-Skip"), "%d", i)
		require.JSONEq(t, `{}`, string(r.Data))
	}
	require.Equal(t, 1, m.Count())
	s.showsRun("s1", "r1", visible())
}
