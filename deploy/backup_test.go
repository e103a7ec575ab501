package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/deploy/deploytest"
	"intenthint/internal/bus"
	"intenthint/internal/natstest"
)

// saved is a stream as `nats backup` writes it.
type saved struct {
	Config server.StreamConfig
	State  server.StreamState
	Data   []byte
}

// ask sends a request of the JetStream API and decodes its answer.
func ask[T any](t *testing.T, nc *nats.Conn, subject string, body any) T {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	reply, err := nc.Request(subject, data, time.Minute)
	require.NoError(t, err, subject)
	var fault server.ApiResponse
	require.NoError(t, json.Unmarshal(reply.Data, &fault))
	require.Nil(t, fault.Error, subject)
	var out T
	require.NoError(t, json.Unmarshal(reply.Data, &out))
	return out
}

// backup reads a stream with its durables as the nats command line does: chunk by
// chunk, each of which is acknowledged.
func backup(t *testing.T, nc *nats.Conn, stream string) saved {
	t.Helper()
	chunks, err := nc.SubscribeSync(nc.NewInbox())
	require.NoError(t, err)
	defer func() { _ = chunks.Unsubscribe() }()
	about := ask[server.JSApiStreamSnapshotResponse](t, nc, "$JS.API.STREAM.SNAPSHOT."+stream, server.JSApiStreamSnapshotRequest{DeliverSubject: chunks.Subject, ChunkSize: 128 << 10})
	out := saved{Config: *about.Config, State: *about.State}
	for {
		m, err := chunks.NextMsg(20 * time.Second)
		require.NoError(t, err, "%s after %d bytes: %v", stream, len(out.Data), nc.LastError())
		if len(m.Data) == 0 {
			require.Contains(t, []string{"", "204"}, m.Header.Get("Status"), m.Header.Get("Description"))
			return out
		}
		out.Data = append(out.Data, m.Data...)
		if m.Reply != "" {
			require.NoError(t, m.Respond(nil))
		}
	}
}

// restore writes a stream that backup read.
func restore(t *testing.T, nc *nats.Conn, s saved) {
	t.Helper()
	at := ask[server.JSApiStreamRestoreResponse](t, nc, "$JS.API.STREAM.RESTORE."+s.Config.Name, server.JSApiStreamRestoreRequest{Config: s.Config, State: s.State}).DeliverSubject
	for chunk := range chunksOf(s.Data, 512<<10) {
		_, err := nc.Request(at, chunk, 20*time.Second)
		require.NoError(t, err, "%s: %v", s.Config.Name, nc.LastError())
	}
	done, err := nc.Request(at, nil, time.Minute)
	require.NoError(t, err)
	var fault server.ApiResponse
	require.NoError(t, json.Unmarshal(done.Data, &fault))
	require.Nil(t, fault.Error)
}

func chunksOf(data []byte, size int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			n := min(size, len(data))
			if !yield(data[:n]) {
				return
			}
			data = data[n:]
		}
	}
}

