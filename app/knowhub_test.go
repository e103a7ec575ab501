package app_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/knowhub/bucket"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
)

const hubOn = `{"enabled": true, "listen": "127.0.0.1:0", "requireApproval": false, "recall": 2}`

// hub starts a system with KnowHub in a data directory, "" for one of its own.
func hub(t *testing.T, ns *server.Server, dir, settings string, more ...string) *apptest.System {
	t.Helper()
	set := map[string]string{"HINT_KNOWHUB": settings, "HINT_NATS_URL": ns.ClientURL(), "HINT_STORE": "kv"}
	if dir != "" {
		set["HINT_DATA_DIR"] = dir
	}
	for i := 0; i < len(more); i += 2 {
		set[more[i]] = more[i+1]
	}
	return apptest.Start(t, set)
}

// apiOf is where a system serves the HTTP API.
func apiOf(t *testing.T, s *apptest.System) string {
	t.Helper()
	found := regexp.MustCompile(`"serving the API of experiences","part":"knowhub","address":"([^"]+)"`).FindStringSubmatch(s.Log.String())
	require.NotNil(t, found, s.Log.String())
	return "http://" + found[1]
}

func get(t *testing.T, url string) (status int, experiences []map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // Only read.
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if strings.HasPrefix(string(text), "[") { // the list of pending ones (contract §12)
		require.NoError(t, json.Unmarshal(text, &experiences), "%s", text)
		return res.StatusCode, experiences
	}
	var out struct{ Experiences []map[string]any }
	require.NoError(t, json.Unmarshal(text, &out), "%s", text)
	return res.StatusCode, out.Experiences
}

func post(t *testing.T, url, body string) (status int, out map[string]any) {
	t.Helper()
	return call(t, http.MethodPost, url, body)
}

func call(t *testing.T, method, url, body string) (status int, out map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // Only read.
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	return res.StatusCode, out
}

func experienceOf(task string) string {
	body, _ := json.Marshal(map[string]string{"task": task, "resource": "wrangler", "result": "Needs --env production", "agent_id": "main"})
	return string(body)
}

func finds(t *testing.T, s *apptest.System, q string) func() bool {
	return func() bool {
		status, found := get(t, apiOf(t, s)+"/api/search?limit=50&q="+q)
		return status == 200 && len(found) == 1
	}
}

const (
	hubPatience = time.Minute // for a busy machine
	hubTick     = 20 * time.Millisecond
)

func TestKnowHubOfThreeProcesses(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	shared := t.TempDir()
	systems := []*apptest.System{hub(t, ns, shared, hubOn), hub(t, ns, shared, hubOn), hub(t, ns, "", hubOn)}
	for i, s := range systems {
		word := []string{"alpha", "bravo", "charlie"}[i]
		status, e := post(t, apiOf(t, s)+"/api/submit", experienceOf("Deploy the "+word))
		require.Equal(t, 201, status, e)
		require.True(t, finds(t, s, word)(), "at once where it was taken")
		for _, other := range systems {
			require.Eventually(t, finds(t, other, word), hubPatience, hubTick)
		}
	}
	for _, name := range []string{"knowhub.db"} {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(shared, name)+"?mode=ro")
		require.NoError(t, err)
		defer db.Close() //nolint:errcheck // Only read.
		require.Eventually(t, func() bool {
			var n int
			err := db.QueryRow("SELECT count(*) FROM experiences WHERE agent_id = 'main' AND status = 'approved'").Scan(&n)
			return err == nil && n == 3
		}, hubPatience, hubTick)
	}
}

