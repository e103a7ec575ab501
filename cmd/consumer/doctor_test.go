package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/cli"
	"intenthint/deploy/deploytest"
	"intenthint/internal/natstest"
	"intenthint/model/provider/providertest"
)

// examine runs the doctor and returns its findings.
func examine(t *testing.T, env environment, options ...string) (code int, findings []finding, text string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = env.run(t.Context(), append([]string{"doctor", "--json"}, options...), &stdout, &stderr)
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &findings), stdout.String()+stderr.String())
	return code, findings, stdout.String() + stderr.String()
}

// finds requires a finding of a status whose text holds a part.
func finds(t *testing.T, findings []finding, status, part string) {
	t.Helper()
	for _, f := range findings {
		if strings.Contains(f.What, part) {
			require.Equal(t, status, f.Status, f.What)
			require.Equal(t, status != stateOK, f.Advice != "", "advice for what is not ok, and only for that: %+v", f)
			return
		}
	}
	require.Fail(t, "no such finding", "%q in %+v", part, findings)
}

func TestDoctorBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	env := settle(t, map[string]string{"HINT_DATA_DIR": data})
	code, findings, text := examine(t, env)
	require.Zero(t, code, text)
	finds(t, findings, stateOK, "configuration: no warnings")
	finds(t, findings, stateOK, "intents in the binary: 44 intents")
	finds(t, findings, stateOK, "sessions directory")
	finds(t, findings, stateOK, "HTTP: off")
	finds(t, findings, stateOK, "NATS: none is running")
	finds(t, findings, stateOK, "models: none")
	require.NoDirExists(t, data, "nothing is begun")

	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), []string{"doctor"}, &stdout, &stderr), stderr.String())
	require.Equal(t, len(findings), strings.Count(stdout.String(), "\n"))
	for line := range strings.Lines(stdout.String()) {
		require.Regexp(t, `^(ok|warn|fail) +\S`, line)
	}
}

func TestDoctorOfARunningSystem(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	model.Always(providertest.Answer{Text: apptest.HintAnswer})
	model.Vectors(func(string) []float32 { return []float32{1, 0, 0} })
	s := start(t, map[string]string{
		"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_MODEL": "mock/small", "HINT_EMBEDDING_MODEL": "mock/embed", "HINT_CLASSIFIER": "local",
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	})
	s.Ask(s.Prompt("s", "r", "Hello there."), time.Minute)
	state := func() (uint64, uint64) {
		events, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS")
		require.NoError(t, err)
		letters, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS_DLQ")
		require.NoError(t, err)
		return events.CachedInfo().State.LastSeq, letters.CachedInfo().State.LastSeq
	}
	s.Eventually("the turn", func() bool { n, _ := state(); return n == 1 })
	asked := model.Count()
	code, findings, text := examine(t, s.env)
	require.Zero(t, code, text)
	finds(t, findings, stateOK, "HTTP: a consumer answers")
	finds(t, findings, stateOK, "NATS: nats://127.0.0.1:")
	finds(t, findings, stateOK, "JetStream: enabled")
	finds(t, findings, stateOK, "rights: all ")
	finds(t, findings, stateOK, "consumers are running")
	finds(t, findings, stateOK, "HINT_MODEL mock/small: ok, ")
	finds(t, findings, stateOK, "HINT_EMBEDDING_MODEL mock/embed: ok, 3 dimensions")
	events, letters := state()
	require.Equal(t, uint64(1), events, "no event was published")
	require.Zero(t, letters)
	require.GreaterOrEqual(t, model.Count(), asked+2)
	require.NotContains(t, s.Log.String(), "malformed")
	s.Ask(s.Prompt("s", "r2", "Hello again."), time.Minute)
	s.Eventually("events are still applied", func() bool { return strings.Contains(jsonOf(t, s.Document("s")), "Hello again.") })
}

func TestDoctorAdvisesOnAnotherSessionStore(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_STORE": "file"})
	env := settle(t, map[string]string{"HINT_NATS_URL": s.Bus.URL(), "HINT_STORE": "file", "HINT_SESSIONS_DIR": filepath.Join(t.TempDir(), "sessions")})
	code, findings, text := examine(t, env)
	require.Equal(t, exitFailed, code, text)
	i := slices.IndexFunc(findings, func(f finding) bool { return strings.HasPrefix(f.What, "session store of another system") })
	require.GreaterOrEqual(t, i, 0, text)
	require.Equal(t, stateFail, findings[i].Status)
	require.Contains(t, findings[i].Advice, "HINT_SESSIONS_DIR")
}

