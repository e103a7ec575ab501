package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/events"
	"intenthint/internal/golden"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
)

// captured replays a turn that a real gateway fired, with its session made a
// direct chat, and returns the session's id. Decisions become requests, the
// rest events; everything is timed by the capture.
func captured(s *system, file string) (session string, replies []*nats.Msg) {
	s.t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "openclaw", file))
	require.NoError(s.t, err)
	defer func() { _ = f.Close() }()
	key := regexp.MustCompile(`agent:main:(telegram:group:-\d+|web5b)`)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		var sample struct {
			payload.Envelope
			OffsetMs int64 `json:"offsetMs"`
		}
		require.NoError(s.t, json.Unmarshal(key.ReplaceAll(lines.Bytes(), []byte("agent:main:telegram:direct:555001")), &sample))
		env := sample.Envelope
		env.TS, env.ID = 1795215559000+sample.OffsetMs, fmt.Sprintf("%s-%d", file, n)
		var ctx payload.Context
		require.NoError(s.t, json.Unmarshal(env.Ctx, &ctx))
		if ctx.SessionID != "" {
			session = ctx.SessionID
		}
		switch subjects.KindOf(env.Hook) {
		case subjects.Decision:
			if env.Hook == subjects.HookBeforePromptBuild {
				replies = append(replies, s.Ask(env, time.Minute))
				continue
			}
			_, err := s.Gateway.Request(subjects.Prefix("openclaw").Request(env.Hook, "main"), []byte("{}"), time.Minute)
			require.ErrorIs(s.t, err, nats.ErrNoResponders, env.Hook)
		case subjects.Observation:
			s.Tell(env)
		default:
			s.t.Fatal("not in the catalogue: ", env.Hook)
		}
	}
	require.NoError(s.t, lines.Err())
	return session, replies
}

func TestCapturedTurns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		file, golden string
		hints        int
		done         string // stands in the document when all is applied
	}{
		{"turn-with-tool.jsonl", "turn-with-tool.json", 1, "Final answer: I handled the request"},
		{"turn-model-error-retry.jsonl", "turn-model-error-retry.json", 2, "Recovered after one 500."},
	} {
		t.Run(row.file, func(t *testing.T) {
			t.Parallel()
			s, model := withModel(t, nil)
			session, replies := captured(s, row.file)
			require.Len(t, replies, row.hints)
			for _, r := range replies {
				require.Equal(t, string(replies[0].Data), string(r.Data), "a retry gets the first hint")
				require.Contains(t, string(r.Data), "<intention_hint_plugin>")
			}
			require.Equal(t, 1, model.Count())

			path := filepath.Join(s.Config.Store.SessionsDir, session+".json")
			s.Eventually("the turn is complete", func() bool {
				data, _ := os.ReadFile(path)
				return bytes.Contains(data, []byte(row.done))
			})
			// What the agent's models took may come after the end of the run.
			s.Eventually("all events are applied", func() bool {
				place, err := events.Where(t.Context(), s.JS, app.Layout(s.Config))
				return err == nil && place.Applied == place.Last
			})
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			// What differs from run to run: the time it took, and the ids that
			// the consumer itself gives to turn_begun.
			data = regexp.MustCompile(`"elapsedMs":[0-9.]+`).ReplaceAll(data, []byte(`"elapsedMs":0`))
			data = regexp.MustCompile(`"(id|eventId)":"[A-Za-z0-9]{22}"`).ReplaceAll(data, []byte(`"$1":"ours"`))
			var indented bytes.Buffer
			require.NoError(t, json.Indent(&indented, bytes.TrimSpace(data), "", "  "))
			golden.Equal(t, row.golden, indented.String()+"\n")
		})
	}
}