func TestKnowHubTableThatIsLost(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, path string)
	}{
		{"deleted", func(t *testing.T, path string) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(path + suffix); err != nil {
					require.ErrorIs(t, err, os.ErrNotExist)
				}
			}
		}},
		{"replaced by something else", func(t *testing.T, path string) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(path + suffix)
			}
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600))
		}},
		{"overwritten", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte(strings.Repeat("x", 8192)), 0)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			_ = os.Remove(path + "-wal")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stream := "S_" + strings.ToUpper(strings.ReplaceAll(tt.name, " ", "_"))
			prefix := "p" + strings.ReplaceAll(tt.name, " ", "")
			dir := t.TempDir()
			s := hub(t, ns, dir, hubOn, "HINT_STREAM", stream, "HINT_SUBJECT_PREFIX", prefix)
			post(t, apiOf(t, s)+"/api/submit", experienceOf("Deploy the alpha"))
			require.True(t, finds(t, s, "alpha")())
			holds := func(want int) func() bool {
				return func() bool {
					db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "knowhub.db")+"?mode=ro")
					require.NoError(t, err)
					defer db.Close() //nolint:errcheck // Only read.
					var n int
					err = db.QueryRow("SELECT count(*) FROM experiences").Scan(&n)
					return err == nil && n == want
				}
			}
			require.Eventually(t, holds(1), hubPatience, hubTick)
			tt.harm(t, filepath.Join(dir, "knowhub.db"))
			require.Eventually(t, func() bool {
				status, _ := post(t, apiOf(t, s)+"/api/submit", experienceOf("Deploy the bravo"))
				return status == 200 || status == 201
			}, hubPatience, hubTick)
			require.Eventually(t, finds(t, s, "bravo"), hubPatience, hubTick)
			require.True(t, finds(t, s, "alpha")(), "search does not need it")
			require.Eventually(t, holds(2), hubPatience, hubTick, "it is made again from the bucket")
		})
	}
}

func TestKnowHubBucketThatIsPurged(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	shared, own := t.TempDir(), t.TempDir()
	a, b, stopped := hub(t, ns, shared, hubOn), hub(t, ns, shared, hubOn), hub(t, ns, own, hubOn)
	post(t, apiOf(t, a)+"/api/submit", experienceOf("Deploy the alpha"))
	for _, s := range []*apptest.System{a, b, stopped} {
		require.Eventually(t, finds(t, s, "alpha"), hubPatience, hubTick)
	}
	require.NoError(t, stopped.Stop())
	stream, err := a.JS.Stream(t.Context(), bus.BucketStream(bucket.ExperiencesIn(app.Layout(a.Config)).Bucket))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context()))
	status, _ := post(t, apiOf(t, b)+"/api/submit", experienceOf("Deploy the bravo"))
	require.Equal(t, 201, status)
	for _, s := range []*apptest.System{a, b, hub(t, ns, own, hubOn)} {
		require.Eventually(t, func() bool {
			status, found := get(t, apiOf(t, s)+"/api/search?q=deploy")
			return status == 200 && len(found) == 1 && found[0]["task"] == "Deploy the bravo"
		}, hubPatience, hubTick)
	}
	require.Contains(t, a.Log.String()+b.Log.String(), "removed without a trace")
}

func TestKnowHubEntryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := hub(t, natstest.Start(t, nil), "", hubOn)
	kv, err := s.JS.KeyValue(t.Context(), bucket.ExperiencesIn(app.Layout(s.Config)).Bucket)
	require.NoError(t, err)
	id := strings.Repeat("a", 32)
	_, err = kv.PutString(t.Context(), id, `{"task":5}`)
	require.NoError(t, err)
	const warning = `"experience unreadable"`
	require.Eventually(t, func() bool { return strings.Contains(s.Log.String(), warning) }, hubPatience, hubTick)
	status, found := call(t, http.MethodGet, apiOf(t, s)+"/api/content/"+id, "")
	require.Equal(t, 404, status)
	require.Equal(t, map[string]any{"error": `no such experience: "` + id + `"`}, found)
	for _, verb := range []string{"approve", "reject"} {
		status, other := post(t, apiOf(t, s)+"/api/"+verb+"/"+id, "")
		require.Equal(t, 404, status)
		require.Equal(t, found, other)
	}
	require.Equal(t, 1, strings.Count(s.Log.String(), warning))
	require.Contains(t, s.Log.String(), `"key":"`+id+`"`)
}

