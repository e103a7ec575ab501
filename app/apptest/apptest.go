// Package apptest runs a whole consumer, and a gateway that talks to it, inside
// a test.
package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/config"
	"intenthint/internal/access"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/telemetry"
	"intenthint/model/provider/providertest"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
)

// System is a whole consumer in this process and a gateway that talks to it.
type System struct {
	t        *testing.T
	Config   *config.Config
	Bus      *bus.Bus
	Gateway  *nats.Conn
	JS       jetstream.JetStream
	Log      *Buffer
	Stop     func() error
	Sequence int
}

// Buffer is a log that may be read while it is written.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written so far.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Settings returns the variables of a small system on ports of its own. The
// variables in more are added or override others. parts are those in addition to the
// program's own, here and below.
func Settings(t testing.TB, more map[string]string, parts ...part.Part) map[string]string {
	t.Helper()
	all := map[string]string{
		"HINT_DATA_DIR":        t.TempDir(),
		"HINT_NATS_PORT":       "-1",
		"HINT_HTTP_ADDR":       "off",
		"HINT_AUTH":            "off",    // the tests of it say so
		"HINT_EMBEDDING_MODEL": "off",    // training for it takes seconds
		"HINT_REPEAT":          "always", // most tests ask for hints in one session
		"HINT_USER_TIMEZONE":   "Asia/Taipei",
		"HINT_TIMEOUT_MS":      "60000", // the machine may be slow
	}
	maps.Copy(all, more)
	for name := range all {
		require.True(t, slices.ContainsFunc(config.Variables(app.Objects(parts...)...), func(v config.Variable) bool { return v.Name == name }), name)
	}
	return all
}

// Settle returns the configuration for settings. The environment is neither
// read nor changed.
func Settle(t testing.TB, settings map[string]string, parts ...part.Part) *config.Config {
	t.Helper()
	cfg, _, err := config.LoadFrom(Settings(t, settings, parts...), app.Objects(parts...)...)
	require.NoError(t, err)
	return cfg
}

// Start runs a system with the given settings until the test ends.
func Start(t *testing.T, settings map[string]string) *System {
	t.Helper()
	return StartWith(t, Settle(t, settings))
}

// StartWith is Start with a configuration.
func StartWith(t *testing.T, cfg *config.Config, parts ...part.Part) *System {
	t.Helper()
	s := Launch(t, cfg, parts...)
	nc, err := nats.Connect(s.Bus.URL(), s.as(access.Consumer)) // tests look at more than a gateway may
	require.NoError(t, err)
	s.As(nc)
	return s
}

// as returns the option to connect as a user that the server has made; it has none
// without authentication.
func (s *System) as(user string) nats.Option {
	if s.Config.Auth == config.AuthOff || len(s.Config.Bus.URLs) > 0 {
		return nats.Name("gateway")
	}
	c, err := access.ReadContext(s.Config.DataDir, user)
	require.NoError(s.t, err)
	return nats.UserInfo(c.User, c.Password)
}

// As makes nc the gateway's connection.
func (s *System) As(nc *nats.Conn) {
	s.t.Helper()
	var err error
	s.Gateway = nc
	s.JS, err = jetstream.New(nc)
	require.NoError(s.t, err)
}

// Launch starts a system without a gateway.
func Launch(t *testing.T, cfg *config.Config, parts ...part.Part) *System {
	t.Helper()
	s := &System{t: t, Config: cfg, Log: &Buffer{}}
	level := new(slog.LevelVar)
	level.Set(slog.LevelDebug)
	log := telemetry.NewLogger(s.Log, "json", level)
	ctx, cancel := context.WithCancel(context.Background())
	a := app.New(cfg, app.Options{Version: "0.0.0", Log: log, Level: level, LostCheck: 250 * time.Millisecond, Parts: parts})
	s.Stop = sync.OnceValue(func() error {
		if s.Gateway != nil {
			s.Gateway.Close()
		}
		cancel()
		return a.Stop()
	})
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error("stop:", err)
		}
		if t.Failed() {
			t.Log(s.Log.String())
		}
	})
	require.NoError(t, a.Start(ctx))
	s.Bus = a.Bus()
	return s
}

// Ask sends a request with the caller's budget.
func (s *System) Ask(env payload.Envelope, budget time.Duration) *nats.Msg {
	s.t.Helper()
	body, err := json.Marshal(env)
	require.NoError(s.t, err)
	return s.AskRaw(env.Hook, body, budget)
}

// AskRaw sends a request with any body.
func (s *System) AskRaw(hook string, body []byte, budget time.Duration) *nats.Msg {
	s.t.Helper()
	msg := nats.NewMsg("openclaw.request." + subjects.Name(hook) + ".main")
	msg.Data = body
	msg.Header.Set(subjects.HeaderTimeoutMs, strconv.FormatInt(budget.Milliseconds(), 10))
	reply, err := s.Gateway.RequestMsg(msg, budget+time.Minute)
	require.NoError(s.t, err)
	return reply
}

// Tell publishes an event as a gateway does.
func (s *System) Tell(env payload.Envelope) {
	s.t.Helper()
	body, err := json.Marshal(env)
	require.NoError(s.t, err)
	var ctx payload.Context
	require.NoError(s.t, json.Unmarshal(env.Ctx, &ctx))
	_, err = s.JS.Publish(s.t.Context(), subjects.Prefix("openclaw").Event(env.Hook, ctx.AgentID, ctx.Session()), body, jetstream.WithMsgID(env.ID))
	require.NoError(s.t, err)
}

