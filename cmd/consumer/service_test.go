package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/telemetry"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// system is a whole consumer in this process and a gateway that talks to it.
type system struct {
	t        *testing.T
	cfg      *config.Config
	bus      *bus.Bus
	gateway  *nats.Conn
	js       jetstream.JetStream
	log      *lockedBuffer
	stop     func() error
	sequence int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// settle gives the process an environment in which only the given settings are
// set, and reads it.
func settle(t testing.TB, settings map[string]string) *config.Config {
	t.Helper()
	for _, v := range config.Variables() {
		t.Setenv(v.Name, "")
	}
	t.Setenv("HINT_DATA_DIR", t.TempDir())
	t.Setenv("HINT_NATS_PORT", "-1")
	t.Setenv("HINT_HTTP_ADDR", "off")
	t.Setenv("HINT_USER_TIMEZONE", "Asia/Taipei")
	t.Setenv("HINT_TIMEOUT_MS", "60000") // how fast this machine is just now is no matter
	for k, v := range settings {
		t.Setenv(k, v)
	}
	cfg, _, err := config.Load()
	require.NoError(t, err)
	return cfg
}

// start runs a system with the given settings until the test ends.
func start(t *testing.T, settings map[string]string) *system {
	t.Helper()
	return startWith(t, settle(t, settings))
}

func startWith(t *testing.T, cfg *config.Config) *system {
	t.Helper()
	s := launch(t, cfg)
	nc, err := nats.Connect(s.bus.URL())
	require.NoError(t, err)
	s.as(nc)
	return s
}

// as makes a connection the gateway's.
func (s *system) as(nc *nats.Conn) {
	s.t.Helper()
	var err error
	s.gateway = nc
	s.js, err = jetstream.New(nc)
	require.NoError(s.t, err)
}

// launch starts a system without a gateway.
func launch(t *testing.T, cfg *config.Config) *system {
	t.Helper()
	s := &system{t: t, cfg: cfg, log: &lockedBuffer{}}
	level := new(slog.LevelVar)
	level.Set(slog.LevelDebug)
	log := telemetry.NewLogger(s.log, "json", level)
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan *bus.Bus, 1)
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cfg, log, level, func(b *bus.Bus) { ready <- b }) }()
	s.stop = sync.OnceValue(func() error {
		if s.gateway != nil {
			s.gateway.Close()
		}
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error("stop:", err)
		}
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
	select {
	case s.bus = <-ready:
	case err := <-ended:
		ended <- err
		require.NoError(t, err)
		t.Fatal("ended before it was ready")
	case <-time.After(time.Minute):
		t.Fatal("not ready in time")
	}
	return s
}

// ask sends a request with the caller's budget.
func (s *system) ask(env payload.Envelope, budget time.Duration) *nats.Msg {
	s.t.Helper()
	body, err := json.Marshal(env)
	require.NoError(s.t, err)
	return s.askRaw(env.Hook, body, budget)
}

func (s *system) askRaw(hook string, body []byte, budget time.Duration) *nats.Msg {
	s.t.Helper()
	msg := nats.NewMsg("openclaw.request." + subjects.Name(hook) + ".main")
	msg.Data = body
	msg.Header.Set(subjects.HeaderTimeoutMs, strconv.FormatInt(budget.Milliseconds(), 10))
	reply, err := s.gateway.RequestMsg(msg, budget+time.Minute)
	require.NoError(s.t, err)
	return reply
}

// tell publishes an event as a gateway does.
func (s *system) tell(env payload.Envelope) {
	s.t.Helper()
	body, err := json.Marshal(env)
	require.NoError(s.t, err)
	var ctx payload.Context
	require.NoError(s.t, json.Unmarshal(env.Ctx, &ctx))
	_, err = s.js.Publish(s.t.Context(), subjects.Prefix("openclaw").Event(env.Hook, ctx.AgentID, ctx.Session()), body, jetstream.WithMsgID(env.ID))
	require.NoError(s.t, err)
}