func TestKnowHubInFrontOfAPrompt(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{"HINT_KNOWHUB": hubOn, "HINT_REPEAT": "changed", "HINT_MIN_CONFIDENCE": "0"})
	post(t, apiOf(t, s)+"/api/submit", experienceOf("Deploy the alpha"))
	ask := func(run, prompt, key string) string {
		msg := s.Ask(payload.Envelope{
			Hook:  subjects.HookBeforePromptBuild,
			Event: json.RawMessage(fmt.Sprintf(`{"prompt": %q, "messages": []}`, prompt)),
			Ctx:   json.RawMessage(fmt.Sprintf(`{"runId": %q, "sessionId": "s1", "sessionKey": %q, "agentId": "main", "trigger": "user", "messageProvider": "telegram"}`, run, key)),
		}, time.Minute)
		var out struct{ PrependContext string }
		require.NoError(t, json.Unmarshal(msg.Data, &out))
		return out.PrependContext
	}
	direct, group := "agent:main:telegram:direct:1", "agent:main:telegram:group:1"
	first := ask("r1", "Please deploy the alpha", direct)
	require.Regexp(t, `(?s)^<intention_hint_plugin>.*</intention_hint_plugin>\n\nUntrusted context .*<relevant-experiences>.*1\. Task: Deploy the alpha.*</relevant-experiences>\n\n<knowhub-reminder>`, first)
	require.NotContains(t, ask("r2", "Please deploy the alpha", group), "<", "a group gets no hint, and nothing twice")
	require.True(t, strings.HasPrefix(ask("r3", "Hello", group), "<knowhub-reminder>"), "a chat that gets no hint for its type alone is reminded all the same")
}

func TestKnowHubRecallApartFromTheHint(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{"HINT_KNOWHUB": hubOn, "HINT_REPEAT": "changed", "HINT_MIN_CONFIDENCE": "0"})
	post(t, apiOf(t, s)+"/api/submit", experienceOf("Deploy the alpha"))
	ask := func(name, run, more string) string {
		body, err := json.Marshal(payload.Envelope{
			Hook: name, TS: 1763680000123, ID: "q-" + name + run,
			Event: json.RawMessage(`{"prompt": "Please deploy the alpha", "messages": []}`),
			Ctx:   json.RawMessage(fmt.Sprintf(`{"runId": %q, "sessionId": "s1", "sessionKey": "agent:main:telegram:direct:1", "agentId": "main", "trigger": "user", "messageProvider": "telegram"%s}`, run, more)),
		})
		require.NoError(t, err)
		msg, err := s.Gateway.Request("openclaw.request."+name+".main", body, time.Minute)
		require.NoError(t, err)
		return string(msg.Data)
	}
	const block = "<relevant-experiences>"
	later := ask(subjects.HookBeforePromptBuild, "r1", `, "recallLater": true`)
	require.Contains(t, later, "<intention_hint_plugin>")
	require.NotContains(t, later, block)
	alone := ask(subjects.HookKnowHubRecall, "r1", "")
	require.Contains(t, alone, block)
	require.NotContains(t, alone, "<intention_hint_plugin>")
	require.NotContains(t, alone, "<knowhub-reminder>")
	require.Equal(t, "{}", ask(subjects.HookKnowHubRecall, "r2", ""), "not twice within a session")
}

func TestKnowHubVerbsAreEndpoints(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{"HINT_KNOWHUB": hubOn})
	msg, err := s.Gateway.Request("openclaw.knowhub.submit", []byte(experienceOf("Deploy the alpha")), time.Minute)
	require.NoError(t, err)
	require.Empty(t, msg.Header.Get(subjects.HeaderErrorCode))
	info, err := s.Gateway.Request("$SRV.INFO.intent-hint", nil, time.Minute)
	require.NoError(t, err)
	require.Contains(t, string(info.Data), "openclaw.knowhub.submit")
}

func TestKnowHubIsOffUnlessItIsOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := apptest.Start(t, map[string]string{"HINT_DATA_DIR": dir})
	_, err := s.Gateway.Request("openclaw.knowhub.search", []byte(`{"q": "x"}`), time.Minute)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	require.NoFileExists(t, filepath.Join(dir, "knowhub.db"))
	require.NotContains(t, s.Log.String(), "API of experiences")
	for name := range s.JS.StreamNames(t.Context()).Name() {
		require.NotContains(t, name, "EXPERIENCES")
	}
}

func TestKnowHubOfAgentsThatDoNotShare(t *testing.T) {
	t.Parallel()
	s := hub(t, natstest.Start(t, nil), "", strings.Replace(hubOn, "{", `{"shareExperiences": false, `, 1))
	submit := func(agent, task string) {
		t.Helper()
		status, e := post(t, apiOf(t, s)+"/api/submit", fmt.Sprintf(`{"task": %q, "resource": "wrangler", "result": "Needs --env production", "agent_id": %q}`, task, agent))
		require.Equal(t, 201, status, e)
	}
	submit("main", "Deploy the shop")
	submit("", "Deploy the shop")
	for i := range 60 {
		submit("other", fmt.Sprint("Deploy the shop with wrangler to production ", i))
	}
	for _, agent := range []string{"main", ""} {
		_, found := get(t, apiOf(t, s)+"/api/search?q=deploy+shop+production&limit=50&agent_id="+agent)
		require.Len(t, found, 1, agent)
		require.Equal(t, agent, found[0]["agent_id"])
	}
}

func TestKnowHubTakesAFreePort(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	a := hub(t, ns, "", hubOn)
	addr := strings.TrimPrefix(apiOf(t, a), "http://")
	b := hub(t, ns, "", strings.ReplaceAll(hubOn, "127.0.0.1:0", addr))
	require.NotEqual(t, apiOf(t, a), apiOf(t, b))
	require.Contains(t, b.Log.String(), "using a free port")
}

// ranWell is the event of a run with something to learn from.
const ranWell = `{"hook": "agent_end", "ts": 1763680000123, "id": "e1", "ctx": {"agentId": "main", "sessionId": "s1", "sessionKey": "agent:main:main", "trigger": "user"},
		"event": {"success": true, "messages": [{"role": "user", "content": "The build of the shop fails with a checksum error."},
		{"role": "assistant", "content": "I cleaned the module cache, and the build passes now."}, {"role": "user", "content": "Great, that worked!"}]}}`

func TestKnowHubExtractsFromRuns(t *testing.T) {
	t.Parallel()
	m := providertest.New(t)
	m.Always(providertest.Answer{Text: `{"experiences": [{"task": "Fix a checksum error of the Go build", "resource": "go clean", "result": "Cleaning the module cache solved it", "confidence": 0.9}]}`})
	providers, err := json.Marshal(map[string]any{"mock": map[string]string{"baseUrl": m.OpenAIURL(), "api": "openai-completions"}})
	require.NoError(t, err)
	s := apptest.Start(t, map[string]string{
		"HINT_PROVIDERS": string(providers),
		"HINT_KNOWHUB":   `{"enabled": true, "listen": "127.0.0.1:0", "enableServerExtraction": true, "model": "mock/small"}`,
	})
	_, err = s.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s1", []byte(ranWell))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, pending := get(t, apiOf(t, s)+"/api/pending")
		return status == 200 && len(pending) == 1 && pending[0]["session_key"] == "agent:main:main"
	}, hubPatience, hubTick)
	require.Eventually(t, func() bool { // the file follows the bucket
		info, err := os.Stat(filepath.Join(s.Config.DataDir, "knowhub.db"))
		return err == nil && info.Mode().Perm() == 0o600
	}, hubPatience, hubTick)
}
