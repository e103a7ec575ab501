package deploy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"intenthint/app"
	"intenthint/config"
	"intenthint/deploy/deploytest"
	"intenthint/handlers"
	"intenthint/hint/run"
	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/internal/tlstest"
	"intenthint/learning"
	"intenthint/record"
	"intenthint/store"
	storekv "intenthint/store/kv"
	"intenthint/subjects"
	"intenthint/triage/state"
)

var quiet = slog.New(slog.DiscardHandler)

func layout(replicas int) bus.Layout {
	return bus.Layout{
		Prefix: subjects.DefaultPrefix, QueueGroup: subjects.DefaultQueueGroup, Stream: subjects.DefaultStream,
		MaxAge: time.Hour, MaxBytes: 64 << 20, Replicas: replicas,
	}
}

// provision creates the streams, the durable and the bucket as the operator.
func provision(t *testing.T, s *deploytest.Site, ns *server.Server, replicas int) {
	t.Helper()
	js, err := jetstream.New(s.Connect(t, ns, "operator"))
	require.NoError(t, err)
	_, err = bus.Provision(t.Context(), js, layout(replicas))
	require.NoError(t, err)
	_, err = kv.Open(t.Context(), js, run.Bucket(layout(replicas)))
	require.NoError(t, err)
}

// denied returns the permission error for what nc sent last, nil without one.
func denied(t *testing.T, nc *nats.Conn, before error) error {
	t.Helper()
	require.NoError(t, nc.Flush())
	err := nc.LastError()
	if err == before || !errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // identity, not kind
		return nil
	}
	return err
}

