package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/access"
	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/internal/porttest"
	"intenthint/subjects"
)

// secured are the options of a consumer whose server asks for users.
func secured(dir string, port int) Options {
	return Options{Embedded: natsserver.Options{Port: port, DataDir: dir, Auth: true}, As: access.Consumer, Wait: true, Log: quiet}
}

func opened(t *testing.T, o Options) *Bus {
	t.Helper()
	b, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// command opens a connection to the running server as a command does.
func command(t *testing.T, dir string, port int) *Bus {
	t.Helper()
	o := secured(dir, port)
	url, err := natsserver.LocalURL(o.Embedded)
	require.NoError(t, err)
	require.NotEmpty(t, url)
	o.As, o.Wait, o.URL, o.Local = "", false, url, true
	return opened(t, o)
}

// entering connects as the user of a context, with a record of what is denied.
func entering(t *testing.T, dir, user string) (nc *nats.Conn, denied func() error) {
	t.Helper()
	c, err := access.ReadContext(dir, user)
	require.NoError(t, err)
	nc, err = nats.Connect(c.URL, nats.UserInfo(c.User, c.Password), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	var before error
	return nc, func() error {
		require.NoError(t, nc.Flush())
		err := nc.LastError()
		if err == before || !errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // identity, not kind
			return nil
		}
		before = err
		return err
	}
}

func messages(t *testing.T, js jetstream.JetStream, stream string) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	require.NoError(t, err)
	return s.CachedInfo().State.Msgs
}

func TestServerAsksForUsers(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	own := opened(t, secured(dir, port))
	provisionTest(t, own)
	gateway, err := access.ReadContext(dir, access.Gateway)
	require.NoError(t, err)
	require.Equal(t, own.URL(), gateway.URL)

	for name, option := range map[string]nats.Option{
		"nobody":                  nats.Name("x"),
		"a wrong password":        nats.UserInfo("operator", "guess"),
		"no password":             nats.UserInfo("operator", ""),
		"another user's password": nats.UserInfo("operator", gateway.Password),
		"an unknown user":         nats.UserInfo("root", gateway.Password),
		"a password as a token":   nats.Token(gateway.Password),
	} {
		_, err := nats.Connect(own.URL(), option)
		require.ErrorIs(t, err, nats.ErrAuthorization, name)
	}

	// Commands and consumers of the same directory find their users by themselves.
	operator := command(t, dir, port)
	require.NoError(t, operator.CheckJetStream(t.Context()))
	require.NotNil(t, eventsOf(t, operator.JS))
	second := opened(t, secured(dir, port))
	require.False(t, second.Embedded())
	provisionTest(t, second)
	another, err := second.Another(t.Context(), "events")
	require.NoError(t, err)
	defer another.Close()
	require.NoError(t, another.CheckJetStream(t.Context()))
	_, err = another.NC.SubscribeSync("openclaw.runs")
	require.NoError(t, err)
	require.NoError(t, another.Subscribed(t.Context()))
}

