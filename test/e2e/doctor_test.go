//go:build e2e

package e2e

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
)

func TestHealthCommand(t *testing.T) {
	t.Parallel()
	t.Run("at a chosen address", func(t *testing.T) {
		s := newSystem(t, settings{"HINT_HTTP_ADDR": "127.0.0.1:" + strconv.Itoa(porttest.Free(t))})
		r := s.run("health")
		require.Equal(t, 1, r.code, "nobody answers")
		require.Equal(t, 1, strings.Count(r.stdout, "\n"), r.stdout)
		p := s.serve(1, 1)[0]
		for _, args := range [][]string{{"health"}, {"health", "--ready"}, {"health", "--url", "http://" + s.env["HINT_HTTP_ADDR"]}} {
			r := s.run(args...)
			require.Zero(t, r.code, r.stdout)
			require.True(t, strings.HasPrefix(r.stdout, "ok http://"), r.stdout)
		}
		p.stop()
		require.Equal(t, 1, s.run("health", "--ready").code)
	})
	t.Run("the default address is taken", func(t *testing.T) {
		if l, err := net.Listen("tcp", "127.0.0.1:8377"); err == nil { //nolint:noctx // a test's own
			defer l.Close() //nolint:errcheck // a test's own
		}
		s := newSystem(t, settings{"HINT_HTTP_ADDR": ""})
		p := s.serve(1, 1)[0]
		p.logs("HTTP address in use, using a free port")
		r := s.run("health")
		require.Zero(t, r.code, r.stdout)
		require.NotContains(t, r.stdout, ":8377")
		p.kill()
		require.Equal(t, 1, s.run("health").code, "the file that it has left tells of nobody")
	})
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_HTTP_ADDR": "127.0.0.1:" + strconv.Itoa(porttest.Free(t))})
	r := s.run("doctor")
	require.Zero(t, r.code, r.stdout)
	require.False(t, exists(t, s.env["HINT_DATA_DIR"]), "nothing is created")

	p := s.serve(1, 1)[0]
	r = s.run("doctor", "--json")
	require.Zero(t, r.code, r.stdout)
	var findings []struct{ Status, What, Advice string }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &findings), r.stdout)
	for _, f := range findings {
		require.Equal(t, "ok", f.Status, f)
	}
	r = s.run("doctor")
	require.Equal(t, len(findings), strings.Count(r.stdout, "\n"), r.stdout)
	require.Contains(t, r.stdout, "consumers are running")
	g := s.gateway()
	g.ask(turn{session: "s", run: "r", prompt: "Hello there."})
	s.showsRun("s", "r", visible())

	away := s.beside(settings{"HINT_NATS_URL": "nats://someone:secret@127.0.0.1:" + strconv.Itoa(porttest.Free(t)), "HINT_MODEL": "openai/gpt", "OPENAI_API_KEY": ""})
	r = away.run("doctor")
	require.Equal(t, 1, r.code, r.stdout)
	require.Regexp(t, `(?m)^fail  NATS: .* — start the server`, r.stdout)
	require.Regexp(t, `(?m)^fail  HINT_MODEL openai/gpt: .*OPENAI_API_KEY.* — `, r.stdout)
	require.NotContains(t, r.stdout+r.stderr, "secret")
	p.stop()
}
