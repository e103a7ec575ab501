package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"intenthint/deploy/deploytest"
	"intenthint/payload"
	"intenthint/subjects"
	"intenthint/test/faults"
)

// The layouts of docs/scaling.md, with the files of deploy, real servers and
// whole consumers.

// far is a gateway at the end of a layout.
type far struct {
	t  *testing.T
	nc *nats.Conn
	js jetstream.JetStream
}

func newFar(t *testing.T, nc *nats.Conn) *far {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return &far{t, nc, js}
}

// ask asks for a hint for an agent's turn.
func (g *far) ask(agent, session, run string) (*nats.Msg, error) {
	event, _ := json.Marshal(map[string]any{"prompt": "Hello there.", "messages": []any{}})
	ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: agent, SessionID: session, SessionKey: "agent:" + agent + ":telegram:direct:" + session, Trigger: "user"})
	body, _ := json.Marshal(payload.Envelope{Hook: subjects.HookBeforePromptBuild, Event: event, Ctx: ctx, TS: 1763680000000})
	m := nats.NewMsg(subjects.Prefix(subjects.DefaultPrefix).Request(subjects.HookBeforePromptBuild, agent))
	m.Data = body
	m.Header.Set(subjects.HeaderTimeoutMs, "20000")
	return g.nc.RequestMsg(m, 20*time.Second)
}

// end tells that a run ended and returns the acknowledgement.
func (g *far) end(agent, session, run string) (*jetstream.PubAck, error) {
	id := "end-" + session + run
	body := fmt.Sprintf(`{"hook":"agent_end","id":%q,"ts":1763680001000,"event":{"runId":%q,"success":true,"messages":[{"role":"user","content":"Hello there."},{"role":"assistant","content":"Hello."}]},"ctx":{"runId":%q,"agentId":%q,"sessionId":%q}}`, id, run, run, agent, session)
	return g.js.Publish(g.t.Context(), subjects.Prefix(subjects.DefaultPrefix).Event(subjects.HookAgentEnd, agent, session), []byte(body), jetstream.WithMsgID(id))
}

// turn is a whole turn; its events must end in the stream, and the hint must be
// a hint.
func (g *far) turn(stream, agent, session, run string) *nats.Msg {
	g.t.Helper()
	reply, err := g.ask(agent, session, run)
	require.NoError(g.t, err)
	require.Equal(g.t, "CHAT", reply.Header.Get(subjects.HeaderIntent), reply.Header)
	ack, err := g.end(agent, session, run)
	require.NoError(g.t, err)
	require.Equal(g.t, stream, ack.Stream)
	again, err := g.end(agent, session, run)
	require.NoError(g.t, err)
	require.True(g.t, again.Duplicate, "told twice, stored once")
	return reply
}

// shows waits until a session of a consumer is complete.
func (s *system) shows(session string) {
	s.t.Helper()
	s.Eventually("session "+session, func() bool {
		current, _ := s.Document(session)["current"].(map[string]any)
		return current["result"] == "Hello."
	})
}

func TestTenantsHaveTheirOwnAccounts(t *testing.T) {
	setPassword(t, "acme")
	setPassword(t, "globex")
	at := siteOf(t, map[string]string{`include "accounts.conf"`: `include "tenants.conf"`})
	consumers := map[string]*system{}
	gateways := map[string]*far{}
	for name, stream := range map[string]string{"acme": "ACME_EVENTS", "globex": "GLOBEX_EVENTS"} {
		consumers[name] = launch(t, settle(t, at.settings("consumer", map[string]string{"HINT_SUBJECT_PREFIX": name, "HINT_STREAM": stream})))
		gateways[name] = newFar(t, at.Connect(t, at.ns, "gateway", nats.UserInfo(name, deploytest.Password(name))))
	}
	// The same session and run, for two tenants.
	for name, g := range gateways {
		reply := g.turn(consumers[name].Config.Bus.Stream, "main", "s1", "r1")
		require.Equal(t, "local", reply.Header.Get(subjects.HeaderSource), "not the other's hint")
		consumers[name].shows("s1")
	}
	t.Run("a tenant sees only its own subjects", func(t *testing.T) {
		g := gateways["acme"]
		for _, subject := range []string{"acme.event.agent_end.main.s1", "globex.event.agent_end.main.s1", "globex.request.before_prompt_build.main"} {
			require.NoError(t, g.nc.Publish(subject, []byte("{}")))
			require.NoError(t, g.nc.Flush())
			require.ErrorIs(t, g.nc.LastError(), nats.ErrPermissionViolation)
		}
	})
	t.Run("no consumer, no wait", func(t *testing.T) {
		require.NoError(t, consumers["acme"].Stop())
		_, err := gateways["acme"].ask("main", "s1", "r2")
		require.ErrorIs(t, err, nats.ErrNoResponders)
		ack, err := gateways["acme"].end("main", "s1", "r2")
		require.NoError(t, err, "events wait in the stream")
		require.Equal(t, "ACME_EVENTS", ack.Stream)
	})
}