func TestModelsThatMisbehave(t *testing.T) {
	t.Parallel()
	slow := providertest.Answer{Text: apptest.HintAnswer, Delay: time.Hour}
	garbage := providertest.Answer{Text: "I would say CHAT."}
	failing := providertest.Answer{Status: 500, Message: "upstream"}
	for _, row := range []struct {
		name     string
		settings map[string]string
		answer   providertest.Answer
		source   string
		model    string
		skip     string
	}{
		{"llm, good", nil, providertest.Answer{Text: apptest.HintAnswer}, "llm", "mock/small", ""},
		{"llm over the other API", map[string]string{"HINT_MODEL": "claude/small"}, providertest.Answer{Text: apptest.HintAnswer}, "llm", "claude/small", ""},
		{"llm, slow", nil, slow, "", "", "deadline"},
		{"llm, slow over the other API", map[string]string{"HINT_MODEL": "claude/small"}, slow, "", "", "deadline"},
		{"llm, garbage", nil, garbage, "", "", "classify_failed"},
		{"llm, failing", nil, failing, "", "", "classify_failed"},
		{"llm, no such provider", map[string]string{"HINT_MODEL": "nobody/small"}, garbage, "", "", "classify_failed"},
		{"llm, the fallback helps", map[string]string{"HINT_MODEL": "nobody/small", "HINT_MODEL_FALLBACK": "claude/big"}, providertest.Answer{Text: apptest.HintAnswer}, "llm", "claude/big", ""},
		{"hedged, good", map[string]string{"HINT_CLASSIFIER": "hedged"}, providertest.Answer{Text: apptest.HintAnswer}, "llm", "mock/small", ""},
		{"hedged, slow", map[string]string{"HINT_CLASSIFIER": "hedged"}, slow, "local", "", ""},
		{"hedged, garbage", map[string]string{"HINT_CLASSIFIER": "auto"}, garbage, "local", "", ""},
		{"hedged, failing", map[string]string{"HINT_CLASSIFIER": "hedged"}, failing, "local", "", ""},
		{"cascade, sure of itself", map[string]string{"HINT_CLASSIFIER": "cascade", "HINT_LOCAL_ACCEPT": "0"}, failing, "local", "", ""},
		{"cascade, not sure", map[string]string{"HINT_CLASSIFIER": "cascade", "HINT_LOCAL_ACCEPT": "1"}, providertest.Answer{Text: apptest.HintAnswer}, "llm", "mock/small", ""},
		{"llm, below the least confidence", map[string]string{"HINT_MIN_CONFIDENCE": "0.95"}, providertest.Answer{Text: apptest.HintAnswer}, "llm", "mock/small", "low_confidence"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, model := withModel(t, row.settings)
			model.Always(row.answer)
			budget := time.Minute
			switch {
			case row.skip == "deadline":
				budget = 700 * time.Millisecond
			case row.answer.Delay > 0:
				// The local answer has a fiftieth of it: enough on a busy machine.
				budget = 5 * time.Second
			}
			reply := s.Ask(s.Prompt("s1", "r1", "hello there, how are you?"), budget)
			require.Equal(t, row.skip, reply.Header.Get(subjects.HeaderSkip))
			require.Equal(t, row.source, reply.Header.Get(subjects.HeaderSource))
			require.Equal(t, row.model, reply.Header.Get(subjects.HeaderModel))
			require.Regexp(t, `^\d+\.\d{3}$`, reply.Header.Get(subjects.HeaderElapsedMs))
			require.Equal(t, row.skip == "", strings.Contains(string(reply.Data), "prependContext"))
			s.Eventually("the turn is tracked all the same", func() bool { return s.Document("s1") != nil })
		})
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, row := range []struct{ name, body, fault string }{
		{"not JSON", `{`, "not valid JSON"},
		{"no hook", `{"event":{},"ctx":{}}`, "hook is missing"},
		{"a prompt that is a number", `{"hook":"before_prompt_build","event":{"prompt":5},"ctx":{}}`, "prompt"},
		{"a ctx field of the wrong type", `{"hook":"before_prompt_build","event":{"prompt":"x"},"ctx":{"sessionKey":[]}}`, "sessionKey"},
	} {
		t.Run(row.name, func(t *testing.T) {
			reply := s.AskRaw(subjects.HookBeforePromptBuild, []byte(row.body), time.Minute)
			require.Equal(t, "400", reply.Header.Get(subjects.HeaderErrorCode))
			require.Contains(t, reply.Header.Get(subjects.HeaderError), row.fault)
			require.NotEmpty(t, reply.Header.Get(subjects.HeaderElapsedMs))
			require.Equal(t, "{}", string(reply.Data))
		})
	}
	// The body names another hook than the subject.
	reply := s.AskRaw(subjects.HookBeforePromptBuild, []byte(`{"hook":"before_install","event":{},"ctx":{}}`), time.Minute)
	require.Equal(t, "{}", string(reply.Data))
	require.Empty(t, reply.Header.Get(subjects.HeaderErrorCode))
	require.NotEmpty(t, reply.Header.Get(subjects.HeaderElapsedMs))
}