// prompt is a request for a direct chat.
func (s *system) prompt(session, run, text string) payload.Envelope {
	s.sequence++
	event, _ := json.Marshal(map[string]any{"prompt": text, "messages": []any{}})
	ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: "main", SessionID: session, SessionKey: "agent:main:telegram:direct:" + session, Trigger: "user"})
	return payload.Envelope{Hook: subjects.HookBeforePromptBuild, Event: event, Ctx: ctx, TS: 1763680000000 + int64(s.sequence), ID: fmt.Sprintf("q%d", s.sequence)}
}

// document reads a session file, nil when it is not there.
func (s *system) document(session string) map[string]any {
	data, err := os.ReadFile(filepath.Join(s.cfg.Store.SessionsDir, subjects.Name(session)+".json"))
	if err != nil {
		return nil
	}
	var out map[string]any
	require.NoError(s.t, json.Unmarshal(data, &out), "valid JSON at every moment")
	return out
}

func (s *system) eventually(what string, ok func() bool) {
	s.t.Helper()
	require.Eventually(s.t, ok, time.Minute, 5*time.Millisecond, what)
}

const hintAnswer = `{"intent":"CHAT (Small Talk)","reason":"It is a greeting.","goal":"Be greeted.","confidence":0.9,"complexity":"low","suggestion":""}`

// withModel starts a system that asks a scripted model.
func withModel(t *testing.T, settings map[string]string) (*system, *providertest.Server) {
	t.Helper()
	model := providertest.New(t)
	model.Always(providertest.Answer{Text: hintAnswer})
	all := map[string]string{
		"HINT_CLASSIFIER": "llm",
		"HINT_MODEL":      "mock/small",
		"HINT_PROVIDERS":  fmt.Sprintf(`{"mock":{"baseUrl":%q},"claude":{"baseUrl":%q,"api":"anthropic-messages"}}`, model.OpenAIURL(), model.AnthropicURL()),
	}
	maps.Copy(all, settings)
	return start(t, all), model
}

// captured replays a turn that a real gateway fired, with its session made a
// direct chat, and returns the session's id. Decisions become requests, the
// rest events; everything is timed by the capture.
func captured(s *system, file string) (session string, replies []*nats.Msg) {
	s.t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "openclaw", file))
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
			reply := s.ask(env, time.Minute)
			if env.Hook == subjects.HookBeforePromptBuild {
				replies = append(replies, reply)
			} else {
				require.Equal(s.t, "{}", string(reply.Data), env.Hook)
			}
		case subjects.Observation:
			s.tell(env)
		default:
			s.t.Fatal("not in the catalogue: ", env.Hook)
		}
	}
	require.NoError(s.t, lines.Err())
	return session, replies
}

func TestCapturedTurns(t *testing.T) {
	for _, row := range []struct {
		file, golden string
		hints        int
		done         string // stands in the document when all is applied
	}{
		{"turn-with-tool.jsonl", "turn-with-tool.json", 1, "Final answer: I handled the request"},
		{"turn-model-error-retry.jsonl", "turn-model-error-retry.json", 2, "Recovered after one 500."},
	} {
		t.Run(row.file, func(t *testing.T) {
			s, model := withModel(t, nil)
			session, replies := captured(s, row.file)
			require.Len(t, replies, row.hints)
			for _, r := range replies {
				require.Equal(t, string(replies[0].Data), string(r.Data), "a retry gets the first hint")
				require.Contains(t, string(r.Data), "<intention_hint_plugin>")
			}
			require.Equal(t, 1, model.Count())

			path := filepath.Join(s.cfg.Store.SessionsDir, session+".json")
			var data []byte
			s.eventually("the turn is complete", func() bool {
				data, _ = os.ReadFile(path)
				return bytes.Contains(data, []byte(row.done))
			})
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			// What differs from run to run: the time it took, and the ids that
			// the consumer itself gives to turn_begun.
			data = regexp.MustCompile(`"elapsedMs":[0-9.]+`).ReplaceAll(data, []byte(`"elapsedMs":0`))
			data = regexp.MustCompile(`"(id|eventId)":"[A-Za-z0-9]{22}"`).ReplaceAll(data, []byte(`"$1":"ours"`))
			var indented bytes.Buffer
			require.NoError(t, json.Indent(&indented, bytes.TrimSpace(data), "", "  "))
			golden := filepath.Join("testdata", row.golden)
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o750))
				require.NoError(t, os.WriteFile(golden, append(indented.Bytes(), '\n'), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), indented.String()+"\n")
		})
	}
}