func TestPermissions(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	ns := natstest.Start(t, s.Options(t, "standalone.conf"))
	provision(t, s, ns, 1)

	const stream, sessions, experiences = "OPENCLAW_EVENTS", "KV_OPENCLAW_EVENTS_SESSIONS", "KV_OPENCLAW_EVENTS_EXPERIENCES"
	const yes, no = true, false
	for _, row := range []struct {
		user    string
		allowed bool
		publish []string
		listen  []string // subjects to subscribe to, with a queue group after a space
	}{
		{
			user: "gateway", allowed: yes,
			publish: []string{"openclaw.request.before_prompt_build.main", "openclaw.request.before_dispatch.main", "openclaw.event.agent_end.main.s", "openclaw.knowhub.search", "openclaw.knowhub.submit", "openclaw.knowhub.content"},
			listen:  []string{"_INBOX_gateway.x"},
		},
		{
			user: "gateway", allowed: no,
			publish: []string{
				"openclaw.event.turn_begun.main.s", "openclaw.event.decided.main.0123456789ab", "openclaw.runs", "openclaw.dlq.agent_end",
				"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO." + stream,
				"$JS.API.STREAM.CREATE." + stream, "$JS.API.STREAM.UPDATE." + stream, "$JS.API.STREAM.DELETE." + stream, "$JS.API.STREAM.PURGE." + stream,
				"$JS.API.STREAM.MSG.GET." + stream, "$JS.API.STREAM.MSG.DELETE." + stream, "$JS.API.DIRECT.GET." + stream,
				"$JS.API.STREAM.MSG.GET." + sessions, "$JS.API.DIRECT.GET." + sessions + ".$KV.OPENCLAW_EVENTS_SESSIONS.s", "$KV.OPENCLAW_EVENTS_SESSIONS.s",
				"$JS.API.CONSUMER.CREATE." + stream + ".x", "$JS.API.CONSUMER.MSG.NEXT." + stream + ".intent-hint", "$JS.ACK." + stream + ".intent-hint.1.1.1.1.0",
				"openclaw.knowhub.approve", "openclaw.knowhub.reject", "openclaw.knowhub.pending", "$KV.OPENCLAW_EVENTS_EXPERIENCES.x",
				"_INBOX_consumer.x", "_INBOX_gateway.x", "_INBOX.x", "$SRV.PING", "$SYS.REQ.SERVER.PING", "else.where",
			},
			listen: []string{
				"openclaw.request.>", "openclaw.request.> intent-hint", "openclaw.request.*.main", "openclaw.event.>", "openclaw.runs", "openclaw.dlq.>",
				"_INBOX_consumer.>", "_INBOX_operator.>", "_INBOX.>", "$KV.>", "$SRV.>", "$JS.EVENT.ADVISORY.>", "$JS.>", ">", "*.>",
			},
		},
		{
			user: "consumer", allowed: yes,
			publish: []string{
				"openclaw.event.turn_begun.main.s", "openclaw.event.decided.main.0123456789ab", "openclaw.event.feedback.main.s", "openclaw.runs",
				"$KV.OPENCLAW_EVENTS_RUBRICS.0123456789ab", "$KV.OPENCLAW_EVENTS_DECISIONS.0123456789ab.x", "openclaw.dlq.agent_end",
				"$JS.API.INFO", "$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.INFO." + stream + "_DLQ",
				"$JS.API.CONSUMER.CREATE." + stream + ".x", "$JS.API.CONSUMER.CREATE." + stream + ".x.openclaw.event.*.*.s",
				"$JS.API.CONSUMER.CREATE." + stream + ".x.openclaw.event.turn_begun.>", "$JS.API.CONSUMER.CREATE." + stream + ".x.openclaw.event.feedback.>",
				"$JS.API.STREAM.INFO." + sessions, "$JS.API.STREAM.MSG.GET." + sessions, "$JS.API.STREAM.PURGE." + sessions,
				"$JS.API.CONSUMER.CREATE." + sessions + ".x.$KV.OPENCLAW_EVENTS_SESSIONS.>", "$KV.OPENCLAW_EVENTS_SESSIONS.s",
				"$JS.API.STREAM.INFO." + experiences, "$JS.API.DIRECT.GET." + experiences + ".$KV.OPENCLAW_EVENTS_EXPERIENCES.x", "$KV.OPENCLAW_EVENTS_EXPERIENCES.x",
				"$JS.API.CONSUMER.CREATE." + experiences + ".x.$KV.OPENCLAW_EVENTS_EXPERIENCES.>", "$JS.FC." + experiences + ".x", "$KV.OPENCLAW_EVENTS_KNOWHUB_TURNS.s",
			},
			listen: []string{"openclaw.knowhub.submit intent-hint", "openclaw.request.before_prompt_build.* intent-hint", "openclaw.request.> intent-hint", "openclaw.runs", "$SRV.PING", "$SRV.STATS.intent-hint.x", "_INBOX_consumer.x"},
		},
		{
			user: "consumer", allowed: no,
			publish: []string{
				"openclaw.event.agent_end.main.s", "openclaw.request.before_prompt_build.main",
				"$JS.API.STREAM.CREATE." + stream, "$JS.API.STREAM.UPDATE." + stream, "$JS.API.STREAM.DELETE." + stream, "$JS.API.STREAM.PURGE." + stream,
				"$JS.API.STREAM.DELETE." + stream + "_DLQ", "$JS.API.STREAM.PURGE." + stream + "_DLQ", "$JS.API.STREAM.DELETE." + sessions,
				"$JS.API.STREAM.DELETE." + experiences, "$JS.API.STREAM.PURGE." + experiences, "openclaw.knowhub.submit",
				"$JS.API.STREAM.MSG.GET." + stream, "$JS.API.STREAM.MSG.DELETE." + stream, "$JS.API.DIRECT.GET." + stream,
				"$JS.API.CONSUMER.DURABLE.CREATE." + stream + ".intent-hint",
				"$JS.API.CONSUMER.CREATE." + stream + ".intent-hint", "$JS.API.CONSUMER.CREATE." + stream + ".intent-hint.openclaw.event.turn_begun.>",
				"$JS.API.CONSUMER.CREATE." + stream + ".intent-hint.openclaw.event.feedback.>",
				"$JS.API.CONSUMER.DELETE." + stream + ".intent-hint",
				"$JS.API.SERVER.REMOVE", "$SYS.REQ.SERVER.PING", "else.where",
			},
			listen: []string{
				"openclaw.request.>", "openclaw.request.> another", "openclaw.request.before_prompt_build.*", "openclaw.request.before_prompt_build.* another", "openclaw.request.before_prompt_build.main", "openclaw.event.>", "openclaw.dlq.>",
				"_INBOX_gateway.>", "_INBOX.>", "$KV.>", "$JS.>", ">",
			},
		},
		{
			user: "operator", allowed: yes,
			publish: []string{"openclaw.request.before_prompt_build.main", "openclaw.event.agent_end.main.s", "$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.CREATE.OTHER", "$JS.SNAPSHOT.ACK." + stream + ".x", "$JS.SNAPSHOT.RESTORE." + stream + ".x", "$SRV.PING"},
			listen:  []string{"_INBOX_operator.x", "$JS.EVENT.ADVISORY.>"},
		},
		{
			user: "operator", allowed: no,
			publish: []string{"_INBOX_gateway.x", "$SYS.REQ.SERVER.PING"},
			listen:  []string{"openclaw.request.>", "openclaw.request.> intent-hint", "openclaw.event.>", "_INBOX_gateway.>", ">"},
		},
	} {
		name := row.user + " may"
		if !row.allowed {
			name += " not"
		}
		t.Run(name, func(t *testing.T) {
			nc := s.Connect(t, ns, row.user)
			for _, subject := range row.publish {
				before := nc.LastError()
				require.NoError(t, nc.PublishRequest(subject, "_INBOX_"+row.user+".nobody", []byte("{}")))
				err := denied(t, nc, before)
				require.Equal(t, row.allowed, err == nil, "publish to %s: %v", subject, err)
			}
			for _, subject := range row.listen {
				before := nc.LastError()
				subject, queue, _ := strings.Cut(subject, " ")
				sub, err := nc.QueueSubscribeSync(subject, queue)
				require.NoError(t, err)
				err = denied(t, nc, before)
				require.Equal(t, row.allowed, err == nil, "subscribe to %s in %q: %v", subject, queue, err)
				_ = sub.Unsubscribe()
			}
		})
	}
	js, err := jetstream.New(s.Connect(t, ns, "operator"))
	require.NoError(t, err)
	for _, name := range []string{stream, stream + "_DLQ", "KV_" + stream + "_CLAIMS"} {
		_, err := js.Stream(t.Context(), name)
		require.NoError(t, err, "%s is still there", name)
	}
}