func TestSessionIdsOfAnyKind(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, id := range []string{"../../../escape", "nul\x00byte", strings.Repeat("長", 4000), ".", "a/b", "con", "*.>"} {
		env := s.Prompt(id, "r-"+id[:1], "hello")
		require.Contains(t, string(s.Ask(env, time.Minute).Data), "prependContext")
		s.Eventually("tracked under its token", func() bool { return s.Document(id) != nil })
		require.Equal(t, id, s.Document(id)["sessionId"])
	}
	outside, err := filepath.Glob(filepath.Join(s.Config.DataDir, "*escape*"))
	require.NoError(t, err)
	require.Empty(t, outside)
}

func TestTwoProcessesShareRunsAndSessions(t *testing.T) {
	t.Parallel()
	a, model := withModel(t, nil)
	second := *a.Config
	second.Bus.URLs = []string{a.Bus.URL()}
	b := startWith(t, &second)

	model.Always(providertest.Answer{Text: apptest.HintAnswer, Delay: 200 * time.Millisecond})
	// ask sends a run's request twenty times at once and counts the answers by source.
	ask := func(env payload.Envelope) map[string]int {
		body, err := json.Marshal(env)
		require.NoError(t, err)
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			sources = map[string]int{}
		)
		for range 20 {
			wg.Go(func() {
				reply, err := a.Gateway.Request("openclaw.request.before_prompt_build.main", body, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				sources[reply.Header.Get(subjects.HeaderSource)]++
			})
		}
		wg.Wait()
		return sources
	}
	// On a busy machine the bucket of claims may answer too late; then both processes
	// may ask the model, and another run shows the rule.
	late := func() int { return strings.Count(a.Log.String()+b.Log.String(), `"msg":"claim failed"`) }
	var env payload.Envelope
	for run := 1; ; run++ {
		before, calls := late(), model.Count()
		env = a.Prompt("s1", fmt.Sprint("r", run), "hello")
		sources := ask(env)
		if late() > before && run < 50 {
			continue
		}
		require.Equal(t, map[string]int{"llm": 1, "cache": 19}, sources)
		require.Equal(t, calls+1, model.Count())
		break
	}
	calls := model.Count()

	// Once the first process has gone, a third that starts knows the run too.
	require.NoError(t, b.Stop())
	third := startWith(t, &second)
	for range 10 {
		require.Equal(t, "cache", third.Ask(env, time.Minute).Header.Get(subjects.HeaderSource))
	}
	require.Equal(t, calls, model.Count())
	// The system that owns the server stops last.
	require.NoError(t, third.Stop())
}

func TestStopAnswersWhatWasTaken(t *testing.T) {
	t.Parallel()
	s, model := withModel(t, map[string]string{"HINT_CLASSIFIER": "llm"})
	model.Always(providertest.Answer{Text: apptest.HintAnswer, Delay: 300 * time.Millisecond})
	const n = 20
	replies := make(chan *nats.Msg, n)
	inbox := s.Gateway.NewInbox()
	_, err := s.Gateway.ChanSubscribe(inbox, replies)
	require.NoError(t, err)
	for i := range n {
		body, err := json.Marshal(s.Prompt("s1", fmt.Sprint("r", i), fmt.Sprint("hello ", i)))
		require.NoError(t, err)
		require.NoError(t, s.Gateway.PublishRequest("openclaw.request.before_prompt_build.main", inbox, body))
	}
	require.NoError(t, s.Gateway.Flush())
	s.Eventually("the model is being asked", func() bool { return model.Count() == n })
	gateway := s.Gateway
	s.Gateway = nil
	require.NoError(t, s.Stop())
	for range n {
		select {
		case r := <-replies:
			require.Contains(t, string(r.Data), "prependContext")
		case <-time.After(time.Minute):
			t.Fatal("a request that was taken was not answered")
		}
	}
	gateway.Close()
}

func TestNothingOfTheUserIsLoggedAboveDebug(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Ask(s.Prompt("s1", "r1", "my secret word is marmalade"), time.Minute)
	for line := range strings.Lines(s.Log.String()) {
		if strings.Contains(line, "marmalade") {
			require.Contains(t, line, `"level":"DEBUG"`)
		}
	}
	require.Contains(t, s.Log.String(), "marmalade")
}
