package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/deploy/deploytest"
	"intenthint/internal/porttest"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
)

// site is a server with the rights of deploy/accounts.conf, and how commands
// are run against it.
type site struct {
	*deploytest.Site
	t  *testing.T
	ns *server.Server
	// intents is a catalogue that is learnt in no time: a start that is refused
	// leaves the learning behind, and the next test would pay for it.
	intents string
}

func newSite(t *testing.T) *site {
	at := newFiles(t)
	at.ns = deploytest.Start(t, at.Options(t, "standalone.conf"))
	return at
}

// newFiles is a site whose server has not started.
func newFiles(t *testing.T) *site {
	s := deploytest.NewSite(t, "../../deploy")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "chat.md"), []byte("---\nid: CHAT\ntriggers: [small talk]\nexamples: [hello there]\n---\nTalk.\n"), 0o600))
	// `run` sets the collector of the whole process, unless GOGC is set.
	t.Setenv("GOGC", "100")
	return &site{s, t, nil, dir}
}

// settings are those of a user here.
func (s *site) settings(user string, more map[string]string) map[string]string {
	all := s.Settings(s.ns, user)
	all["HINT_INTENTS_DIR"] = s.intents
	maps.Copy(all, more)
	return all
}

// command runs a command as a user.
func (s *site) command(user string, settings map[string]string, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	env := settle(s.t, s.settings(user, settings))
	var out, errs bytes.Buffer
	code = env.run(s.t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestLeastRightsAreEnough(t *testing.T) {
	for _, store := range []string{config.StoreFile, config.StoreKV} {
		t.Run(store, func(t *testing.T) { leastRightsAreEnough(t, store) })
	}
}

func leastRightsAreEnough(t *testing.T, store string) {
	t.Helper()
	model := providertest.New(t)
	model.Always(providertest.Answer{Text: apptest.HintAnswer})
	settings := map[string]string{
		"HINT_CLASSIFIER": "llm",
		"HINT_MODEL":      "mock/small",
		"HINT_PROVIDERS":  fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
		"HINT_DATA_DIR":   t.TempDir(),
		"HINT_STORE":      store,
	}
	at := newSite(t)
	code, _, stderr := at.command("operator", settings, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)

	env := settle(t, at.settings("consumer", settings))
	s := launch(t, env)
	s.As(at.Connect(t, at.ns, "gateway"))
	reply := s.Ask(s.Prompt("s1", "r1", "Hello there."), time.Minute)
	require.Equal(t, "CHAT", reply.Header.Get(subjects.HeaderIntent), reply.Header)
	s.Tell(payload.Envelope{
		Hook: subjects.HookAgentEnd, ID: "e1", TS: 1763680001000,
		Event: []byte(`{"runId":"r1","success":true,"messages":[{"role":"user","content":"Hello there."},{"role":"assistant","content":"Hello."}]}`),
		Ctx:   []byte(`{"runId":"r1","agentId":"main","sessionId":"s1"}`),
	})
	s.Eventually("the turn and its end", func() bool {
		_, stdout, _ := at.command("operator", settings, "sessions", "show", "s1")
		return strings.Contains(stdout, `"result": "Hello."`)
	})
	_, err := s.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s1", []byte("poison"))
	require.NoError(t, err)
	s.Eventually("the dead letter", func() bool { return strings.Contains(s.Log.String(), `"dead letter"`) })

	// The next process reads what this one has answered.
	another := launch(t, env)
	require.NoError(t, s.Stop())
	another.As(at.Connect(t, at.ns, "gateway"))
	reply = another.Ask(another.Prompt("s1", "r1", "Continue the current task."), time.Minute)
	require.Equal(t, "cache", reply.Header.Get(subjects.HeaderSource))
	require.Equal(t, 1, model.Count())

	code, stdout, stderr := at.command("operator", settings, "ask", "--json", "hello")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"CHAT"`)
	code, stdout, stderr = at.command("operator", settings, "dlq", "ls")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "agent_end")
	require.NoError(t, another.Stop())
	for _, log := range []string{s.Log.String(), another.Log.String()} {
		requireAllowed(t, log)
		for _, user := range deploytest.Users {
			require.NotContains(t, log, deploytest.Password(user))
		}
	}
}

// requireAllowed fails if a log tells that something was tried that is not allowed,
// but for the update of the stream: only an operator may store which directory is
// the one of the system.
func requireAllowed(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "$JS.API.STREAM.UPDATE.OPENCLAW_EVENTS") {
			require.NotContains(t, strings.ToLower(line), "permission", "nothing was tried that is not allowed")
		}
	}
}

func TestMissingPermissionsAreNamed(t *testing.T) {
	at := newSite(t)
	for _, row := range []struct {
		name, user string
		settings   map[string]string
		args       []string
		code       int
		says       []string
	}{
		{"a consumer without streams", "consumer", nil, []string{"run"}, 1, []string{"OPENCLAW_EVENTS", "$JS.API.STREAM.CREATE.OPENCLAW_EVENTS", "permission denied"}},
		{"a consumer as a gateway", "gateway", nil, []string{"run"}, 1, []string{"permission denied"}},
		{"a consumer without a bucket", "consumer", map[string]string{"HINT_STORE": "kv"}, []string{"sessions", "ls"}, 1, []string{cli.ErrNoSystem.Error(), "HINT_STREAM"}},
		{"another's inbox", "consumer", map[string]string{"HINT_NATS_INBOX_PREFIX": ""}, []string{"run"}, 1, []string{"HINT_NATS_INBOX_PREFIX"}},
		{"a consumer that asks", "consumer", map[string]string{"HINT_TIMEOUT_MS": "500"}, []string{"ask", "hello"}, 1, []string{"openclaw.request.before_prompt_build.main"}},
		{"a gateway at the dead letters", "gateway", nil, []string{"dlq", "ls"}, 1, []string{"permission denied", "OPENCLAW_EVENTS_DLQ"}},
		{"a wrong password", "consumer", map[string]string{"HINT_NATS_URL": "tls://consumer:guess@" + at.ns.Addr().String()}, []string{"run"}, 1, []string{"HINT_NATS_URL", "Authorization Violation"}},
		{"a wrong password of a command", "operator", map[string]string{"HINT_NATS_URL": "tls://operator:guess@" + at.ns.Addr().String()}, []string{"ask", "hello"}, 1, []string{"HINT_NATS_URL", "Authorization Violation"}},
		{"no certificate", "consumer", map[string]string{"HINT_NATS_CERT": "", "HINT_NATS_KEY": ""}, []string{"run"}, 1, []string{"HINT_NATS_CERT"}},
		{"no authority", "consumer", map[string]string{"HINT_NATS_CA": ""}, []string{"run"}, 1, []string{"HINT_NATS_CA"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			began := time.Now()
			code, stdout, stderr := at.command(row.user, row.settings, row.args...)
			require.Equal(t, row.code, code, stderr)
			require.Empty(t, stdout)
			for _, text := range row.says {
				require.Contains(t, stderr, text)
			}
			require.NotContains(t, stderr, "guess")
			require.NotContains(t, stderr, deploytest.Password(row.user))
			require.Less(t, time.Since(began), 20*time.Second, "the start does not wait for a reply that is denied")
		})
	}
}

// The server does not answer a pull or an acknowledgement that it refuses.
func TestHealthNamesTheMissingRightToTakeEvents(t *testing.T) {
	for _, row := range []struct{ name, right, named string }{
		{"to pull", `"$JS.API.CONSUMER.MSG.NEXT.OPENCLAW_EVENTS.*"`, "$JS.API.CONSUMER.MSG.NEXT.OPENCLAW_EVENTS.intent-hint"},
		{"to acknowledge", `"$JS.ACK.OPENCLAW_EVENTS.>"`, "$JS.ACK.OPENCLAW_EVENTS.intent-hint."},
	} {
		t.Run(row.name, func(t *testing.T) {
			at := siteOf(t, map[string]string{row.right: ``})
			address := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
			settings := map[string]string{"HINT_DATA_DIR": t.TempDir(), "HINT_HTTP_ADDR": address}
			code, _, stderr := at.command("operator", settings, "stream", "apply", "--yes")
			require.Zero(t, code, stderr)
			s := launch(t, settle(t, at.settings("consumer", settings)))
			s.As(at.Connect(t, at.ns, "gateway"))
			s.Ask(s.Prompt("s1", "r1", "Hello there."), time.Minute)
			s.Eventually("the report", func() bool {
				r, err := http.Get("http://" + address + "/healthz")
				require.NoError(t, err)
				defer func() { _ = r.Body.Close() }()
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				return r.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), "event rights") && strings.Contains(string(body), row.named)
			})
		})
	}
}

// A page counts and lists what the gates decided: a bucket that is read as a whole.
func TestLeastRightsAreEnoughForThePageOfTheGate(t *testing.T) {
	at := newSite(t)
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
	settings := map[string]string{"HINT_DATA_DIR": t.TempDir(), "HINT_HTTP_ADDR": address, "HINT_TRIAGE": `{"enabled":true}`}
	code, _, stderr := at.command("operator", settings, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)
	s := launch(t, settle(t, at.settings("consumer", settings)))
	s.As(at.Connect(t, at.ns, "gateway"))
	s.Ask(payload.Envelope{
		Hook: subjects.HookBeforeDispatch, TS: time.Now().UnixMilli(), ID: "m1", Ctx: []byte(`{}`),
		Event: []byte(`{"messageId":"1","content":"k","sessionKey":"` + roof + `","isGroup":true}`),
	}, time.Minute)
	r, err := http.Get("http://" + address + "/triage")
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "1 message: 0 answered, 1 skipped.")
	form := url.Values{"group": {roof}, "message": {"1"}, "wrong": {"1"}, "back": {"/triage"}}
	r, err = http.PostForm("http://"+address+"/triage", form)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err = io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "Marked: skipped was wrong.")
	requireAllowed(t, s.Log.String())
}