func TestOnlyAConsumerAnswersRequests(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	ns := natstest.Start(t, s.Options(t, "standalone.conf"))
	consumer, gateway := s.Connect(t, ns, "consumer"), s.Connect(t, ns, "gateway")
	asked := make(chan *nats.Msg, 1)
	_, err := consumer.QueueSubscribe("openclaw.request.>", "intent-hint", func(m *nats.Msg) {
		_ = m.Respond([]byte("a hint"))
		asked <- m // after the response: who receives it may flush
	})
	require.NoError(t, err)
	require.NoError(t, consumer.Flush())
	reply, err := gateway.Request("openclaw.request.before_prompt_build.main", []byte("{}"), 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, "a hint", string(reply.Data))

	m := <-asked
	before := gateway.LastError()
	require.NoError(t, gateway.Publish(m.Reply, []byte("a forged hint")))
	require.Error(t, denied(t, gateway, before))

	// Replies cannot go to the JetStream API: a consumer may not publish there, and those
	// to a gateway reach its own account only.
	provision(t, s, ns, 1)
	operator := s.Connect(t, ns, "operator")
	for _, order := range []string{
		"$JS.API.STREAM.DELETE." + subjects.DefaultStream, "$JS.API.STREAM.PURGE." + subjects.DefaultStream,
		"$JS.API.CONSUMER.DELETE." + subjects.DefaultStream + "." + subjects.DefaultQueueGroup,
	} {
		before := consumer.LastError()
		require.NoError(t, operator.PublishRequest("openclaw.request.before_prompt_build.main", order, []byte("{}")))
		<-asked
		require.Error(t, denied(t, consumer, before), order)
		require.NoError(t, gateway.PublishRequest("openclaw.request.before_prompt_build.main", order, []byte("{}")))
		require.Contains(t, (<-asked).Reply, "_R_.", order)
		require.NoError(t, consumer.Flush())
	}
	js, err := jetstream.New(operator)
	require.NoError(t, err)
	durable, err := js.Consumer(t.Context(), subjects.DefaultStream, subjects.DefaultQueueGroup)
	require.NoError(t, err, "stream and durable are still there")
	require.Equal(t, subjects.DefaultQueueGroup, durable.CachedInfo().Name)
}

// A publish acknowledgement goes where the publisher says, with the server's rights, and
// a reply goes where the requester says (contract §2). From the account of gateways
// neither reaches a bucket, another stream, or an event that a gateway may not publish.
func TestAcknowledgementsReachNothingOfTheSystem(t *testing.T) {
	for _, row := range []struct {
		name, accounts, user, prefix, stream string
	}{
		{"accounts.conf", "accounts.conf", "gateway", "openclaw", subjects.DefaultStream},
		{"tenants.conf", "tenants.conf", "acme", "acme", "ACME_EVENTS"},
		{"partitions.conf", "partitions.conf", "gateway", "openclaw.0", "OPENCLAW_EVENTS_0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			hash, err := bcrypt.GenerateFromPassword([]byte(deploytest.Password("acme")), bcrypt.MinCost)
			require.NoError(t, err)
			t.Setenv("ACME_PASSWORD", string(hash))
			t.Setenv("GLOBEX_PASSWORD", string(hash))
			changes := map[string]string{}
			if row.accounts != "accounts.conf" {
				changes[`include "accounts.conf"`] = fmt.Sprintf("include %q", row.accounts)
			}
			s := deploytest.NewSite(t, ".").Edited(t, changes)
			ns := deploytest.Start(t, s.Options(t, "standalone.conf"))
			as := func(user string) *nats.Conn {
				return s.Connect(t, ns, "gateway", nats.UserInfo(user, deploytest.Password(user)))
			}
			owner := as("consumer") // of the files other than accounts.conf: may do everything
			if row.accounts == "accounts.conf" {
				owner = s.Connect(t, ns, "operator")
			}
			js, err := jetstream.New(owner)
			require.NoError(t, err)
			l := layout(1)
			l.Prefix, l.Stream = subjects.Prefix(row.prefix), row.stream
			_, err = bus.Provision(t.Context(), js, l)
			require.NoError(t, err)
			bucket, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: row.stream + "_EXPERIENCES"})
			require.NoError(t, err)
			revision, err := bucket.PutString(t.Context(), "x", "approved")
			require.NoError(t, err)
			answers := s.Connect(t, ns, "consumer")
			_, err = answers.QueueSubscribe(row.prefix+".request.>", "intent-hint", func(m *nats.Msg) { _ = m.Respond([]byte(`{"hook":"turn_begun"}`)) })
			require.NoError(t, err)
			require.NoError(t, answers.Flush())
			durable, err := js.Consumer(t.Context(), row.stream, subjects.DefaultQueueGroup)
			require.NoError(t, err)

			gateway := as(row.user)
			agent := agentOf(t, gateway, js, row.stream) // one of the partition
			_, err = durable.Next(jetstream.FetchMaxWait(5 * time.Second))
			require.NoError(t, err)
			targets := []string{
				"$KV." + row.stream + "_EXPERIENCES.x", row.prefix + ".dlq.agent_end", "openclaw.dlq.agent_end",
				row.prefix + ".event.turn_begun.main.s", "openclaw.event.turn_begun.main.s",
				"$JS.ACK." + row.stream + ".intent-hint.1.1.1.1763680000000000000.0", "$JS.API.STREAM.DELETE." + row.stream, row.prefix + ".runs", "openclaw.runs",
			}
			for _, target := range targets {
				require.NoError(t, gateway.PublishRequest("openclaw.event.agent_end."+agent+".s", target, []byte("{}")))
				require.NoError(t, gateway.PublishRequest("openclaw.request.before_prompt_build."+agent, target, []byte("{}")))
			}
			// Later than all of these: in the order of the connection, and of the consumer.
			_, err = gateway.Request("openclaw.event.agent_end."+agent+".s", []byte("{}"), 5*time.Second)
			require.NoError(t, err)
			_, err = gateway.Request("openclaw.request.before_prompt_build."+agent, []byte("{}"), 5*time.Second)
			require.NoError(t, err)

			entry, err := bucket.Get(t.Context(), "x")
			require.NoError(t, err)
			require.Equal(t, revision, entry.Revision())
			stream, err := js.Stream(t.Context(), row.stream)
			require.NoError(t, err)
			info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(row.prefix+".event.>"))
			require.NoError(t, err)
			// The first and the last, and one for each target but $JS.ACK: the server drops those.
			require.EqualValues(t, 1+len(targets), info.State.Subjects[row.prefix+".event.agent_end."+agent+".s"])
			for subject := range info.State.Subjects {
				require.NotContains(t, subject, "turn_begun")
			}
			letters, err := js.Stream(t.Context(), row.stream+"_DLQ")
			require.NoError(t, err)
			require.Zero(t, letters.CachedInfo().State.Msgs)
			state, err := durable.Info(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, state.NumAckPending, "nobody acknowledged the event that was fetched")
		})
	}
}