func TestWhatAGatewayMay(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir := t.TempDir()
	own := opened(t, secured(dir, server.RANDOM_PORT))
	provisionTest(t, own)
	bucket, err := own.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "OPENCLAW_EVENTS_EXPERIENCES"})
	require.NoError(t, err)
	_, err = bucket.PutString(t.Context(), "x", "approved")
	require.NoError(t, err)
	answers, err := own.NC.Subscribe("openclaw.request.before_prompt_build.*", func(m *nats.Msg) { _ = m.Respond([]byte("{}")) })
	require.NoError(t, err)
	defer func() { require.NoError(t, answers.Unsubscribe()) }()
	require.NoError(t, own.NC.Flush())

	nc, denied := entering(t, dir, access.Gateway)
	_, err = nc.Request("openclaw.request.before_prompt_build.main", []byte("{}"), 5*time.Second)
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	ack, err := js.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, testLayout().Stream, ack.Stream)
	for _, subject := range []string{"openclaw.knowhub.search", "openclaw.knowhub.submit", "openclaw.knowhub.content"} {
		_, err = nc.Request(subject, nil, 5*time.Second)
		require.ErrorIs(t, err, nats.ErrNoResponders, subject)
		require.NoError(t, denied(), subject)
	}

	const stream = "OPENCLAW_EVENTS"
	for _, subject := range []string{
		"openclaw.event.turn_begun.main.s", "openclaw.event.decided.main.r", "openclaw.runs", "openclaw.dlq.agent_end",
		"openclaw.knowhub.approve", "openclaw.knowhub.reject", "openclaw.knowhub.pending", "openclaw.knowhub.extract",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.PURGE." + stream, "$JS.API.STREAM.DELETE." + stream,
		"$JS.API.STREAM.MSG.GET." + stream, "$JS.API.DIRECT.GET." + stream, "$JS.API.CONSUMER.CREATE." + stream + ".x", "$JS.API.CONSUMER.MSG.NEXT." + stream + ".intent-hint",
		"$JS.ACK." + stream + ".intent-hint.1.1.1.1.0", "$KV.OPENCLAW_EVENTS_EXPERIENCES.x", "$SRV.PING", "$SYS.REQ.SERVER.PING",
		"_INBOX.x", "_R_.x", "else.where", "openclaw.request", "acme.request.before_prompt_build.main",
	} {
		require.NoError(t, nc.Publish(subject, []byte("{}")))
		require.ErrorContains(t, denied(), "Publish", subject)
	}
	for _, subject := range []string{"openclaw.request.>", "openclaw.event.>", "openclaw.runs", "openclaw.dlq.>", "$KV.>", "$SRV.>", "$JS.EVENT.ADVISORY.>", "_R_.>", ">", "*.>", "*"} {
		_, err := nc.SubscribeSync(subject)
		require.NoError(t, err)
		require.ErrorContains(t, denied(), "Subscription", subject)
	}

	// The acknowledgement of an event goes where the publisher says.
	before := messages(t, own.JS, stream)
	for _, reply := range []string{
		"$KV.OPENCLAW_EVENTS_EXPERIENCES.x", "openclaw.event.turn_begun.main.s", "openclaw.dlq.agent_end", "$JS.API.STREAM.PURGE." + stream, "$JS.API.STREAM.DELETE.KV_OPENCLAW_EVENTS_EXPERIENCES",
	} {
		require.NoError(t, nc.PublishRequest("openclaw.event.agent_end.main.s", reply, []byte("{}")))
		require.NoError(t, nc.PublishRequest("openclaw.request.before_prompt_build.main", reply, []byte("{}")))
	}
	require.NoError(t, nc.Flush())
	_, err = js.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err, "the server has taken all of it")
	require.Equal(t, before+6, messages(t, own.JS, stream), "what a gateway may publish, and nothing else")
	require.Zero(t, messages(t, own.JS, stream+"_DLQ"))
	entry, err := bucket.Get(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, "approved", string(entry.Value()))
	require.EqualValues(t, 1, messages(t, own.JS, "KV_OPENCLAW_EVENTS_EXPERIENCES"))
}

func TestWhatAnOperatorMayNot(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir := t.TempDir()
	opened(t, secured(dir, server.RANDOM_PORT))
	nc, denied := entering(t, dir, access.Operator)
	for _, subject := range []string{"openclaw.request.>", "openclaw.knowhub.*", ">"} {
		_, err := nc.SubscribeSync(subject)
		require.NoError(t, err)
		require.ErrorContains(t, denied(), "Subscription", subject)
	}
}

// A program that is there before the server of the data directory, as another user of
// the machine can start one: it takes any password.
func TestSquattedPort(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	opened(t, secured(dir, port)).Close() // the users are made
	for name, squat := range map[string]func() (stop func()){
		"a server without authentication": func() func() {
			return natstest.Start(t, &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir()}).Shutdown
		},
		"a server with users": func() func() {
			return natstest.Start(t, &server.Options{Host: "127.0.0.1", Port: port, Username: "operator", Password: "x"}).Shutdown
		},
		"the server of another directory": func() func() {
			return opened(t, secured(t.TempDir(), port)).Close
		},
		"a program that listens to what it is told": func() func() { return listening(t, port) },
	} {
		stop := squat()
		_, err := Open(t.Context(), secured(dir, port))
		require.ErrorIs(t, err, natsserver.ErrStranger, name)
		require.ErrorContains(t, err, "HINT_DATA_DIR", name)
		_, err = natsserver.LocalURL(secured(dir, port).Embedded)
		require.ErrorIs(t, err, natsserver.ErrStranger, name)
		o := secured(dir, port) // as if the server had gone after that
		o.URL, o.Local, o.Wait = "nats://127.0.0.1:"+strconv.Itoa(port), true, false
		_, err = Open(t.Context(), o)
		require.ErrorIs(t, err, natsserver.ErrStranger, name)
		stop()
	}
}

