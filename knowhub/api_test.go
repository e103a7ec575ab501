package knowhub_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
)

const submission = `{"task": "Deploy the shop", "resource": "wrangler", "result": "works", "unknown": 1}`

// api serves a process over HTTP.
func api(t *testing.T, set knowhub.Settings, listen, token string) (*httptest.Server, *process) {
	t.Helper()
	p := start(t, natstest.Start(t, nil), set)
	server := httptest.NewServer(knowhub.NewAPI(knowhub.APIOptions{Service: p.Service, Listen: listen, Token: token, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	return server, p
}

// call sends a request, and returns status and body.
func call(t *testing.T, server *httptest.Server, method, path, body string, change ...func(*http.Request)) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for _, f := range change {
		f(r)
	}
	res, err := server.Client().Do(r)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // Only read.
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "application/json; charset=utf-8", res.Header.Get("Content-Type"))
	var out map[string]any
	if strings.HasPrefix(string(text), "[") {
		text = []byte(`{"array": ` + string(text) + `}`)
	}
	if method != http.MethodHead {
		require.NoError(t, json.Unmarshal(text, &out), "%s", text)
	}
	return res.StatusCode, out
}

// waiting returns the experiences of /api/pending, a bare array, and X-More.
func waiting(t *testing.T, server *httptest.Server, query string) (es []experience.Experience, more string) {
	t.Helper()
	res, err := server.Client().Get(server.URL + "/api/pending" + query)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // Only read.
	require.NoError(t, json.NewDecoder(res.Body).Decode(&es))
	require.NotNil(t, es, "an empty list is one")
	return es, res.Header.Get("X-More")
}

func TestAPI(t *testing.T) {
	t.Parallel()
	server, _ := api(t, usual(), "127.0.0.1:8000", "")
	status, e := call(t, server, "POST", "/api/submit", submission)
	require.Equal(t, 201, status)
	id := e["id"].(string)
	for _, field := range []string{"id", "task", "resource", "result", "confidence", "status", "agent_id", "submitted_by", "session_key", "created_at"} {
		require.Contains(t, e, field)
	}
	status, again := call(t, server, "POST", "/api/submit", submission)
	require.Equal(t, 200, status)
	require.Equal(t, id, again["id"])
	pending, more := waiting(t, server, "")
	require.Len(t, pending, 1)
	require.Empty(t, more)
	status, other := call(t, server, "POST", "/api/submit", strings.Replace(submission, "shop", "site", 1))
	require.Equal(t, 201, status)
	pending, more = waiting(t, server, "?limit=1")
	require.Len(t, pending, 1)
	require.Equal(t, "true", more)
	status, _ = call(t, server, "POST", "/api/reject/"+other["id"].(string), "")
	require.Equal(t, 200, status)

	_, listed := call(t, server, "GET", "/api/search?q=shop&agent_id=main&limit=3", "")
	require.Equal(t, map[string]any{"experiences": []any{}}, listed, "an empty list is one")
	status, e = call(t, server, "POST", "/api/approve/"+id, "")
	require.Equal(t, 200, status)
	require.Equal(t, "approved", e["status"])
	status, _ = call(t, server, "POST", "/api/approve/"+id, `{"by": "ada"}`)
	require.Equal(t, 200, status, "the same again")
	status, e = call(t, server, "POST", "/api/reject/"+id, "")
	require.Equal(t, 409, status)
	require.NotEmpty(t, e["error"])
	_, listed = call(t, server, "GET", "/api/search?q=shop", "")
	require.Len(t, listed["experiences"], 1)
	status, e = call(t, server, "GET", "/api/content/"+id, "")
	require.Equal(t, 200, status)
	require.Equal(t, "Deploy the shop", e["task"])
	status, _ = call(t, server, "HEAD", "/api/content/"+id, "")
	require.Equal(t, 200, status)
}

func TestAPITakesBack(t *testing.T) {
	t.Parallel()
	server, _ := api(t, usual(), "127.0.0.1:8000", "")
	none := strings.Repeat("0", 32)
	_, e := call(t, server, "POST", "/api/submit", submission)
	id := e["id"].(string)
	status, _ := call(t, server, "POST", "/api/withdraw/"+id, "")
	require.Equal(t, 409, status, "pending: there is nothing to take back")
	call(t, server, "POST", "/api/approve/"+id, "")
	status, e = call(t, server, "POST", "/api/withdraw/"+id, `{"by": "ada"}`)
	require.Equal(t, 200, status)
	require.Equal(t, []any{"rejected", "ada"}, []any{e["status"], e["decided_by"]})
	status, _ = call(t, server, "POST", "/api/withdraw/"+id, "")
	require.Equal(t, 200, status, "the same again")
	_, listed := call(t, server, "GET", "/api/search?q=shop", "")
	require.Empty(t, listed["experiences"])
	status, _ = call(t, server, "POST", "/api/approve/"+id, "")
	require.Equal(t, 409, status)

	status, e = call(t, server, "DELETE", "/api/experiences/"+id, "")
	require.Equal(t, 200, status)
	require.Equal(t, []any{id, "Deploy the shop"}, []any{e["id"], e["task"]})
	for _, row := range []struct{ method, path string }{
		{"GET", "/api/content/" + id},
		{"DELETE", "/api/experiences/" + id},
		{"POST", "/api/withdraw/" + id},
		{"POST", "/api/withdraw/" + none},
	} {
		status, _ = call(t, server, row.method, row.path, "")
		require.Equal(t, 404, status, row)
	}
	status, e = call(t, server, "POST", "/api/submit", submission)
	require.Equal(t, 201, status, "it is new again")
	require.Equal(t, "pending", e["status"])
	status, _ = call(t, server, "GET", "/api/experiences/"+id, "")
	require.Equal(t, 405, status)
}

func TestSearchFiltersByAgent(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		set := usual()
		set.Shared = shared
		server, _ := api(t, set, "127.0.0.1:8000", "")
		for _, agent := range []string{"ops", "dev"} {
			_, e := call(t, server, "POST", "/api/submit", fmt.Sprintf(`{"task": "Deploy the shop of %s", "resource": "wrangler", "result": "works", "agent_id": %q}`, agent, agent))
			call(t, server, "POST", "/api/approve/"+e["id"].(string), "")
		}
		for query, want := range map[string][2]int{ // shared, not shared
			"":                             {2, 0},
			"&agent_id=ops":                {1, 1}, // as older gateways ask
			"&for_agent=ops":               {2, 1},
			"&agent_id=ops&for_agent=ops":  {1, 1},
			"&agent_id=dev&for_agent=ops":  {1, 0},
			"&agent_id=none&for_agent=ops": {0, 0},
		} {
			_, listed := call(t, server, "GET", "/api/search?q=deploy+shop"+query, "")
			n := want[0]
			if !shared {
				n = want[1]
			}
			require.Len(t, listed["experiences"], n, "shared %v, query %q", shared, query)
		}
	}
}