// agentOf returns an agent whose events are stored in the stream, after one event of it.
func agentOf(t *testing.T, gateway *nats.Conn, js jetstream.JetStream, stream string) string {
	t.Helper()
	for n := range 100 {
		agent := fmt.Sprint("agent", n)
		if _, err := gateway.Request("openclaw.event.agent_end."+agent+".s", []byte("{}"), 5*time.Second); errors.Is(err, nats.ErrNoResponders) {
			continue // of another partition
		}
		s, err := js.Stream(t.Context(), stream)
		require.NoError(t, err)
		if s.CachedInfo().State.Msgs == 1 {
			return agent
		}
	}
	t.Fatal("no agent of this stream")
	return ""
}

// Each gateway has a user and inboxes of its own: none reads the replies to another.
func TestGatewaysReadTheirOwnRepliesOnly(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	ns := deploytest.Start(t, s.Options(t, "standalone.conf"))
	for user, other := range map[string]string{"gateway": "gateway2", "gateway2": "gateway"} {
		nc := s.Connect(t, ns, user)
		for subject, allowed := range map[string]bool{"_INBOX_" + user + ".>": true, "_INBOX_" + other + ".>": false, "_R_.>": false} {
			before := nc.LastError()
			_, err := nc.SubscribeSync(subject)
			require.NoError(t, err)
			require.Equal(t, allowed, denied(t, nc, before) == nil, "%s subscribes to %s", user, subject)
		}
	}
}

// serviceUser returns the user that accounts.conf shows for an own service.
func serviceUser(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("accounts.conf")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^#   \{ user: service,(?s:.*?)\n#   \} \}$`).FindString(string(text))
	require.NotEmpty(t, found)
	return strings.ReplaceAll(found, "\n#", "\n")[1:]
}

func TestOwnServiceDecidesAboutAHook(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte(deploytest.Password("service")), bcrypt.MinCost)
	require.NoError(t, err)
	t.Setenv("SERVICE_PASSWORD", string(hash))
	t.Setenv("ACME_PASSWORD", string(hash))
	t.Setenv("GLOBEX_PASSWORD", string(hash))
	const bare = "{ user: service, password: $SERVICE_PASSWORD }"
	as := func(user string) nats.Option { return nats.UserInfo(user, deploytest.Password("service")) }
	for _, row := range []struct {
		name     string
		changes  map[string]string
		gateway  []nats.Option // gateway, unless it says otherwise
		prefix   string        // of the consumer
		requests string        // what the service subscribes to
	}{
		{
			name:     "accounts.conf",
			changes:  map[string]string{"      { user: consumer,": serviceUser(t) + "\n      { user: consumer,"},
			prefix:   "openclaw",
			requests: "openclaw.request.before_tool_call.*",
		},
		{
			name: "tenants.conf in the account of a tenant",
			changes: map[string]string{
				`include "accounts.conf"`: `include "tenants.conf"`,
				"users: [{ user: acme,":   "users: [" + bare + ", { user: acme,",
			},
			gateway:  []nats.Option{as("acme")},
			prefix:   "acme",
			requests: "openclaw.request.before_tool_call.*",
		},
		{
			name: "tenants.conf in the account of consumers",
			changes: map[string]string{
				`include "accounts.conf"`:                                     `include "tenants.conf"`,
				"users: [{ user: consumer, password: $CONSUMER_PASSWORD }]\n": "users: [" + bare + ", { user: consumer, password: $CONSUMER_PASSWORD }]\n",
			},
			gateway:  []nats.Option{as("acme")},
			prefix:   "acme",
			requests: "acme.request.before_tool_call.*",
		},
		{
			name: "partitions.conf",
			changes: map[string]string{
				`include "accounts.conf"`:                                   `include "partitions.conf"`,
				"users: [{ user: consumer, password: $CONSUMER_PASSWORD }]": "users: [" + bare + ", { user: consumer, password: $CONSUMER_PASSWORD }]",
			},
			prefix:   "openclaw.*",
			requests: "openclaw.*.request.before_tool_call.*",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := deploytest.NewSite(t, ".").Edited(t, row.changes)
			ns := deploytest.Start(t, s.Options(t, "standalone.conf"))
			gateway := s.Connect(t, ns, "gateway", row.gateway...)
			answer := func(nc *nats.Conn, subject, queue, text string) {
				_, err := nc.QueueSubscribe(subject, queue, func(m *nats.Msg) { _ = m.Respond([]byte(text)) })
				require.NoError(t, err)
				require.NoError(t, denied(t, nc, nil))
			}
			ask := func(hook string) (string, error) {
				reply, err := gateway.Request("openclaw.request."+hook+".main", []byte("{}"), 5*time.Second)
				if err != nil {
					return "", err
				}
				return string(reply.Data), nil
			}
			answer(s.Connect(t, ns, "consumer"), row.prefix+".request.before_prompt_build.*", "intent-hint", "a hint")
			_, err := ask("before_tool_call")
			require.ErrorIs(t, err, nats.ErrNoResponders, "without the service")

			answer(s.Connect(t, ns, "gateway", as("service")), row.requests, "", "a decision")
			for range 50 {
				for hook, want := range map[string]string{"before_tool_call": "a decision", "before_prompt_build": "a hint"} {
					got, err := ask(hook)
					require.NoError(t, err, hook)
					require.Equal(t, want, got, hook)
				}
			}
			_, err = ask("before_dispatch")
			require.ErrorIs(t, err, nats.ErrNoResponders, "a hook without a service")
		})
	}
}