func TestPartitionsByAgent(t *testing.T) {
	at := siteOf(t, map[string]string{`include "accounts.conf"`: `include "partitions.conf"`})
	var parts []*system
	for i := range 2 {
		parts = append(parts, launch(t, settle(t, at.settings("consumer", map[string]string{
			"HINT_SUBJECT_PREFIX": fmt.Sprintf("openclaw.%d", i), "HINT_STREAM": fmt.Sprintf("OPENCLAW_EVENTS_%d", i),
		}))))
	}
	g := newFar(t, at.Connect(t, at.ns, "gateway"))
	agents := []string{"main", "work", "home", "cook", "nurse", "研究"}
	var used []string
	for _, agent := range agents {
		ack, err := g.end(agent, "early", "r0")
		require.NoError(t, err)
		stream := ack.Stream
		used = append(used, stream)
		for n := range 2 {
			session := fmt.Sprintf("%s-%d", agent, n)
			g.turn(stream, agent, session, "r1")
			part := parts[slices.IndexFunc(parts, func(s *system) bool { return s.Config.Bus.Stream == stream })]
			part.shows(session) // the turn and its end: the request went the same way
		}
	}
	slices.Sort(used)
	require.Equal(t, []string{"OPENCLAW_EVENTS_0", "OPENCLAW_EVENTS_1"}, slices.Compact(used), "agents are spread")
}

// hub is a site whose server takes leaf servers, the line to it, and what
// stands in their environment.
func hub(t *testing.T, user string, changes map[string]string) (*site, *faults.Proxy) {
	t.Helper()
	all := map[string]string{
		`include "server.conf"`:  "include \"server.conf\"\ninclude \"leafnodes.conf\"",
		`listen: "0.0.0.0:7422"`: "listen: \"127.0.0.1:-1\"\n  no_advertise: true", // or the leaf goes round the line
	}
	maps.Copy(all, changes)
	at := siteOf(t, all)
	code, _, stderr := at.command("operator", nil, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)

	v, err := at.ns.Varz(nil)
	require.NoError(t, err)
	line, err := faults.NewProxy("127.0.0.1", fmt.Sprintf("127.0.0.1:%d", v.LeafNode.Port))
	require.NoError(t, err)
	t.Cleanup(line.Close)
	u := url.URL{Scheme: "tls", User: url.UserPassword(user, deploytest.Password(user)), Host: line.Addr()}
	t.Setenv("HUB_URLS", fmt.Sprintf("[%q]", u.String()))
	t.Setenv("NATS_STORE", t.TempDir())
	return at, line
}

// startLeaf starts a leaf server from its file and connects a gateway to it.
func startLeaf(t *testing.T, at *site, file string) (*server.Server, *far) {
	t.Helper()
	opts, err := server.ProcessConfigFile(filepath.Join(at.Dir, file))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:4222", net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
	opts.Port = server.RANDOM_PORT
	opts.NoLog, opts.NoSigs = true, true
	opts.LeafNode.ReconnectInterval = 50 * time.Millisecond
	leaf := deploytest.Start(t, opts)
	nc, err := nats.Connect(leaf.ClientURL(), nats.CustomInboxPrefix("_INBOX_gateway"))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return leaf, newFar(t, nc)
}