func TestModelsThatMisbehave(t *testing.T) {
	slow := providertest.Answer{Text: hintAnswer, Delay: time.Hour}
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
		{"llm, good", nil, providertest.Answer{Text: hintAnswer}, "llm", "mock/small", ""},
		{"llm over the other API", map[string]string{"HINT_MODEL": "claude/small"}, providertest.Answer{Text: hintAnswer}, "llm", "claude/small", ""},
		{"llm, slow", nil, slow, "", "", "deadline"},
		{"llm, slow over the other API", map[string]string{"HINT_MODEL": "claude/small"}, slow, "", "", "deadline"},
		{"llm, garbage", nil, garbage, "", "", "classify_failed"},
		{"llm, failing", nil, failing, "", "", "classify_failed"},
		{"llm, no such provider", map[string]string{"HINT_MODEL": "nobody/small"}, garbage, "", "", "classify_failed"},
		{"llm, the fallback helps", map[string]string{"HINT_MODEL": "nobody/small", "HINT_MODEL_FALLBACK": "claude/big"}, providertest.Answer{Text: hintAnswer}, "llm", "claude/big", ""},
		{"hedged, good", map[string]string{"HINT_CLASSIFIER": "hedged"}, providertest.Answer{Text: hintAnswer}, "llm", "mock/small", ""},
		{"hedged, slow", map[string]string{"HINT_CLASSIFIER": "hedged"}, slow, "local", "", ""},
		{"hedged, garbage", map[string]string{"HINT_CLASSIFIER": "auto"}, garbage, "local", "", ""},
		{"hedged, failing", map[string]string{"HINT_CLASSIFIER": "hedged"}, failing, "local", "", ""},
		{"cascade, sure of itself", map[string]string{"HINT_CLASSIFIER": "cascade", "HINT_LOCAL_ACCEPT": "0"}, failing, "local", "", ""},
		{"cascade, not sure", map[string]string{"HINT_CLASSIFIER": "cascade", "HINT_LOCAL_ACCEPT": "1"}, providertest.Answer{Text: hintAnswer}, "llm", "mock/small", ""},
		{"llm, below the least confidence", map[string]string{"HINT_MIN_CONFIDENCE": "0.95"}, providertest.Answer{Text: hintAnswer}, "llm", "mock/small", "low_confidence"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, model := withModel(t, row.settings)
			model.Always(row.answer)
			budget := time.Minute
			if row.answer.Delay > 0 {
				budget = 700 * time.Millisecond
			}
			reply := s.ask(s.prompt("s1", "r1", "hello there, how are you?"), budget)
			require.Equal(t, row.skip, reply.Header.Get(subjects.HeaderSkip))
			require.Equal(t, row.source, reply.Header.Get(subjects.HeaderSource))
			require.Equal(t, row.model, reply.Header.Get(subjects.HeaderModel))
			require.Regexp(t, `^\d+\.\d{3}$`, reply.Header.Get(subjects.HeaderElapsedMs))
			require.Equal(t, row.skip == "", strings.Contains(string(reply.Data), "prependContext"))
			s.eventually("the turn is tracked all the same", func() bool { return s.document("s1") != nil })
		})
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t, nil)
	for _, row := range []struct{ name, body, fault string }{
		{"not JSON", `{`, "not valid JSON"},
		{"no hook", `{"event":{},"ctx":{}}`, "hook is missing"},
		{"a prompt that is a number", `{"hook":"before_prompt_build","event":{"prompt":5},"ctx":{}}`, "prompt"},
		{"a ctx field of the wrong type", `{"hook":"before_prompt_build","event":{"prompt":"x"},"ctx":{"sessionKey":[]}}`, "sessionKey"},
	} {
		t.Run(row.name, func(t *testing.T) {
			reply := s.askRaw(subjects.HookBeforePromptBuild, []byte(row.body), time.Minute)
			require.Equal(t, "400", reply.Header.Get(subjects.HeaderErrorCode))
			require.Contains(t, reply.Header.Get(subjects.HeaderError), row.fault)
			require.NotEmpty(t, reply.Header.Get(subjects.HeaderElapsedMs))
			require.Equal(t, "{}", string(reply.Data))
		})
	}
	reply := s.askRaw("before_install", []byte(`{"hook":"before_install","event":{},"ctx":{}}`), time.Minute)
	require.Equal(t, "{}", string(reply.Data))
	require.Empty(t, reply.Header.Get(subjects.HeaderErrorCode))
}