func TestRareOperationsOfAConsumer(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	ns := natstest.Start(t, s.Options(t, "standalone.conf"))
	provision(t, s, ns, 1)
	gateway, err := jetstream.New(s.Connect(t, ns, "gateway"))
	require.NoError(t, err)
	nc := s.Connect(t, ns, "consumer")
	js, err := jetstream.New(nc)
	require.NoError(t, err)

	// Several acknowledgements of one event: a batch that takes long to apply.
	_, err = gateway.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	durable, err := js.Consumer(t.Context(), subjects.DefaultStream, subjects.DefaultQueueGroup)
	require.NoError(t, err)
	m, err := durable.Next(jetstream.FetchMaxWait(5 * time.Second))
	require.NoError(t, err)
	require.NoError(t, m.InProgress())
	require.NoError(t, m.InProgress())
	require.NoError(t, m.DoubleAck(t.Context()))

	// The claim of another consumer on a run, which expires.
	bucket, err := kv.Open(t.Context(), js, run.Bucket(layout(1)))
	require.NoError(t, err)
	mine, theirs := run.NewClaims(bucket, quiet), run.NewClaims(bucket, quiet)
	now := time.Now()
	require.True(t, mine.Claim(t.Context(), "run", now, now.Add(time.Second)).IsZero())
	require.False(t, theirs.Claim(t.Context(), "run", now, now.Add(time.Second)).IsZero())
	require.True(t, theirs.Claim(t.Context(), "run", now.Add(2*time.Second), now.Add(3*time.Second)).IsZero())
	theirs.Release(t.Context(), "run")
	require.True(t, mine.Claim(t.Context(), "run", now, now.Add(time.Second)).IsZero())

	operator, err := jetstream.New(s.Connect(t, ns, "operator"))
	require.NoError(t, err)
	// What the triage gate does with its buckets.
	buckets := state.BucketsOf(layout(1))
	require.NoError(t, state.New(operator, buckets).Open(t.Context()))
	shared := state.New(js, buckets)
	require.NoError(t, shared.Pend(t.Context(), "g", "1", now))
	for _, first := range []bool{true, false} {
		_, got, err := shared.Decide(t.Context(), state.Decision{Group: "g", MessageID: "1", Verdict: state.Skip})
		require.NoError(t, err)
		require.Equal(t, first, got)
	}
	told, _, _, err := shared.Take(t.Context(), state.Turn{Group: "g", Run: "r1"}, 1, now)
	require.NoError(t, err)
	require.Len(t, told, 1)
	_, err = shared.Remember(t.Context(), "g", state.RecentMessage{ID: "1", Text: "x"}, state.Keep{Texts: 1})
	require.NoError(t, err)
	require.NoError(t, shared.Mark(t.Context(), state.Mark{Group: "g", MessageID: "1", Verdict: state.Skip, At: 1}))
	ctx, cancel := context.WithCancel(t.Context())
	shared.Follow(ctx, func(marks []state.Mark) {
		if len(marks) == 1 {
			cancel()
		}
	}, quiet)

	// What the local classifier learns, and forgets for good.
	require.NoError(t, learning.Of(layout(1), operator).Open(t.Context()))
	examples := learning.Of(layout(1), js)
	_, err = examples.Put(t.Context(), record.Lesson{RunID: "r1", Session: "s", Text: "x", Intent: "CHAT", Source: record.LessonModel, At: 1})
	require.NoError(t, err)
	ctx, cancel = context.WithCancel(t.Context())
	examples.Follow(ctx, func(known []learning.Example) {
		if len(known) == 1 {
			cancel()
		}
	}, quiet)
	n, err := examples.Forget(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, 1, n)

	// Old sessions are removed.
	_, err = operator.CreateKeyValue(t.Context(), layout(1).Bucket(storekv.Suffix, storekv.Description))
	require.NoError(t, err)
	sessions, err := storekv.Open(t.Context(), js, layout(1).Bucket(storekv.Suffix, storekv.Description), store.Options{HistoryLimit: 1, Now: func() time.Time { return time.Now().Add(time.Hour) }})
	require.NoError(t, err)
	_, _, fact, err := handlers.Decoder{}.Fact("", "e1", []byte(`{"hook":"agent_end","id":"e1","ts":1763680001000,"event":{"runId":"r1","messages":[]},"ctx":{"runId":"r1","agentId":"main","sessionId":"s1"}}`))
	require.NoError(t, err)
	require.NoError(t, sessions.Apply(t.Context(), []store.Fact{fact}))
	removed, err := sessions.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, removed)

	require.NoError(t, nc.LastError(), "everything was allowed")
}