func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	ns := natstest.Start(t, nil)
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	js := natstest.JetStream(t, ns)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OPENCLAW_EVENTS", Subjects: []string{"openclaw.event.>"}, Storage: jetstream.MemoryStorage})
	require.NoError(t, err)
	few := apptest.WriteIntents(t) // examining the built-in ones takes longer
	noIntents := t.TempDir()
	faulty := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(faulty, "a.md"), []byte("---\nid: A\ntriggers: [a]\n---\nA.\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(faulty, "b.md"), []byte("no front matter"), 0o600))
	providers := fmt.Sprintf(`{"mock":{"baseUrl":%q,"apiKeyEnv":"DOCTOR_KEY"},"keyless":{"baseUrl":%q,"apiKeyEnv":"NO_SUCH_KEY"},"wire":{"baseUrl":%q,"api":"systemone"}}`, model.OpenAIURL(), model.OpenAIURL(), model.AnthropicURL())
	require.NoError(t, os.Setenv("DOCTOR_KEY", "very-secret")) // for good: t.Setenv and t.Parallel exclude each other
	for _, row := range []struct {
		name     string
		settings map[string]string
		answer   providertest.Answer
		code     int
		status   string
		part     string
	}{
		{"nobody at HINT_NATS_URL", map[string]string{"HINT_NATS_URL": "nats://user:very-secret@127.0.0.1:1"}, providertest.Answer{}, exitFailed, stateFail, "NATS server unreachable"},
		{"no NATS server", map[string]string{"HINT_NATS_URL": "nats://" + taken.Addr().String()}, providertest.Answer{}, exitFailed, stateFail, "NATS: "},
		{"missing streams", map[string]string{"HINT_NATS_URL": ns.ClientURL(), "HINT_STREAM": "OTHER", "HINT_SUBJECT_PREFIX": "other"}, providertest.Answer{}, exitOK, stateWarn, "missing: stream OTHER, stream OTHER_DLQ, durable intent-hint"},
		{"a stream that loses events", map[string]string{"HINT_NATS_URL": ns.ClientURL()}, providertest.Answer{}, exitOK, stateWarn, "storage is memory instead of file"},
		{"no intents", map[string]string{"HINT_INTENTS_DIR": noIntents}, providertest.Answer{}, exitFailed, stateFail, "0 intents"},
		{"a faulty intent", map[string]string{"HINT_INTENTS_DIR": faulty}, providertest.Answer{}, exitOK, stateWarn, "1 intent, 1 fault"},
		{"a port that is taken", map[string]string{"HINT_HTTP_ADDR": web.Listener.Addr().String()}, providertest.Answer{}, exitFailed, stateFail, "HTTP: listen tcp"},
		{"no key", map[string]string{"HINT_MODEL": "keyless/x", "HINT_PROVIDERS": providers}, providertest.Answer{}, exitFailed, stateFail, "HINT_MODEL keyless/x: "},
		{"a configuration warning", map[string]string{"HINT_MODEL": "keyless/x", "HINT_PROVIDERS": providers}, providertest.Answer{}, exitFailed, stateWarn, "HINT_MODEL: "},
		{"a refused key", map[string]string{"HINT_MODEL": "mock/x", "HINT_PROVIDERS": providers}, providertest.Answer{Status: 401}, exitFailed, stateFail, "HINT_MODEL mock/x: failed after"},
		{"an answer of another form", map[string]string{"HINT_MODEL": "mock/x", "HINT_PROVIDERS": providers}, providertest.Answer{Text: "Sure!"}, exitFailed, stateFail, "HINT_MODEL mock/x: unparsable after"},
		{"a writer", map[string]string{"HINT_WRITER": "mock/x", "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"instruction": "Do it."}`}, exitOK, stateOK, "HINT_WRITER mock/x: ok, 6 characters in "},
		{"a writer that answers in another form", map[string]string{"HINT_WRITER": "mock/x", "HINT_PROVIDERS": providers}, providertest.Answer{Text: "Sure!"}, exitFailed, stateFail, "HINT_WRITER mock/x: unparsable after"},
		{"a writer without a key", map[string]string{"HINT_WRITER": "keyless/x", "HINT_PROVIDERS": providers}, providertest.Answer{}, exitFailed, stateFail, "HINT_WRITER keyless/x: "},
		{"a model for triage", map[string]string{"HINT_TRIAGE": `{"enabled": true, "triageModel": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: "SKIP"}, exitOK, stateOK, "triageModel of HINT_TRIAGE mock/x: ok, skip in "},
		{"a key that the provider repeats", map[string]string{"HINT_MODEL": "mock/x", "HINT_PROVIDERS": providers}, providertest.Answer{Status: 401, Message: "bad key sk-proj-abcdefghijklmnopqrstuvwxyz123456"}, exitFailed, stateFail, "bad key [API_KEY]"},
		{"a wrong key of triage", map[string]string{"HINT_TRIAGE": `{"enabled": true, "triageModel": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Status: 401}, exitFailed, stateFail, "triageModel of HINT_TRIAGE mock/x: failed after"},
		{"a model that is cut off before it answers", map[string]string{"HINT_TRIAGE": `{"enabled": true, "triageModel": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: "", Finish: "length"}, exitFailed, stateFail, "triageModel of HINT_TRIAGE mock/x: "},
		{"a model for extraction", map[string]string{"HINT_KNOWHUB": `{"enabled": true, "model": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: `<think>Hm.</think>{"experiences": []}`}, exitOK, stateOK, "model of HINT_KNOWHUB mock/x: ok, 0 experiences in "},
		{"a model for extraction that chats", map[string]string{"HINT_KNOWHUB": `{"enabled": true, "model": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: "Sure!"}, exitFailed, stateFail, "model of HINT_KNOWHUB mock/x: unparsable after"},
		{"a wrong name for extraction", map[string]string{"HINT_KNOWHUB": `{"enabled": true, "model": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Status: 404}, exitFailed, stateFail, "model of HINT_KNOWHUB mock/x: failed after"},
		{"a teacher", map[string]string{"HINT_DECIDE": `{"enabled": true}`, "HINT_DECIDE_MODEL": "wire/x", "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"reminder":{"type":"noul","noul":0.97}}`}, exitOK, stateOK, "HINT_DECIDE_MODEL wire/x: ok, true (0.97) in "},
		{"a teacher that chats", map[string]string{"HINT_DECIDE": `{"enabled": true, "model": "mock/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"q1": {"answer": "true", "confidence": 90}}`}, exitOK, stateOK, "model of HINT_DECIDE mock/x: ok, true (0.90) in "},
		{"a teacher of one rubric", map[string]string{"HINT_DECIDE": `{"enabled": true, "rubrics": {"billing": {"teacher": "wire/x"}}}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"reminder":{"type":"noul","noul":0.25}}`}, exitOK, stateOK, "teacher of a rubric in HINT_DECIDE wire/x: ok, false (0.75) in "},
		{"a teacher that answers in another form", map[string]string{"HINT_DECIDE": `{"enabled": true, "model": "wire/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{}`}, exitFailed, stateFail, "model of HINT_DECIDE wire/x: unparsable after"},
		{"a teacher that does not know", map[string]string{"HINT_DECIDE": `{"enabled": true, "model": "wire/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Status: 422}, exitFailed, stateFail, "model of HINT_DECIDE wire/x: unparsable after"},
		{"a teacher with a wrong key", map[string]string{"HINT_DECIDE": `{"enabled": true, "model": "wire/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Status: 401}, exitFailed, stateFail, "model of HINT_DECIDE wire/x: failed after"},
		{"a teacher without a key", map[string]string{"HINT_DECIDE": `{"enabled": true, "model": "keyless/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{}, exitFailed, stateFail, "model of HINT_DECIDE keyless/x: "},
		{"typed questions for hints", map[string]string{"HINT_MODEL": "wire/x", "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"intent":{"type":"choice","choice":"MONEY","probabilities":{"MONEY":1}},"complexity":{"type":"choice","choice":"low","probabilities":{"low":1}}}`}, exitOK, stateOK, "HINT_MODEL wire/x: ok, MONEY in "},
		{"typed questions as a fallback", map[string]string{"HINT_MODEL_FALLBACK": "wire/x", "HINT_PROVIDERS": providers}, providertest.Answer{}, exitFailed, stateFail, "HINT_MODEL_FALLBACK wire/x: "},
		{"typed questions for triage", map[string]string{"HINT_TRIAGE": `{"enabled": true, "triageModel": "wire/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"answer":{"type":"noul","noul":0.03}}`}, exitOK, stateOK, "triageModel of HINT_TRIAGE wire/x: ok, skip in "},
		{"a gate of extraction", map[string]string{"HINT_KNOWHUB": `{"enabled": true, "model": "wire/x"}`, "HINT_PROVIDERS": providers}, providertest.Answer{Text: `{"answer":{"type":"noul","noul":0.8}}`}, exitOK, stateOK, "model of HINT_KNOWHUB wire/x: ok, 0.80 that there is an experience in "},
		{"a slow fallback", map[string]string{"HINT_MODEL_FALLBACK": "mock/x", "HINT_PROVIDERS": providers, "HINT_TIMEOUT_MS": "500"}, providertest.Answer{Text: apptest.HintAnswer, Delay: 600 * time.Millisecond}, exitOK, stateWarn, "longer than nine tenths of HINT_TIMEOUT_MS (500ms)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			model.Always(row.answer)
			settings := map[string]string{"HINT_INTENTS_DIR": few}
			maps.Copy(settings, row.settings)
			code, findings, text := examine(t, settle(t, settings))
			require.Equal(t, row.code, code, text)
			finds(t, findings, row.status, row.part)
			require.NotContains(t, text, "very-secret")
		})
	}
	events, err := js.Stream(t.Context(), "OPENCLAW_EVENTS")
	require.NoError(t, err)
	require.Zero(t, events.CachedInfo().State.LastSeq, "nothing was published")
}

func TestDoctorExaminesDirectories(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, row := range []struct{ name, dir, status, part string }{
		{"there", filepath.Dir(file), stateOK, "writable"},
		{"created later", filepath.Join(filepath.Dir(file), "a", "b"), stateOK, "created at the start"},
		{"a file", file, stateFail, "is not a directory"},
		{"below a file", filepath.Join(file, "a"), stateFail, "not a directory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout bytes.Buffer
			d := &doctor{inv: &cli.Invocation{Ctx: t.Context(), Stdout: &stdout}}
			d.directory("data directory", row.dir, "HINT_DATA_DIR")
			finds(t, d.findings, row.status, row.part)
			left, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			require.Len(t, left, 1, "nothing is left")
		})
	}
}

func TestDoctorNamesMissingPermissions(t *testing.T) {
	at := newSite(t)
	doctor := func(user string, options ...string) (int, []finding, string) {
		t.Helper()
		env := settle(t, at.settings(user, nil))
		return examine(t, env, options...)
	}
	code, findings, text := doctor("consumer")
	require.Equal(t, exitFailed, code, "a start fails: "+text)
	finds(t, findings, stateFail, "missing, and this NATS user may not create it: stream OPENCLAW_EVENTS, stream OPENCLAW_EVENTS_DLQ, durable intent-hint")
	code, findings, text = doctor("operator", "--as", "operator")
	require.Zero(t, code, text)
	finds(t, findings, stateWarn, "missing: stream OPENCLAW_EVENTS")
	code, _, stderr := at.command("operator", nil, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)
	code, findings, text = doctor("consumer")
	require.Zero(t, code, text)
	finds(t, findings, stateOK, "rights: all ")
	finds(t, findings, stateWarn, "certificate of the NATS server: ends on ")
	finds(t, findings, stateWarn, "client certificate: ends on ")
	for _, user := range []string{"operator", "gateway"} {
		code, findings, text = doctor(user, "--as", user)
		require.Zero(t, code, text)
		finds(t, findings, stateOK, "rights: all ")
		require.NotContains(t, text, "intents in", "only a consumer needs them")
	}
	code, findings, text = doctor("consumer", "--as", "operator")
	require.Equal(t, exitFailed, code, text)
	finds(t, findings, stateFail, "right of an operator for changing the stream")
	code, findings, text = doctor("consumer", "--as", "gateway")
	require.Equal(t, exitFailed, code, text)
	finds(t, findings, stateFail, "right of a gateway for asking")
	code, findings, text = doctor("gateway")
	require.Equal(t, exitFailed, code, text)
	finds(t, findings, stateFail, "right of a consumer for answering requests")
	finds(t, findings, stateFail, "right of a consumer for publishing turns")
	require.Contains(t, text, "openclaw.event.turn_begun.")
	for _, user := range deploytest.Users {
		require.NotContains(t, text, deploytest.Password(user))
	}
}

func TestDoctorAdvisesByTheError(t *testing.T) {
	t.Parallel()
	full := &os.PathError{Op: "write", Path: "data", Err: syscall.ENOSPC}
	denied := &os.PathError{Op: "open", Path: "data", Err: syscall.EACCES}
	require.Equal(t, []string{"free disk space", "make it writable for this user"}, []string{adviceOn(full), adviceOn(denied)})
}

// A server whose disk is full accepts connections, but its JetStream does not answer.
func TestDoctorTellsThatJetStreamIsSilent(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{})
	nc, err := nats.Connect(ns.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	asked, err := nc.SubscribeSync("$JS.API.>")
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	code, findings, text := examine(t, settle(t, map[string]string{"HINT_NATS_URL": ns.ClientURL()}))
	require.Equal(t, exitFailed, code)
	finds(t, findings, stateFail, "JetStream did not answer in time")
	require.Contains(t, text, "free space of its store directory")
	require.NotContains(t, text, "give the NATS user this right")
	require.NoError(t, nc.Flush())
	n, _, err := asked.Pending()
	require.NoError(t, err)
	require.Equal(t, 2, n, "each call takes seconds")
}

// Where requests are dropped in silence, a user who may not ask about the account can
// still use the streams.
func TestDoctorGoesOnWithoutTheAccount(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	require.NoError(t, ns.GlobalAccount().AddMapping("$JS.API.INFO", "dropped"))
	nc, err := nats.Connect(ns.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	dropped, err := nc.SubscribeSync("dropped")
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	code, findings, text := examine(t, settle(t, map[string]string{"HINT_NATS_URL": ns.ClientURL()}))
	require.NoError(t, nc.Flush())
	n, _, err := dropped.Pending()
	require.NoError(t, err)
	require.NotZero(t, n)
	require.Equal(t, exitOK, code, text)
	finds(t, findings, stateOK, "JetStream: enabled")
	finds(t, findings, stateWarn, "missing: stream OPENCLAW_EVENTS")
}

func TestDoctorTellsThatTheClusterHasNoLeader(t *testing.T) {
	t.Parallel()
	nodes := natstest.Cluster(t, nil)
	var urls []string
	for _, ns := range nodes {
		urls = append(urls, ns.ClientURL())
	}
	nodes[1].Shutdown()
	nodes[2].Shutdown()
	// For some seconds the server that is left believes in its leader, and says so or does
	// not answer.
	env := settle(t, map[string]string{"HINT_NATS_URL": strings.Join(urls, ","), "HINT_STREAM_REPLICAS": "3"})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		code, findings, text := examine(t, env)
		assert.NotContains(c, text, "give the NATS user this right")
		assert.Equal(c, exitFailed, code)
		assert.Contains(c, findings, finding{stateFail, "JetStream: the cluster has no leader: 1 of 3 servers answer", "start the servers that are missing: more than half must run"})
	}, 2*time.Minute, 100*time.Millisecond)
}

func TestDoctorWarnsOfCertificatesThatEnd(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		left   time.Duration
		status string
		part   string
	}{
		{"in a year", 365 * 24 * time.Hour, stateOK, ": ends on "},
		{"in 31 days", 31 * 24 * time.Hour, stateOK, ": ends on "},
		{"in less than 30 days", 30*24*time.Hour - time.Minute, stateWarn, ", in 29 days"},
		{"in an hour", time.Hour, stateWarn, ", in 0 days"},
		{"ended", -time.Minute, stateFail, ": ended on "},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := &doctor{inv: &cli.Invocation{Ctx: t.Context(), Stdout: io.Discard}}
			d.certificate("client certificate", &x509.Certificate{NotAfter: time.Now().Add(row.left)})
			finds(t, d.findings, row.status, row.part)
		})
	}
}

func TestDoctorTellsThatTheServerAsksForNoUser(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_AUTH": "off"})
	code, findings, text := examine(t, s.env.with("HINT_AUTH", "on"))
	require.Equal(t, exitFailed, code, text)
	finds(t, findings, stateFail, "asks for no user")
}