// company are the settings of a company's system.
func company(t *testing.T, s *deploytest.Site, ns *server.Server, user string) map[string]string {
	t.Helper()
	out := s.Settings(ns, user)
	maps.Copy(out, map[string]string{"HINT_STORE": "kv", "HINT_KNOWHUB": `{"enabled":true,"listen":"127.0.0.1:0"}`, "HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	return out
}

// apply makes what a system needs, as `consumer stream apply` does.
func apply(t *testing.T, nc *nats.Conn, settings map[string]string) {
	t.Helper()
	cfg := apptest.Settle(t, settings)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	layout := app.Layout(cfg)
	layout.System = app.NewSystem(cfg)
	targets, err := bus.Plan(t.Context(), js, layout, app.Buckets(cfg)...)
	require.NoError(t, err)
	for _, target := range targets {
		require.NoError(t, bus.Apply(t.Context(), js, target, false))
	}
}

func TestABackupIsRestoredElsewhere(t *testing.T) {
	s := deploytest.NewSite(t, ".")
	here := natstest.Start(t, s.Options(t, "standalone.conf"))
	apply(t, s.Connect(t, here, "operator"), company(t, s, here, "operator"))
	system := apptest.Launch(t, apptest.Settle(t, company(t, s, here, "consumer")))
	system.As(s.Connect(t, here, "gateway"))
	for i := range 6 {
		system.Ask(system.Prompt("garden", fmt.Sprint("run", i), "what is my bank balance"), time.Minute)
	}
	submit, err := json.Marshal(map[string]string{"task": "water the roses", "resource": "hose", "result": "the tap is behind the shed"})
	require.NoError(t, err)
	made, err := system.Gateway.Request("openclaw.knowhub.submit", submit, time.Minute)
	require.NoError(t, err)
	require.Contains(t, string(made.Data), "behind the shed")
	// Events of a size, which compress badly.
	noise := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	for i := range 64 {
		filler := make([]byte, 750<<10)
		for j := range filler {
			filler[j] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[noise.IntN(64)]
		}
		env := system.Prompt("large", fmt.Sprint("large", i), "x")
		env.Hook = "agent_end"
		env.Event, err = json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": string(filler)}}, "filler": string(filler[:250<<10])})
		require.NoError(t, err)
		system.Tell(env)
	}
	operator := s.Connect(t, here, "operator")
	js, err := jetstream.New(operator)
	require.NoError(t, err)
	system.Eventually("all events are applied", func() bool {
		durable, err := js.Consumer(t.Context(), "OPENCLAW_EVENTS", "intent-hint")
		if err != nil {
			return false
		}
		i := durable.CachedInfo()
		return i.NumPending == 0 && i.NumAckPending == 0
	})
	require.NoError(t, system.Stop())

	var all []saved
	size := 0
	for name := range js.StreamNames(t.Context()).Name() {
		all = append(all, backup(t, operator, name))
		size += len(all[len(all)-1].Data)
	}
	require.Greater(t, len(all), 4)
	require.Greater(t, size, 45<<20, "after compression")
	t.Logf("%d streams of %d MiB", len(all), size>>20)

	there := natstest.Start(t, s.Options(t, "standalone.conf"))
	operator = s.Connect(t, there, "operator")
	for _, stream := range all {
		restore(t, operator, stream)
	}
	again := apptest.Launch(t, apptest.Settle(t, company(t, s, there, "consumer")))
	document, err := app.OpenSystemReader(t.Context(), again.Config, again.Bus, quiet)
	require.NoError(t, err)
	garden, err := document.Get(t.Context(), "garden")
	require.NoError(t, err)
	require.Contains(t, string(garden), "run5")
	require.Contains(t, string(garden), "run0")
	again.As(s.Connect(t, there, "gateway"))
	again.Eventually("the experience is found", func() bool {
		found, err := again.Gateway.Request("openclaw.knowhub.content", fmt.Appendf(nil, `{"id":%q}`, idOf(t, made.Data)), time.Minute)
		return err == nil && strings.Contains(string(found.Data), "behind the shed")
	})
	again.Ask(again.Prompt("garden", "run6", "what is my bank balance"), time.Minute)
	again.Eventually("the session goes on", func() bool {
		garden, err := document.Get(t.Context(), "garden")
		return err == nil && bytes.Contains(garden, []byte("run6"))
	})
	requireHealthy(t, again)
	again.Eventually("the sessions are those of this stream", func() bool { return strings.Contains(again.Log.String(), `"msg":"events replayed"`) })
	// A loop would log, or read the stream again and again.
	before := again.Log.String()
	calls := there.NumSubscriptions()
	time.Sleep(3 * time.Second) // longer than any first pause
	require.NotContains(t, strings.TrimPrefix(again.Log.String(), before), `"level":"WARN"`)
	require.Equal(t, 0, strings.Count(again.Log.String(), "permissions violation"))
	require.InDelta(t, calls, there.NumSubscriptions(), 5)
}

func idOf(t *testing.T, experience []byte) string {
	t.Helper()
	var e struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal(experience, &e))
	return e.ID
}

func requireHealthy(t *testing.T, s *apptest.System) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, app.HTTPAddresses(s.Config)[0]+"/healthz", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
}