func TestAuthentication(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	passwords := natstest.Start(t, s.Options(t, "standalone.conf"))
	other := tlstest.New(t)
	strange, strangeKey := other.Issue("gateway")
	unknown, unknownKey := s.Authority.Issue("somebody")
	for _, row := range []struct {
		name string
		opts []nats.Option
	}{
		{"a wrong password", []nats.Option{nats.UserInfo("gateway", "guess")}},
		{"another's password", []nats.Option{nats.UserInfo("operator", deploytest.Password("gateway"))}},
		{"the hash instead of the password", []nats.Option{nats.UserInfo("gateway", os.Getenv("GATEWAY_PASSWORD"))}},
		{"an unknown user", []nats.Option{nats.UserInfo("admin", "")}},
		{"a token", []nats.Option{nats.UserInfo("", ""), nats.Token("x")}},
		{"no certificate", []nats.Option{noCertificate}},
		{"a certificate of another authority", []nats.Option{noCertificate, nats.ClientCert(strange, strangeKey)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := s.Dial(passwords, "gateway", row.opts...)
			require.Error(t, err)
		})
	}

	t.Run("another's certificate", func(t *testing.T) {
		ns := natstest.Start(t, edited(t, s, map[string]string{`include "tls.conf"`: `include "tls-users.conf"`}))
		s.Connect(t, ns, "gateway")
		asConsumer := nats.UserInfo("consumer", deploytest.Password("consumer"))
		_, err := s.Dial(ns, "gateway", asConsumer)
		require.ErrorIs(t, err, nats.ErrAuthorization)
		_, err = s.Dial(ns, "consumer", noCertificate, nats.ClientCert(unknown, unknownKey))
		require.ErrorIs(t, err, nats.ErrAuthorization)
	})
	t.Run("certificates without passwords", func(t *testing.T) {
		ns := natstest.Start(t, edited(t, s, map[string]string{
			`include "tls.conf"`:             `include "tls-users.conf"`,
			`, password: $GATEWAY_PASSWORD`:  ``,
			`, password: $CONSUMER_PASSWORD`: ``,
		}))
		nobody := nats.UserInfo("", "")
		gateway := s.Connect(t, ns, "gateway", nobody)
		require.NoError(t, gateway.Publish("openclaw.dlq.x", nil))
		require.Error(t, denied(t, gateway, nil), "it has the permissions of a gateway")
		_, err := s.Dial(ns, "gateway", nobody, noCertificate, nats.ClientCert(unknown, unknownKey))
		require.ErrorIs(t, err, nats.ErrAuthorization)
	})
}

// edited returns the options of standalone.conf after changes in the files.
func edited(t *testing.T, s *deploytest.Site, changes map[string]string) *server.Options {
	t.Helper()
	return s.Edited(t, changes).Options(t, "standalone.conf")
}

// noCertificate removes the client certificate.
func noCertificate(o *nats.Options) error {
	o.TLSCertCB = nil
	return nil
}

func TestStandaloneServer(t *testing.T) {
	deploytest.NewSite(t, ".")
	t.Setenv("NATS_STORE", t.TempDir())
	opts, err := server.ProcessConfigFile("standalone.conf")
	require.NoError(t, err)
	shipped, err := server.ProcessConfigFile("../nats.conf")
	require.NoError(t, err)
	require.Equal(t, "0.0.0.0:4222", net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
	require.Equal(t, "127.0.0.1:8222", net.JoinHostPort(opts.HTTPHost, strconv.Itoa(opts.HTTPPort)))
	require.Equal(t, shipped.MaxPayload, opts.MaxPayload)
	require.Equal(t, shipped.MaxPending, opts.MaxPending)
	require.True(t, opts.SyncAlways)
	require.Equal(t, os.Getenv("NATS_STORE"), opts.StoreDir)
	require.Equal(t, tls.RequireAndVerifyClientCert, opts.TLSConfig.ClientAuth)
	require.NoError(t, natsserver.Options{ConfFile: "standalone.conf", DataDir: t.TempDir()}.Check(), "the check of open servers passes")
}

func TestFilesWithTheEmbeddedServer(t *testing.T) {
	deploytest.NewSite(t, ".")
	t.Setenv("NATS_STORE", filepath.Join(t.TempDir(), "unused"))
	dir := deploytest.Copy(t, ".", map[string]string{`listen: "0.0.0.0:4222"`: `listen: "127.0.0.1:-1"`, `http: "127.0.0.1:8222"`: ``})
	b, err := bus.Open(t.Context(), bus.Options{
		Embedded: natsserver.Options{ConfFile: filepath.Join(dir, "standalone.conf"), DataDir: t.TempDir()}, Log: quiet,
	})
	require.NoError(t, err)
	defer b.Close()
	_, err = bus.Provision(t.Context(), b.JS, layout(1))
	require.NoError(t, err, "the process with the server may create")
	require.NoDirExists(t, os.Getenv("NATS_STORE"))
	_, err = nats.Connect(b.URL())
	require.Error(t, err)
}

func TestCluster(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	var ports [natstest.Nodes]int
	nodes := natstest.Cluster(t, func(node int, at [natstest.Nodes]int) *server.Options {
		ports = at
		var routes []string
		for _, port := range ports {
			routes = append(routes, fmt.Sprintf(`"nats://route:routeSecret1@127.0.0.1:%d"`, port))
		}
		t.Setenv("ROUTE_PASSWORD", "routeSecret1")
		t.Setenv("NATS_ROUTES", "["+strings.Join(routes, ",")+"]")
		t.Setenv("NATS_NAME", fmt.Sprintf("nats-%d", node+1))
		t.Setenv("NATS_CLIENT_ADVERTISE", fmt.Sprintf("nats-%d:4222", node+1))
		t.Setenv("NATS_ROUTE_ADVERTISE", fmt.Sprintf("127.0.0.1:%d", ports[node]))
		opts := s.Options(t, "cluster.conf")
		require.Equal(t, os.Getenv("NATS_CLIENT_ADVERTISE"), opts.ClientAdvertise)
		require.Equal(t, os.Getenv("NATS_ROUTE_ADVERTISE"), opts.Cluster.Advertise)
		opts.ClientAdvertise = "" // a name of no host here
		require.Equal(t, "0.0.0.0:6222", net.JoinHostPort(opts.Cluster.Host, strconv.Itoa(opts.Cluster.Port)))
		return opts
	})

	provision(t, s, nodes[0], 3)
	gateway, err := jetstream.New(s.Connect(t, nodes[2], "gateway"))
	require.NoError(t, err)
	_, err = gateway.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	operator, err := jetstream.New(s.Connect(t, nodes[1], "operator"))
	require.NoError(t, err)
	stream, err := operator.Stream(t.Context(), subjects.DefaultStream)
	require.NoError(t, err)
	require.Len(t, stream.CachedInfo().Cluster.Replicas, 2)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs)

	t.Run("no other server joins", func(t *testing.T) {
		address := fmt.Sprintf("127.0.0.1:%d", ports[0])
		require.Contains(t, joins(t, address, s, "guess", true), "Authorization Violation")
		require.Empty(t, joins(t, address, s, "routeSecret1", false), "no certificate")
		require.Contains(t, joins(t, address, s, "routeSecret1", true), "PONG", "with both it joins")
	})
}