// listening greets as a server that asks for users, and fails the test if it is told
// anything.
func listening(t *testing.T, port int) (stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.NoError(t, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				_, _ = io.WriteString(c, `INFO {"server_id":"X","version":"2.15.2","proto":1,"auth_required":true,"nonce":"abc","max_payload":1048576}`+"\r\n")
				told, _ := io.ReadAll(c)
				if len(told) > 0 {
					t.Errorf("told %q", told)
				}
				_ = c.Close()
			})
		}
	})
	return func() {
		_ = l.Close()
		conns.Wait()
	}
}

// The server dies, and a stranger takes the port before another process restarts it.
func TestNoPasswordForAStrangerAtAReconnect(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	first := opened(t, secured(dir, port))
	provisionTest(t, first)
	second := opened(t, secured(dir, port))
	second.endWork() // it does not restart the server
	second.work.Wait()
	first.Close()
	stop := listening(t, port)
	require.Eventually(t, func() bool { return !second.NC.IsConnected() }, within, time.Millisecond)
	require.Never(t, second.NC.IsConnected, time.Second, 10*time.Millisecond)
	stop()

	third := opened(t, secured(dir, port))
	require.True(t, third.Embedded())
	require.Eventually(t, second.NC.IsConnected, within, time.Millisecond)
}

func TestSecuredServerIsStartedAgain(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	first := opened(t, secured(dir, port))
	named(t, first, "one")
	second := opened(t, secured(dir, port))
	named(t, second, "one")
	nc, _ := entering(t, dir, access.Gateway)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	first.Close()
	require.Eventually(t, func() bool { return second.Embedded() && second.NC.IsConnected() }, within, 10*time.Millisecond)
	require.EqualValues(t, 1, messages(t, second.JS, testLayout().Stream), "nothing that was acknowledged is missing")
	require.Eventually(t, nc.IsConnected, within, 10*time.Millisecond, "the gateway's password is the same")
}

// Two processes that start at once agree on the users.
func TestSecuredServersThatStartAtOnce(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	opening := make([]*Bus, 4)
	var all sync.WaitGroup
	for i := range opening {
		all.Go(func() {
			b, err := Open(t.Context(), secured(dir, port))
			if err != nil {
				t.Error(err)
				return
			}
			opening[i] = b
		})
	}
	all.Wait()
	embedded := 0
	for _, b := range opening {
		require.NotNil(t, b)
		require.NoError(t, b.CheckJetStream(t.Context()))
		if b.Embedded() {
			embedded++
		}
		t.Cleanup(b.Close)
	}
	require.Equal(t, 1, embedded)
}

// Streams of a server without users stay when it gets some, and the other way round.
func TestStreamsStayWhenAuthenticationIsTurnedOnAndOff(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir := t.TempDir()
	for i, auth := range []bool{false, true, false, true} {
		o := secured(dir, server.RANDOM_PORT)
		o.Embedded.Auth = auth
		b, err := Open(t.Context(), o)
		require.NoError(t, err)
		provisionTest(t, b)
		require.EqualValues(t, i, messages(t, b.JS, testLayout().Stream))
		_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
		require.NoError(t, err)
		b.Close()
	}
	accounts, err := os.ReadDir(filepath.Join(dir, "jetstream"))
	require.NoError(t, err)
	require.Len(t, accounts, 1)
	require.Equal(t, server.DEFAULT_GLOBAL_ACCOUNT, accounts[0].Name())
}

func TestConsumersOfOneDirectoryAgreeOnAuthentication(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	opened(t, secured(dir, port)).Close() // the users are made
	o := secured(dir, port)
	o.Embedded.Auth = false
	first := opened(t, o)
	_, err := Open(t.Context(), secured(dir, port))
	require.ErrorIs(t, err, errNoUsers)
	require.ErrorContains(t, err, "HINT_AUTH")
	require.NoError(t, command(t, dir, port).CheckJetStream(t.Context()), "a command reads what is there")
	first.Close()

	opened(t, secured(dir, port))
	o.Wait = false
	require.NoError(t, opened(t, o).CheckJetStream(t.Context()), "and finds its user whatever its setting is")
}