// hinted waits until the gateway gets hints: a leaf server learns who listens a
// moment after it has connected.
func (g *far) hinted() {
	g.t.Helper()
	require.Eventually(g.t, func() bool {
		_, err := g.ask("main", "first", "r1")
		return err == nil
	}, time.Minute, 5*time.Millisecond)
}

// cut takes the line away.
func cut(t *testing.T, line *faults.Proxy, leaf *server.Server) {
	t.Helper()
	line.Cut()
	require.Eventually(t, func() bool { return leaf.NumLeafNodes() == 0 }, time.Minute, 5*time.Millisecond)
}

func TestGatewaysBehindALeafServer(t *testing.T) {
	at, line := hub(t, "gateway", nil)
	s := launch(t, settle(t, at.settings("consumer", nil)))
	leaf, g := startLeaf(t, at, "leaf.conf")
	g.hinted()
	g.turn(subjects.DefaultStream, "main", "s1", "r1")
	s.shows("s1")

	t.Run("no more than a gateway may", func(t *testing.T) {
		_, err := g.js.Publish(t.Context(), "openclaw.event.turn_begun.main.s1", []byte("{}"), jetstream.WithRetryAttempts(0))
		require.Error(t, err)
		_, err = g.js.Stream(t.Context(), subjects.DefaultStream)
		require.Error(t, err)
	})
	t.Run("no place for a consumer", func(t *testing.T) {
		env := settle(t, map[string]string{"HINT_NATS_URL": leaf.ClientURL(), "HINT_INTENTS_DIR": at.intents})
		var out, errs bytes.Buffer
		require.Equal(t, 1, env.run(t.Context(), []string{"run"}, &out, &errs))
		require.Contains(t, errs.String(), "JetStream")
	})
	t.Run("while the line is down", func(t *testing.T) {
		cut(t, line, leaf)
		_, err := g.ask("main", "s2", "r2")
		require.ErrorIs(t, err, nats.ErrNoResponders)
		_, err = g.end("main", "s2", "r2")
		require.ErrorIs(t, err, jetstream.ErrNoStreamResponse, "not stored: the gateway learns it and can publish again")
	})
	line.Heal()
	g.hinted()
	g.turn(subjects.DefaultStream, "main", "s2", "r2")
	s.shows("s2")
}

// leafUser is the user that leaf-store.conf asks for.
func leafUser(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/leaf-store.conf")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^#   \{ user: leaf,(?s:.*?)\n#   \} \}$`).FindString(string(text))
	require.NotEmpty(t, found)
	return strings.ReplaceAll(found, "\n#", "\n")[1:]
}

func TestEventsWaitBehindALeafServer(t *testing.T) {
	setPassword(t, "leaf")
	user := strings.ReplaceAll(leafUser(t), `"$JS.leaf.API.>"`, `"$JS.leaf.API.>", "$JS.island.API.>"`)
	at, line := hub(t, "leaf", map[string]string{"      { user: consumer,": user + "\n      { user: consumer,"})
	s := launch(t, settle(t, at.settings("consumer", nil)))
	operator, err := jetstream.New(at.Connect(t, at.ns, "operator"))
	require.NoError(t, err)
	leaf, g := startLeaf(t, at, "leaf-store.conf")
	t.Setenv("NATS_STORE", t.TempDir())
	another := &site{Site: at.Edited(t, map[string]string{"server_name: leaf": "server_name: island", "domain: leaf": "domain: island"})}
	_, island := startLeaf(t, another, "leaf-store.conf")

	// What docs/scaling.md has an operator do.
	for _, at := range []*far{g, island} {
		at.hinted() // a source that is not there yet is tried again only after many seconds
		_, err = at.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LEAF_EVENTS", Subjects: []string{"openclaw.event.>"}, MaxBytes: 64 << 20})
		require.NoError(t, err)
	}
	events, err := operator.Stream(t.Context(), subjects.DefaultStream)
	require.NoError(t, err)
	withSource := events.CachedInfo().Config
	withSource.Sources = []*jetstream.StreamSource{
		{Name: "LEAF_EVENTS", External: &jetstream.ExternalStream{APIPrefix: "$JS.leaf.API"}},
		{Name: "LEAF_EVENTS", External: &jetstream.ExternalStream{APIPrefix: "$JS.island.API"}},
	}
	_, err = operator.UpdateStream(t.Context(), withSource)
	require.NoError(t, err)

	g.turn("LEAF_EVENTS", "main", "s1", "r1")
	s.shows("s1")
	stored := func() uint64 {
		info, err := events.Info(t.Context())
		require.NoError(t, err)
		return info.State.Msgs
	}
	require.EqualValues(t, 3, stored(), "two beginnings, and one end once")

	cut(t, line, leaf)
	_, err = g.ask("main", "s2", "r2")
	require.ErrorIs(t, err, nats.ErrNoResponders)
	const n = 500
	large := bytes.Repeat([]byte(" "), 20_000) // enough for the streams' flow control
	for i := range n {
		_, err := g.js.PublishAsync("openclaw.event.llm_output.main.s2", fmt.Appendf(nil, `{"hook":"llm_output","id":"e%d","ts":1763680001000,"event":{},"ctx":{}%s}`, i, large))
		require.NoError(t, err)
	}
	_, err = g.end("main", "s1", "r2")
	require.NoError(t, err, "acknowledged while the line is down")
	require.EqualValues(t, 3, stored())
	line.Heal()
	s.Eventually("everything has come over", func() bool { return stored() == 3+n+1 })
	for session, at := range map[string]*far{"s3": g, "s4": island} {
		at.hinted()
		at.turn("LEAF_EVENTS", "main", session, "r3")
		s.shows(session)
	}

	code, stdout, stderr := at.command("operator", nil, "stream", "plan")
	require.Zero(t, code, stdout+stderr)
}