func TestSubmittedByIsKeptAsGiven(t *testing.T) {
	t.Parallel()
	server, _ := api(t, usual(), "127.0.0.1:8000", "")
	status, e := call(t, server, "POST", "/api/submit", `{"task": "Ask ada@example.org", "resource": "mail", "result": "works", "submitted_by": "ada@example.org"}`)
	require.Equal(t, 201, status)
	require.Equal(t, []any{"Ask [EMAIL]", "ada@example.org"}, []any{e["task"], e["submitted_by"]})
}

func TestAPIRefuses(t *testing.T) {
	t.Parallel()
	server, _ := api(t, usual(), "127.0.0.1:8000", "")
	none := strings.Repeat("0", 32)
	for _, tt := range []struct {
		name, method, path, body string
		want                     int
	}{
		{"no body", "POST", "/api/submit", "", 400},
		{"not an object", "POST", "/api/submit", `[1]`, 400},
		{"not JSON", "POST", "/api/submit", `{"task"`, 400},
		{"two objects", "POST", "/api/submit", submission + submission, 400},
		{"a long task", "POST", "/api/submit", `{"task": "` + strings.Repeat("/home/", 400) + `", "resource": "r", "result": "r"}`, 413},
		{"a long name", "POST", "/api/approve/" + none, `{"by": "` + strings.Repeat("x", 201) + `"}`, 413},
		{"a long query", "GET", "/api/search?q=" + strings.Repeat("x", 10_001), "", 413},
		{"a wrong type", "POST", "/api/submit", `{"task": 1, "resource": "r", "result": "r"}`, 400},
		{"a field too few", "POST", "/api/submit", `{"task": "t", "resource": "r"}`, 400},
		{"no messages", "POST", "/api/extract", `{"agent_id": "main"}`, 400},
		{"no query", "GET", "/api/search", "", 400},
		{"a limit that is no number", "GET", "/api/search?q=a&limit=x", "", 400},
		{"a limit of 0", "GET", "/api/search?q=a&limit=0", "", 400},
		{"broken parameters", "GET", "/api/search?q=%zz", "", 400},
		{"an unknown id", "GET", "/api/content/" + none, "", 404},
		{"no id at all", "GET", "/api/content/", "", 400},
		{"a blank id", "GET", "/api/content/%20", "", 400},
		{"no id to approve", "POST", "/api/approve/", "", 400},
		{"a path without its end", "GET", "/api/content", "", 404},
		{"an id that cannot be", "GET", "/api/content/..%2Fx", "", 404},
		{"an unknown id to approve", "POST", "/api/approve/" + none, "", 404},
		{"an unknown id to reject", "POST", "/api/reject/" + none, "", 404},
		{"a bad decision", "POST", "/api/reject/" + none, "[]", 400},
		{"an unknown path", "GET", "/api/others", "", 404},
		{"a path below", "GET", "/api/pending/x", "", 404},
		{"the root", "GET", "/", "", 404},
		{"GET to submit", "GET", "/api/submit", "", 405},
		{"POST to search", "POST", "/api/search?q=a", "", 405},
		{"DELETE", "DELETE", "/api/content/" + none, "", 405},
		{"a body too large", "POST", "/api/submit", `{"task": "` + strings.Repeat("x", 1<<20) + `"}`, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := call(t, server, tt.method, tt.path, tt.body)
			require.Equal(t, tt.want, status, body)
			require.IsType(t, "", body["error"])
			require.NotEmpty(t, body["error"])
			require.Len(t, body, 1)
		})
	}
}