// joins connects as a cluster route and returns the server's answer.
func joins(t *testing.T, address string, s *deploytest.Site, password string, certificate bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	require.NoError(t, err)
	defer func() { _ = plain.Close() }()
	require.NoError(t, plain.SetDeadline(time.Now().Add(10*time.Second)))
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(s.Authority.File)
	require.NoError(t, err)
	require.True(t, pool.AppendCertsFromPEM(pem))
	conf := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	if certificate {
		pair, err := tls.LoadX509KeyPair(os.Getenv("NATS_CERT"), os.Getenv("NATS_KEY"))
		require.NoError(t, err)
		conf.Certificates = []tls.Certificate{pair}
	}
	conn := tls.Client(plain, conf)
	if conn.HandshakeContext(ctx) != nil {
		return ""
	}
	_, err = fmt.Fprintf(conn, "CONNECT {\"user\":\"route\",\"pass\":%q,\"tls_required\":true,\"name\":\"X\",\"cluster\":\"intenthint\"}\r\nPING\r\n", password)
	if err != nil {
		return ""
	}
	var told strings.Builder
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		if lines.Text() == "PONG" {
			break
		}
	}
	return told.String()
}

func TestCertificatesScript(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("needs openssl")
	}
	dir := t.TempDir()
	issue := func(hosts ...string) {
		out, err := exec.CommandContext(t.Context(), "./certificates.sh", append([]string{dir}, hosts...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	issue("127.0.0.1", "nats-1.example")
	authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	require.NoError(t, err)
	issue("127.0.0.1", "::1")
	again, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	require.NoError(t, err)
	require.Equal(t, authority, again, "the authority is kept when hosts are added")
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(authority))
	for name, usage := range map[string]x509.ExtKeyUsage{
		"127.0.0.1": x509.ExtKeyUsageServerAuth, "nats-1.example": x509.ExtKeyUsageServerAuth, "::1": x509.ExtKeyUsageServerAuth,
		"gateway": x509.ExtKeyUsageClientAuth, "consumer": x509.ExtKeyUsageClientAuth, "operator": x509.ExtKeyUsageClientAuth, "system": x509.ExtKeyUsageClientAuth,
	} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
		require.NoError(t, err)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}})
		require.NoError(t, err, name)
		info, err := os.Stat(filepath.Join(dir, name+".key"))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is readable by others", info.Name())
	}
	for _, user := range deploytest.Users {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, user+".pem"), filepath.Join(dir, user+".key"))
		require.NoError(t, err)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		require.Error(t, err, "certificate of %s for a server", user)
	}
}

var variableName = regexp.MustCompile(`\bHINT_[A-Z_]+\b`)

func TestVariablesInTheFiles(t *testing.T) {
	known := map[string]bool{}
	for _, v := range config.Variables(app.Objects()...) {
		known[v.Name] = true
	}
	files, err := filepath.Glob("*")
	require.NoError(t, err)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasSuffix(file, ".go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range variableName.FindAllString(string(text), -1) {
			require.True(t, known[name], "%s: %s", file, name)
		}
	}
	// The servers' variables are in the example.
	example, err := os.ReadFile("server.env.example")
	require.NoError(t, err)
	needed := regexp.MustCompile(`\$((?:NATS|ROUTE)_[A-Z]+|[A-Z]+2?_PASSWORD)\b`)
	for _, file := range []string{"accounts.conf", "server.conf", "standalone.conf", "cluster.conf", "tls.conf", "tls-users.conf"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range needed.FindAllStringSubmatch(withoutComments(string(text)), -1) {
			require.Regexp(t, `(?m)^`+m[1]+`=`, string(example), file)
		}
	}
}