func TestUsersOfTheOperatorsFile(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Run("are taken as they are", func(t *testing.T) {
		dir := t.TempDir()
		o := secured(dir, server.RANDOM_PORT)
		o.Embedded.ConfFile = conf(t, `authorization { users: [{user: a, password: b}] }`)
		b := opened(t, o)
		require.NoDirExists(t, filepath.Join(dir, "nats"))
		nc, err := nats.Connect(b.URL(), nats.UserInfo("a", "b"))
		require.NoError(t, err)
		nc.Close()
	})
	for name, text := range map[string]string{
		"accounts without users": `accounts { A { jetstream: enabled } }`,
		"mappings without users": `mappings { a: b }`,
	} {
		t.Run(name, func(t *testing.T) {
			o := secured(t.TempDir(), server.RANDOM_PORT)
			o.Embedded.ConfFile = conf(t, text)
			_, err := Open(t.Context(), o)
			require.ErrorIs(t, err, natsserver.ErrConf)
			require.ErrorContains(t, err, "HINT_AUTH")
			require.ErrorIs(t, o.Embedded.Check(), natsserver.ErrConf)
			o.Embedded.Auth = false
			opened(t, o)
		})
	}
	t.Run("beyond loopback there must be some", func(t *testing.T) {
		o := secured(t.TempDir(), server.RANDOM_PORT)
		o.Embedded.ConfFile = conf(t, `listen: "0.0.0.0:-1"`)
		require.ErrorIs(t, o.Embedded.Check(), natsserver.ErrOpenListener)
		o.Embedded.AllowOpen = true
		b := opened(t, o)
		_, err := nats.Connect(b.URL())
		require.ErrorIs(t, err, nats.ErrAuthorization)
	})
}

func TestUsersReachTheirOwnPrefix(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir := t.TempDir()
	o := secured(dir, server.RANDOM_PORT)
	o.Embedded.Prefix, o.Embedded.InboxPrefix = "acme.hints", "_MINE"
	o.Identity.InboxPrefix = "_MINE"
	own := opened(t, o)
	_, err := own.NC.Subscribe("acme.hints.request.x.*", func(m *nats.Msg) { _ = m.Respond([]byte("{}")) })
	require.NoError(t, err)
	require.NoError(t, own.NC.Flush())
	for _, inbox := range []string{"_INBOX", "_MINE"} {
		for _, user := range []string{access.Gateway, access.Operator} {
			c, err := access.ReadContext(dir, user)
			require.NoError(t, err)
			nc, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password), nats.CustomInboxPrefix(inbox))
			require.NoError(t, err)
			_, err = nc.Request("acme.hints.request.x.main", nil, 5*time.Second)
			require.NoError(t, err, "%s %s", user, inbox)
			nc.Close()
		}
	}
}

func TestDamagedUsersAreNamed(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir := t.TempDir()
	opened(t, secured(dir, server.RANDOM_PORT)).Close()
	require.NoError(t, os.WriteFile(access.ContextFile(dir, access.Gateway), []byte("{"), 0o600))
	var log bytes.Buffer
	o := secured(dir, server.RANDOM_PORT)
	o.Log = slog.New(slog.NewJSONHandler(&log, nil))
	opened(t, o).Close()
	require.Equal(t, 1, strings.Count(log.String(), "NATS context replaced"))
	require.Contains(t, log.String(), "gateway.json")
	require.NotContains(t, log.String(), "nats-server: ", "the server has nothing to say about its users")

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "nats")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nats"), nil, 0o600))
	_, err := Open(t.Context(), secured(dir, server.RANDOM_PORT))
	require.ErrorIs(t, err, natsserver.ErrServerStart)
	require.ErrorContains(t, err, "users of the NATS server")
	require.NotContains(t, err.Error(), "\n")
}