// Prompt returns a request of a direct chat.
func (s *System) Prompt(session, run, text string) payload.Envelope {
	s.Sequence++
	event, _ := json.Marshal(map[string]any{"prompt": text, "messages": []any{}})
	ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: "main", SessionID: session, SessionKey: "agent:main:telegram:direct:" + session, Trigger: "user"})
	return payload.Envelope{Hook: subjects.HookBeforePromptBuild, Event: event, Ctx: ctx, TS: 1763680000000 + int64(s.Sequence), ID: fmt.Sprintf("q%d", s.Sequence)}
}

// Document reads a session file; it returns nil if there is none.
func (s *System) Document(session string) map[string]any {
	data, err := os.ReadFile(filepath.Join(s.Config.Store.SessionsDir, subjects.Name(session)+".json"))
	if err != nil {
		return nil
	}
	var out map[string]any
	require.NoError(s.t, json.Unmarshal(data, &out), "valid JSON at every moment")
	return out
}

// Eventually waits until ok returns true. what describes the condition.
func (s *System) Eventually(what string, ok func() bool) {
	s.t.Helper()
	require.Eventually(s.t, ok, time.Minute, 5*time.Millisecond, what)
}

// HintAnswer is the answer of the scripted model.
const HintAnswer = `{"intent":"CHAT (Small Talk)","reason":"It is a greeting.","goal":"Be greeted.","confidence":0.9,"complexity":"low","suggestion":""}`

// WithModel starts a system that asks a scripted model.
func WithModel(t *testing.T, settings map[string]string) (*System, *providertest.Server) {
	t.Helper()
	model, all := ModelSettings(t, settings)
	return Start(t, all), model
}

// ModelSettings returns a scripted model, and the given settings with those
// that name it.
func ModelSettings(t *testing.T, settings map[string]string) (*providertest.Server, map[string]string) {
	t.Helper()
	model := providertest.New(t)
	model.Always(providertest.Answer{Text: HintAnswer})
	all := map[string]string{
		"HINT_CLASSIFIER": "llm",
		"HINT_MODEL":      "mock/small",
		"HINT_PROVIDERS":  fmt.Sprintf(`{"mock":{"baseUrl":%q},"claude":{"baseUrl":%q,"api":"anthropic-messages"}}`, model.OpenAIURL(), model.AnthropicURL()),
	}
	maps.Copy(all, settings)
	return model, all
}

// Converse makes a few sessions of a few turns each and returns their files.
func (s *System) Converse() map[string][]byte {
	s.t.Helper()
	for turn := range 5 {
		for _, session := range []string{"one", "two/three"} {
			s.Ask(s.Prompt(session, session+strconv.Itoa(turn), "write some code for me please"), time.Minute)
		}
	}
	s.Eventually("all turns", func() bool {
		for _, session := range []string{"one", "two/three"} {
			if history, _ := s.Document(session)["history"].([]any); len(history) < 4 {
				return false
			}
		}
		return true
	})
	s.Eventually("all acknowledgements", func() bool { // which come after the files
		place, err := events.Where(s.t.Context(), s.Bus.JS, app.Layout(s.Config))
		return err == nil && place.Applied > 0 && place.Applied == place.Delivered
	})
	return s.Files()
}

// Files returns the session files, by name.
func (s *System) Files() map[string][]byte {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Config.Store.SessionsDir, "*.json"))
	require.NoError(s.t, err)
	out := map[string][]byte{}
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			out[filepath.Base(path)] = data
		}
	}
	return out
}

// Same reports whether the session files equal want.
func (s *System) Same(want map[string][]byte) bool {
	s.t.Helper()
	return maps.EqualFunc(s.Files(), want, bytes.Equal)
}

// WriteIntents writes two intents that have nothing in common, and returns
// their directory.
func WriteIntents(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for id, examples := range map[string][]string{
		"WEATHER": {"will it rain tomorrow", "how hot is it outside", "is there snow in the mountains", "weather forecast for sunday"},
		"MONEY":   {"pay my electricity bill", "transfer cash to my savings account", "what is my bank balance", "send fifty dollars to anna"},
	} {
		text := fmt.Sprintf("---\nid: %s\ntriggers: [\"%s\"]\nexamples:\n  - %s\n---\nprompt\n", id, strings.ToLower(id), strings.Join(examples, "\n  - "))
		require.NoError(t, os.WriteFile(filepath.Join(dir, strings.ToLower(id)+".md"), []byte(text), 0o600))
	}
	return dir
}

// synonyms are words that do not occur in the intents of [WriteIntents] but
// that the embedding model of these tests knows.
var synonyms = map[string]string{"quassel": "rain", "tolmi": "bank", "brelk": "balance"}

// EmbeddingModel returns a server of an embedding model, and the settings that
// name it.
func EmbeddingModel(t *testing.T) (*providertest.Server, map[string]string) {
	t.Helper()
	model := providertest.New(t)
	model.Vectors(providertest.NGrams(synonyms))
	return model, map[string]string{
		"HINT_INTENTS_DIR":     WriteIntents(t),
		"HINT_DATA_DIR":        t.TempDir(),
		"HINT_EMBEDDING_MODEL": "mock/embed",
		"HINT_PROVIDERS":       fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	}
}

// Texts returns the texts that an embedding model was asked for, in order.
func Texts(model *providertest.Server) []string {
	var out []string
	for _, r := range model.Requests() {
		out = append(out, r.Texts...)
	}
	return out
}