func TestSessionIdsOfAnyKind(t *testing.T) {
	s := start(t, nil)
	for _, id := range []string{"../../../escape", "nul\x00byte", strings.Repeat("長", 4000), ".", "a/b", "con", "*.>"} {
		env := s.prompt(id, "r-"+id[:1], "hello")
		require.Contains(t, string(s.ask(env, time.Minute).Data), "prependContext")
		s.eventually("tracked under its token", func() bool { return s.document(id) != nil })
		require.Equal(t, id, s.document(id)["sessionId"])
	}
	outside, err := filepath.Glob(filepath.Join(s.cfg.DataDir, "*escape*"))
	require.NoError(t, err)
	require.Empty(t, outside)
}

func TestTwoProcessesShareRunsAndSessions(t *testing.T) {
	a, model := withModel(t, nil)
	second := *a.cfg
	second.Bus.URLs = []string{a.bus.URL()}
	b := startWith(t, &second)

	model.Always(providertest.Answer{Text: hintAnswer, Delay: 200 * time.Millisecond})
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		sources = map[string]int{}
	)
	env := a.prompt("s1", "r1", "hello")
	body, err := json.Marshal(env)
	require.NoError(t, err)
	for range 20 {
		wg.Go(func() {
			reply, err := a.gateway.Request("openclaw.request.before_prompt_build.main", body, time.Minute)
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
	require.Equal(t, map[string]int{"llm": 1, "cache": 19}, sources)
	require.Equal(t, 1, model.Count())

	// Once the first process has gone, a third that starts knows the run too.
	require.NoError(t, b.stop())
	third := startWith(t, &second)
	for range 10 {
		require.Equal(t, "cache", third.ask(env, time.Minute).Header.Get(subjects.HeaderSource))
	}
	require.Equal(t, 1, model.Count())
	// The system that owns the server stops last.
	require.NoError(t, third.stop())
}

func TestStopAnswersWhatWasTaken(t *testing.T) {
	s, model := withModel(t, map[string]string{"HINT_CLASSIFIER": "llm"})
	model.Always(providertest.Answer{Text: hintAnswer, Delay: 300 * time.Millisecond})
	const n = 20
	replies := make(chan *nats.Msg, n)
	inbox := s.gateway.NewInbox()
	_, err := s.gateway.ChanSubscribe(inbox, replies)
	require.NoError(t, err)
	for i := range n {
		body, err := json.Marshal(s.prompt("s1", fmt.Sprint("r", i), fmt.Sprint("hello ", i)))
		require.NoError(t, err)
		require.NoError(t, s.gateway.PublishRequest("openclaw.request.before_prompt_build.main", inbox, body))
	}
	require.NoError(t, s.gateway.Flush())
	s.eventually("the model is being asked", func() bool { return model.Count() == n })
	gateway := s.gateway
	s.gateway = nil
	require.NoError(t, s.stop())
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
	s := start(t, nil)
	s.ask(s.prompt("s1", "r1", "my secret word is marmalade"), time.Minute)
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "marmalade") {
			require.Contains(t, line, `"level":"DEBUG"`)
		}
	}
	require.Contains(t, s.log.String(), "marmalade")
}