// The context is damaged while the server runs: a command says so.
func TestCommandWithoutAUser(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	own := opened(t, secured(dir, port))
	file := access.ContextFile(dir, access.Operator)
	for name, damage := range map[string]func() error{
		"cut":     func() error { return os.Truncate(file, 20) },
		"removed": func() error { return os.Remove(file) },
	} {
		require.NoError(t, damage(), name)
		o := secured(dir, port)
		o.As, o.Wait, o.URL, o.Local = "", false, own.URL(), true
		_, err := Open(t.Context(), o)
		require.ErrorIs(t, err, ErrRefused, name)
		require.ErrorContains(t, err, file, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
	// A stale one names a password that is not the server's.
	require.NoError(t, os.WriteFile(file, []byte(`{"url": "nats://127.0.0.1:1", "user": "operator", "password": "old"}`), 0o600))
	o := secured(dir, port)
	o.As, o.Wait, o.URL, o.Local = "", false, own.URL(), true
	_, err := Open(t.Context(), o)
	require.ErrorIs(t, err, ErrRefused)
	own.Close()
	opened(t, secured(dir, port))
	require.NoError(t, command(t, dir, port).CheckJetStream(t.Context()), "the next start of the server goes by the file")
}

// The address of the server may be set as well; its password goes to that server only.
func TestURLOfTheServerOfTheDirectory(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	own := opened(t, secured(dir, port))
	o := secured(dir, port)
	o.URL = own.URL()
	require.NoError(t, opened(t, o).CheckJetStream(t.Context()))
	o.Embedded.DataDir = t.TempDir()
	_, err := Open(t.Context(), o)
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "HINT_DATA_DIR")

	// A server of the same port elsewhere.
	user, password := nats.GetDefaultOptions(), ""
	require.NoError(t, o.Embedded.JoinOption("nats://192.0.2.1:"+strconv.Itoa(port), access.Consumer)(&user))
	_, password = user.UserInfo()
	require.Empty(t, password)
}

func TestGatewaysContextIsShared(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	contexts := filepath.Join(t.TempDir(), "nats", "context")
	file := filepath.Join(contexts, "intenthint.json")
	dir := t.TempDir()
	o := secured(dir, porttest.Free(t))
	o.Embedded.Contexts = contexts
	opened(t, o).Close()
	require.NoFileExists(t, file, "only for the default port")

	if natsserver.Listens("127.0.0.1:4222") {
		t.Skip("the default port is taken on this machine")
	}
	o.Embedded.Port = server.DEFAULT_PORT
	b, err := Open(context.WithoutCancel(t.Context()), o)
	if err != nil && natsserver.Listens("127.0.0.1:4222") {
		t.Skip("the default port is taken on this machine")
	}
	require.NoError(t, err)
	defer b.Close()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var c access.Context
	require.NoError(t, json.Unmarshal(data, &c))
	nc, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password))
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Request("openclaw.request.x.main", nil, 5*time.Second)
	require.ErrorIs(t, err, nats.ErrNoResponders, "as the gateway")
}

// A gateway that asks from many inboxes, and says who it is, is still one gateway: the
// server tells.
func TestAGatewayCannotChooseItsBound(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir := t.TempDir()
	own := opened(t, secured(dir, server.RANDOM_PORT))
	gate := make(chan struct{})
	bound := Bound{Requests: 12, Bytes: 1 << 20, PerCaller: 4, PerCallerBytes: 1 << 20}
	callers := make(chan string, 100)
	s := startEndpoints(t, own, endpointOf("before_prompt_build", bound, func(_ context.Context, r Request) Reply {
		callers <- r.Caller
		<-gate
		return Reply{Body: []byte("{}")}
	}))
	refusals := make(chan string, 100)
	flood := func(n int) {
		nc, _ := entering(t, dir, access.Gateway)
		_, err := nc.Subscribe("_INBOX.>", func(m *nats.Msg) {
			if m.Header.Get(subjects.HeaderSkip) == "overloaded" {
				refusals <- m.Subject
			}
		})
		require.NoError(t, err)
		for i := range n {
			msg := nats.NewMsg("openclaw.request.before_prompt_build.main")
			msg.Reply = "_INBOX." + strconv.Itoa(i) + ".x"
			for _, name := range []string{"Nats-Request-Info", "Nats-Request-Info", "nats-request-info", "NATS-REQUEST-INFO"} {
				msg.Header[name] = append(msg.Header[name], `{"acc":"`+strconv.Itoa(i)+`","user":"x","server":"s","id":`+strconv.Itoa(i)+`}`)
			}
			require.NoError(t, nc.PublishMsg(msg))
		}
		require.NoError(t, nc.Flush())
	}
	refused := func(n int) {
		t.Helper()
		for range n {
			select {
			case <-refusals:
			case <-time.After(time.Minute):
				require.FailNow(t, "more was admitted than the bound")
			}
		}
	}
	flood(60)
	refused(56)
	flood(10) // from another connection of the same user, which has half in all
	refused(8)
	require.Eventually(t, func() bool { return len(callers) == 6 }, time.Minute, time.Millisecond)
	seen := map[string]int{}
	for range 6 {
		seen[<-callers]++
	}
	require.Len(t, seen, 2, seen)

	// Others are answered meanwhile.
	nc, _ := entering(t, dir, access.Operator)
	sub, err := nc.SubscribeSync("_INBOX.calm")
	require.NoError(t, err)
	require.NoError(t, nc.PublishRequest("openclaw.request.before_prompt_build.main", "_INBOX.calm", []byte("{}")))
	require.NoError(t, nc.Flush())
	select {
	case <-callers:
	case <-time.After(time.Minute):
		require.FailNow(t, "another user was refused")
	}
	close(gate)
	reply, err := sub.NextMsg(time.Minute)
	require.NoError(t, err)
	require.Empty(t, reply.Header.Get(subjects.HeaderSkip))
	require.NoError(t, s.Stop(t.Context()))
}