func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// unit reads a systemd unit: values by section and name.
func unit(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	out := map[string][]string{}
	section := ""
	for line := range strings.Lines(withoutComments(string(text))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			out[section+"."+name] = append(out[section+"."+name], value)
		} else {
			require.Empty(t, line, "invalid line of a unit")
		}
	}
	return out
}

func TestUnit(t *testing.T) {
	u := unit(t, "intenthint.service")
	require.Equal(t, []string{"/usr/local/bin/consumer run"}, u["Service.ExecStart"])
	require.Equal(t, []string{"2"}, u["Service.RestartPreventExitStatus"])
	require.Equal(t, []string{"yes"}, u["Service.DynamicUser"])
	require.Equal(t, []string{"strict"}, u["Service.ProtectSystem"])
	require.Equal(t, []string{"intenthint"}, u["Service.StateDirectory"])
	require.Equal(t, []string{"HINT_DATA_DIR=/var/lib/intenthint"}, u["Service.Environment"], "the directory that the unit may write to")
	stop, err := time.ParseDuration(u["Service.TimeoutStopSec"][0])
	require.NoError(t, err)
	require.Greater(t, stop, 70*time.Second, "the longest request and ten more seconds")

	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	// The binary of the unit is not installed here.
	dir := t.TempDir()
	text, err := os.ReadFile("intenthint.service")
	require.NoError(t, err)
	file := filepath.Join(dir, "intenthint.service")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/consumer", "/bin/true")), 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
}

func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	_, image, found := strings.Cut(string(text), "\nFROM scratch\n")
	require.True(t, found, "the image is empty but for the copied files")
	require.Contains(t, string(text), "CGO_ENABLED=0", "there are no libraries to link against")
	require.Regexp(t, `(?m)^USER [1-9]\d*:[1-9]\d*$`, image, "a number, as there is no /etc/passwd, and not root")
	require.Contains(t, image, "ca-certificates.crt", "models are called over TLS")
	require.Contains(t, image, "\nENV HINT_DATA_DIR=/data\n")
	require.Contains(t, image, "--chown=65532:65532 /out/data /data\n", "the directory must be writable")
	require.Contains(t, image, "\nENTRYPOINT [\"/consumer\"]\n")
	require.Regexp(t, `(?m)^HEALTHCHECK .*CMD \["/consumer", "health"\]$`, image, "without a shell")
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	require.Contains(t, string(text), "ARG GO_IMAGE=golang:"+version[1]+"\nFROM ${GO_IMAGE} AS build\n")
	require.Contains(t, image, "\nCOPY --from=build /out/LICENSES /LICENSES\n")
	require.Contains(t, string(text), "/out/consumer licenses > /out/LICENSES\n")
	require.Contains(t, image, `org.opencontainers.image.version="`+programVersion(t)+`"`)
	require.Contains(t, image, "\nEXPOSE 8377\n")
	for _, m := range regexp.MustCompile(`(?m)^COPY --from=build .*?(/src/\S+)`).FindAllStringSubmatch(image, -1) {
		require.False(t, dockerignored(t, strings.TrimPrefix(m[1], "/src/")), m[1])
	}
}

// programVersion is the version of the consumer.
func programVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../cmd/consumer/version.go")
	require.NoError(t, err)
	return regexp.MustCompile(`const version = "(.+)"`).FindStringSubmatch(string(text))[1]
}

// dockerignored reports whether .dockerignore matches a path or one of its parent
// directories. It supports the patterns of the file: names, * and a leading **/.
func dockerignored(t *testing.T, name string) bool {
	t.Helper()
	text, err := os.ReadFile("../.dockerignore")
	require.NoError(t, err)
	for line := range strings.Lines(withoutComments(string(text))) {
		pattern := strings.TrimSpace(line)
		require.NotContains(t, pattern, "!", "exceptions are not supported")
		if pattern == "" {
			continue
		}
		pattern, anywhere := strings.CutPrefix(pattern, "**/")
		for i, part := range strings.Split(name, "/") {
			if i > 0 && !anywhere {
				break
			}
			match, err := path.Match(pattern, part)
			require.NoError(t, err)
			if match {
				return true
			}
		}
	}
	return false
}

func TestDockerignore(t *testing.T) {
	for _, name := range []string{
		"data/sessions/s.json", "data/jetstream/x", ".cache/bin/golangci-lint", ".git", ".git/config", "bin/consumer",
		"node_modules/x/index.js", "openclaw-plugin/node_modules/nats/index.js", "test/e2e/openclaw/node_modules/x",
		"consumer.env", "deploy/server.env", "pki/ca.key", "pki/consumer.pem", "consumer.nk",
		"store/store_test.go", "docs/contract.md", "README.md", "tools/bench/main.go",
	} {
		require.True(t, dockerignored(t, name), name)
	}
	ignored, err := os.ReadFile("../.gitignore")
	require.NoError(t, err)
	for name := range strings.FieldsSeq(string(ignored)) {
		name = strings.ReplaceAll(strings.Trim(name, "/"), "*", "x")
		require.True(t, dockerignored(t, name), "in .gitignore: %s", name)
	}

	// The files of the binary are copied.
	const files = `{{if .Module}}{{if eq .Module.Path "intenthint"}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}`
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", files, "./cmd/consumer")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	needed := strings.Fields(string(out))
	require.Greater(t, len(needed), 100)
	for _, name := range append(needed, filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		name, err := filepath.Rel(root, name)
		require.NoError(t, err)
		require.False(t, dockerignored(t, filepath.ToSlash(name)), name)
	}
}
