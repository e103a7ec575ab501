package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/model/provider/providertest"
)

// told is a gateway that tells whole sessions to processes on one server, and what they
// ask the model.
type told struct {
	t     *testing.T
	ns    *server.Server
	js    jetstream.JetStream
	model *providertest.Server
	turns int
}

func telling(t *testing.T) *told {
	t.Helper()
	ns := natstest.Start(t, nil)
	g := &told{t: t, ns: ns, js: natstest.JetStream(t, ns), model: providertest.New(t)}
	g.model.Always(providertest.Answer{Text: `{"experiences": []}`})
	return g
}

// settings are those of a process; more is the rest of HINT_KNOWHUB.
func (g *told) settings(more string) map[string]string {
	return map[string]string{
		"HINT_NATS_URL": g.ns.ClientURL(), "HINT_STORE": "kv",
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock": {"baseUrl": %q, "api": "openai-completions"}}`, g.model.OpenAIURL()),
		"HINT_KNOWHUB":   `{"listen": "127.0.0.1:0", "model": "mock/small", ` + more + `}`,
	}
}

const (
	extracting = `"enabled": true, "enableServerExtraction": true`
	resting    = `"enabled": true`
	closed     = `"enabled": false`
)

// says tells n turns, each with the whole session.
func (g *told) says(n int) {
	g.t.Helper()
	for range n {
		g.turns++
		var messages []map[string]string
		for i := 1; i <= g.turns; i++ {
			messages = append(messages,
				map[string]string{"role": "user", "content": fmt.Sprintf("Please repair part-%d of the shop today.", i)},
				map[string]string{"role": "assistant", "content": "I repaired it, and its test passes now."})
		}
		body, err := json.Marshal(map[string]any{
			"hook": "agent_end", "ts": 1763680000123 + g.turns, "id": fmt.Sprintf("e%d", g.turns),
			"ctx":   map[string]string{"agentId": "main", "sessionId": "s1", "sessionKey": "agent:main:main", "trigger": "user"},
			"event": map[string]any{"success": true, "messages": messages},
		})
		require.NoError(g.t, err)
		_, err = g.js.Publish(g.t.Context(), "openclaw.event.agent_end.main.s1", body)
		require.NoError(g.t, err)
	}
}

var partNames = regexp.MustCompile(`part-\d+`)

// asked returns the turns that the model was asked about, each as often as it was.
func (g *told) asked() (out []string) {
	for _, r := range g.model.Requests() {
		out = append(out, partNames.FindAllString(r.User, -1)...)
	}
	slices.Sort(out)
	return out
}

// settled waits until the durable of extraction has taken all events.
func (g *told) settled(s *apptest.System) {
	g.t.Helper()
	s.Eventually("all events are taken", func() bool {
		stream, err := g.js.Stream(g.t.Context(), s.Config.Bus.Stream)
		if err != nil {
			return false
		}
		info, err := stream.Info(g.t.Context())
		require.NoError(g.t, err)
		c, err := stream.Consumer(g.t.Context(), knowhub.Durable(app.Layout(s.Config), "agent_end").Name)
		if err != nil {
			return false
		}
		now := c.CachedInfo()
		return now.NumPending == 0 && now.NumAckPending == 0 && info.State.LastSeq > 0
	})
}

// asks waits until all events are taken, and the model was asked about these turns, each
// once. A server may count an event as stored before it counts it as waiting.
func (g *told) asks(s *apptest.System, turns ...string) {
	g.t.Helper()
	s.Eventually("the model is asked about "+strings.Join(turns, ", "), func() bool {
		g.settled(s)
		return slices.Equal(turns, g.asked())
	})
}

// waits waits until the processes have seen a setting.
func (g *told) waits(times int, text string, systems ...*apptest.System) {
	g.t.Helper()
	for _, s := range systems {
		s.Eventually(text, func() bool { return strings.Count(s.Log.String(), text) >= times })
	}
}

const (
	switchedOn  = `"msg":"extracting experiences"`
	switchedOff = `"msg":"no longer extracting experiences"`
)

// Extraction that is switched on by a restart begins with what comes after it, also
// where an earlier time of it left a durable, and KnowHub was off as a whole meanwhile.
func TestExtractionSwitchedByARestart(t *testing.T) {
	t.Parallel()
	for _, between := range []struct{ name, settings string }{{"extraction off", resting}, {"KnowHub off", closed}} {
		t.Run(between.name, func(t *testing.T) {
			t.Parallel()
			g := telling(t)
			run := func(more string) *apptest.System { return apptest.Start(t, g.settings(more)) }
			s := run(resting)
			g.says(5)
			require.NoError(t, s.Stop())
			g.says(1) // while no process runs
			s = run(extracting)
			g.says(2)
			g.asks(s, "part-7", "part-8")
			require.NoError(t, s.Stop())
			g.says(1) // while no process runs, and it is on
			s = run(extracting)
			g.asks(s, "part-7", "part-8", "part-9")
			require.NoError(t, s.Stop())

			s = run(between.settings)
			if between.settings == closed {
				s.Eventually("it is noted", func() bool {
					kv, err := g.js.KeyValue(t.Context(), "OPENCLAW_EVENTS_KNOWHUB_TURNS")
					require.NoError(t, err)
					e, err := kv.Get(t.Context(), "extraction.on")
					return err == nil && string(e.Value()) == `{"on":false}`
				})
			}
			g.says(5)
			require.NoError(t, s.Stop())
			g.says(1)
			s = run(extracting)
			g.says(1)
			g.asks(s, "part-16", "part-7", "part-8", "part-9")
		})
	}
}

// Processes follow their configuration file: on, off, and on again. What one of them
// takes, no other does.
func TestExtractionSwitchedByAReload(t *testing.T) {
	t.Parallel()
	g := telling(t)
	file := filepath.Join(t.TempDir(), "config.json5")
	replace := func(more string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file+".new", []byte(`{knowhub: {listen: "127.0.0.1:0", model: "mock/small", `+more+`}}`), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	replace(resting)
	var fleet []*apptest.System
	for range 3 {
		set := g.settings("")
		delete(set, "HINT_KNOWHUB")
		set["HINT_CONFIG"] = file
		fleet = append(fleet, apptest.Start(t, set))
	}
	g.says(5)
	replace(extracting)
	g.waits(1, switchedOn, fleet...)
	g.says(4)
	g.asks(fleet[0], "part-6", "part-7", "part-8", "part-9")

	replace(resting)
	g.waits(1, switchedOff, fleet...)
	g.says(5)
	require.Len(t, g.asked(), 4)
	replace(extracting)
	g.waits(2, switchedOn, fleet...)
	g.says(2)
	g.asks(fleet[0], "part-15", "part-16", "part-6", "part-7", "part-8", "part-9")
	for _, s := range fleet {
		require.NotContains(t, s.Log.String(), "needs a restart")
	}
}

// In a fleet that is restarted one by one, extraction is on since the first of them.
func TestExtractionInAFleetThatIsRestarted(t *testing.T) {
	t.Parallel()
	g := telling(t)
	run := func(more string) *apptest.System { return apptest.Start(t, g.settings(more)) }
	a, b := run(resting), run(resting)
	g.says(3)
	require.NoError(t, a.Stop())
	a = run(extracting)
	g.says(2)
	require.NoError(t, b.Stop())
	b = run(extracting)
	g.says(1)
	g.asks(b, "part-4", "part-5", "part-6")
	require.NoError(t, a.Stop())
}