func TestAConsumerBesideTheGatewaysOfALeafServer(t *testing.T) {
	setPassword(t, "leaf")
	at, line := hub(t, "leaf", map[string]string{
		"      { user: consumer,": "      { user: leaf, password: $LEAF_PASSWORD }\n      { user: consumer,",
		"  sync_interval: always": "  sync_interval: always\n  domain: hub",
		"server_name: leaf":       "server_name: leaf\ndefault_js_domain: { \"$G\": hub }",
	})
	kv := map[string]string{"HINT_STORE": "kv"}
	code, _, stderr := at.command("operator", kv, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)
	central := launch(t, settle(t, at.settings("consumer", kv)))
	leaf, g := startLeaf(t, at, "leaf.conf")
	g.hinted()
	near := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(near, "near.md"), []byte("---\nid: NEAR\ntriggers: [small talk]\nexamples: [hello there]\n---\nTalk.\n"), 0o600))
	launch(t, settle(t, map[string]string{"HINT_NATS_URL": leaf.ClientURL(), "HINT_INTENTS_DIR": near, "HINT_STORE": "kv"}))

	answeredNear := func(session, run string) {
		t.Helper()
		reply, err := g.ask("main", session, run)
		require.NoError(t, err)
		require.Equal(t, "NEAR", reply.Header.Get(subjects.HeaderIntent), reply.Header)
	}
	shows := func(session, text string) {
		t.Helper()
		central.Eventually("session "+session, func() bool {
			_, stdout, _ := at.command("operator", kv, "sessions", "show", session)
			return strings.Contains(stdout, text)
		})
	}
	for i := range 50 {
		answeredNear("s1", fmt.Sprint("r", i))
	}
	_, err := g.end("main", "s1", "r49")
	require.NoError(t, err)
	shows("s1", `"result": "Hello."`)

	// A hint also while the line is down; the turn is told when it is up again.
	cut(t, line, leaf)
	answeredNear("s2", "r1")
	line.Heal()
	shows("s2", `"input": "Hello there."`)
}

// siteOf is a site with changes in its files.
func siteOf(t *testing.T, changes map[string]string) *site {
	t.Helper()
	at := newFiles(t)
	at.Site = at.Edited(t, changes)
	at.ns = deploytest.Start(t, at.Options(t, "standalone.conf"))
	return at
}

// setPassword puts a user's password into the environment of the servers.
func setPassword(t *testing.T, user string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(deploytest.Password(user)), bcrypt.MinCost)
	require.NoError(t, err)
	t.Setenv(strings.ToUpper(user)+"_PASSWORD", string(hash))
}
