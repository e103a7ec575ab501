//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

func TestEmbeddingModel(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.Vectors(providertest.NGrams(map[string]string{"quassel": "rain"}))
	s := newSystem(t, settings{"HINT_EMBEDDING_MODEL": "mock/embed", "HINT_PROVIDERS": m.providers()})
	dir := filepath.Join(s.dir, "intents")
	s.env["HINT_INTENTS_DIR"] = dir
	for id, examples := range map[string][]string{
		"WEATHER": {"will it rain tomorrow", "how hot is it outside", "is there snow in the mountains", "weather forecast for sunday"},
		"MONEY":   {"pay my electricity bill", "transfer cash to my savings account", "what is my bank balance", "send fifty dollars to anna"},
	} {
		write(t, filepath.Join(dir, id+".md"), fmt.Sprintf("---\nid: %s\ntriggers: [%s]\nexamples:\n  - %s\n---\nPrompt of %s.\n", id, id, strings.Join(examples, "\n  - "), id))
	}
	p := s.serve(1, 1)[0]
	const ready = "embedding model in use"
	p.logs(ready)
	texts := m.Count()
	require.Positive(t, texts)
	g := s.gateway()
	ask := func(prompt string) (reply, string) {
		r := g.ask(turn{session: unique("s"), run: unique("r"), prompt: prompt})
		require.Empty(t, r.Header.Get("Hint-Skip"))
		return r, r.Header.Get("Hint-Source")
	}

	// No text of the intents has the second word, and the first suggests the
	// other intent. The embedding model knows a synonym.
	r, source := ask("my quassel")
	require.Equal(t, "embedding", source)
	require.Equal(t, "mock/embed", r.Header.Get("Hint-Model"))
	require.Equal(t, "WEATHER", r.Header.Get("Hint-Intent"))
	require.Contains(t, r.hint, "Prompt of WEATHER.")

	down := time.Now()
	m.Always(providertest.Answer{Status: http.StatusServiceUnavailable, Message: "down", Header: http.Header{"Retry-After": {"2"}}})
	calls := m.Count()
	for i := range 5 {
		r, source := ask(fmt.Sprint("will it rain tomorrow at ", i))
		require.Equal(t, "local", source)
		require.NotContains(t, r.Header, "Hint-Model")
		require.Equal(t, "WEATHER", r.Header.Get("Hint-Intent"))
	}
	if time.Since(down) < time.Second {
		require.Equal(t, 1, m.Count()-calls, "no call before Retry-After is over")
	}
	_, source = ask("my quassel")
	require.Equal(t, "embedding", source, "a recent embedding is cached")

	m.Always(providertest.Answer{})
	again := 0
	require.Eventually(t, func() bool {
		again++
		_, source := ask(fmt.Sprint("will it rain on day ", again))
		return source == "embedding"
	}, patient, 10*tick, "it is asked again")

	// A restart reads the vectors of the first process.
	p.stop()
	calls = m.Count()
	p = s.serve(1, 1)[0]
	p.logs(ready)
	require.Equal(t, calls, m.Count())
	p.stop()
	require.Equal(t, 0, strings.Count(p.stderr.String(), "fetching vectors"))
}

func TestInvalidEmbeddingModelStopsTheStart(t *testing.T) {
	t.Parallel()
	r := newSystem(t, settings{"HINT_EMBEDDING_MODEL": "small"}).run()
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, `HINT_EMBEDDING_MODEL="small": must be builtin, off or provider/model`)
}