func TestAPIToken(t *testing.T) {
	t.Parallel()
	server, _ := api(t, usual(), "127.0.0.1:8000", "s3cret")
	for _, tt := range []struct {
		name, header string
		want         int
	}{
		{"none", "", 401},
		{"another", "Bearer s3cre", 401},
		{"longer", "Bearer s3cretx", 401},
		{"no scheme", "s3cret", 401},
		{"another scheme", "Basic s3cret", 401},
		{"the token", "Bearer s3cret", 200},
		{"in lower case", "bearer s3cret", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/api/pending", "/api/others"} {
				want := tt.want
				if want == 200 && path == "/api/others" {
					want = 404
				}
				status, _ := call(t, server, "GET", path, "", func(r *http.Request) {
					if tt.header != "" {
						r.Header.Set("Authorization", tt.header)
					}
				})
				require.Equal(t, want, status, path)
			}
		})
	}
}

func TestAPIFromBrowsers(t *testing.T) {
	t.Parallel()
	p := start(t, natstest.Start(t, nil), usual())
	for i, tt := range []struct {
		name, listen, method, host, origin, site string
		want                                     int
	}{
		{"no browser", "127.0.0.1:8000", "POST", "", "", "", 201},
		{"own page", "127.0.0.1:8000", "POST", "localhost:8000", "http://localhost:8000", "same-origin", 201},
		{"a page elsewhere", "127.0.0.1:8000", "POST", "127.0.0.1:8000", "https://evil.example", "cross-site", 403},
		{"an old browser's page elsewhere", "127.0.0.1:8000", "POST", "127.0.0.1:8000", "https://evil.example", "", 403},
		{"another port of this machine", "127.0.0.1:8000", "POST", "127.0.0.1:8000", "http://127.0.0.1:9", "same-site", 403},
		{"a page elsewhere that reads", "127.0.0.1:8000", "GET", "127.0.0.1:8000", "https://evil.example", "cross-site", 200},
		{"a name that was made to point here", "127.0.0.1:8000", "GET", "evil.example:8000", "", "", 403},
		{"such a name that writes", "127.0.0.1:8000", "POST", "evil.example", "http://evil.example", "same-origin", 403},
		{"the configured name", "hub.example:8000", "GET", "HUB.example:8000", "", "", 200},
		{"all addresses: the one that was reached", "0.0.0.0:8000", "GET", "127.0.0.1:8000", "", "", 200},
		{"all addresses: itself", "0.0.0.0:8000", "GET", "0.0.0.0:8000", "", "", 403},
		{"all addresses: another one", ":8000", "GET", "192.0.2.1", "", "", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(knowhub.NewAPI(knowhub.APIOptions{Service: p.Service, Listen: tt.listen, Log: slog.New(slog.DiscardHandler)}))
			defer server.Close()
			path := map[string]string{"POST": "/api/submit", "GET": "/api/pending"}[tt.method]
			text := fmt.Sprintf(`{"task": "Deploy shop %d", "resource": "wrangler", "result": "works"}`, i)
			status, body := call(t, server, tt.method, path, text, func(r *http.Request) {
				r.Host = tt.host
				for name, value := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
			})
			require.Equal(t, tt.want, status, body)
		})
	}
}

func TestAPIWhileTheBucketIsAway(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	p := start(t, ns, usual())
	server := httptest.NewServer(knowhub.NewAPI(knowhub.APIOptions{Service: p.Service, Listen: "127.0.0.1:8000", Log: slog.New(slog.DiscardHandler)}))
	defer server.Close()
	ns.Shutdown()
	status, body := call(t, server, "GET", "/api/content/"+experience.ID(experience.Experience{}, true), "")
	require.Equal(t, 503, status)
	require.NotEmpty(t, body["error"])
}
