//go:build e2e

package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"intenthint/internal/porttest"
)

// hubMember is one consumer process with its own address of the API.
type hubMember struct {
	s       *system
	api     string
	process *process
}

// newHub starts three consumers with two data directories on one cluster.
func newHub(t *testing.T, c *cluster) []*hubMember {
	t.Helper()
	shared := newSystem(t, settings{
		"HINT_NATS_PORT": "", "HINT_NATS_URL": c.direct(), "HINT_STREAM_REPLICAS": "3", "HINT_STORE": "kv",
	})
	var out []*hubMember
	for i := range 3 {
		m := &hubMember{s: shared.in(t), api: fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))}
		m.s.env = maps.Clone(shared.env)
		m.s.env["HINT_KNOWHUB"] = fmt.Sprintf(`{"enabled": true, "listen": %q}`, m.api)
		if i == 2 {
			m.s.env["HINT_DATA_DIR"] = filepath.Join(shared.dir, "other")
		}
		m.process = m.s.start()
		out = append(out, m)
	}
	shared.ready(len(out), out[0].process, out[1].process, out[2].process)
	return out
}

// call asks a member and returns the HTTP status, 0 for no answer.
func (m *hubMember) call(method, path, body string) (status int, answer []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+m.api+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close() //nolint:errcheck // Only read.
	if answer, err = io.ReadAll(res.Body); err != nil {
		return 0, nil
	}
	return res.StatusCode, answer
}

// reviewed is what was answered of experiences, by id.
type reviewed struct {
	mu       sync.Mutex
	accepted map[string]bool
	// decided are the decisions that were answered with success.
	decided map[string][]string
}

// work submits experiences to members until end, and has two people decide about
// each one at once, against each other and at different members.
func (r *reviewed) work(members []*hubMember, worker int, end <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		default:
		}
		body := fmt.Sprintf(`{"task": "Deploy the service s%dx%d to staging", "resource": "wrangler", "result": "Needs --env staging"}`, worker, i)
		status, answer := members[(worker+i)%len(members)].call(http.MethodPost, "/api/submit", body)
		if status != http.StatusCreated && status != http.StatusOK {
			time.Sleep(5 * tick)
			continue
		}
		var e struct{ ID string }
		if json.Unmarshal(answer, &e) != nil {
			continue
		}
		r.mu.Lock()
		r.accepted[e.ID] = true
		r.mu.Unlock()
		var people sync.WaitGroup
		for n, verb := range []string{"approve", "reject"} {
			people.Go(func() {
				status, _ := members[(worker+i+n+1)%len(members)].call(http.MethodPost, "/api/"+verb+"/"+e.ID, "")
				if status == http.StatusOK {
					r.mu.Lock()
					r.decided[e.ID] = append(r.decided[e.ID], map[string]string{"approve": "approved", "reject": "rejected"}[verb])
					r.mu.Unlock()
				}
			})
		}
		people.Wait()
	}
}

func (r *reviewed) count() (accepted, decided int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.accepted), len(r.decided)
}

// bucketOf returns the statuses of all experiences in the bucket.
func bucketOf(t *testing.T, js jetstream.JetStream) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	kv, err := js.KeyValue(ctx, "OPENCLAW_EVENTS_EXPERIENCES")
	require.NoError(t, err)
	watcher, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	require.NoError(t, err)
	defer watcher.Stop() //nolint:errcheck // Ends with the connection.
	out := map[string]string{}
	for entry := range watcher.Updates() {
		if entry == nil {
			return out
		}
		var e struct{ Status string }
		require.NoError(t, json.Unmarshal(entry.Value(), &e))
		out[entry.Key()] = e.Status
	}
	require.FailNow(t, "the bucket was not read to its end")
	return nil
}

// indexOf returns the statuses of all experiences in a process's index.
func indexOf(path string) (map[string]string, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // Only read.
	rows, err := db.Query("SELECT id, status FROM experiences")
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // See Err.
	out := map[string]string{}
	for rows.Next() {
		var id, status string
		if err := rows.Scan(&id, &status); err != nil {
			return nil, err
		}
		out[id] = status
	}
	return out, rows.Err()
}

// TestExperiencesUnderFaults submits experiences and decides about each one twice
// at once, while consumers and servers are killed and an index is lost: of two
// decisions one stands, nothing that was accepted is lost, and every index comes
// to what the bucket has.
func TestExperiencesUnderFaults(t *testing.T) {
	c := newCluster(t)
	c.provision()
	members := newHub(t, c)
	r := &reviewed{accepted: map[string]bool{}, decided: map[string][]string{}}
	end := make(chan struct{})
	var working sync.WaitGroup
	for worker := range 4 {
		working.Go(func() { r.work(members, worker, end) })
	}
	stop := sync.OnceFunc(func() { close(end); working.Wait() })
	defer stop()
	// more waits until more experiences were decided about.
	more := func(n int) {
		_, before := r.count()
		require.Eventually(t, func() bool {
			_, now := r.count()
			return now >= before+n
		}, 2*time.Minute, tick, "no decisions are made")
	}
	const some = 15
	for round := range 6 {
		more(some)
		switch m := members[rand.IntN(len(members))]; round {
		case 2: // a server
			i := rand.IntN(len(c.nodes))
			c.nodes[i].process.kill()
			more(some)
			c.start(i)
		case 4: // the index of the process that has a directory of its own
			m = members[2]
			m.process.kill()
			for _, suffix := range []string{"", "-wal", "-shm"} {
				require.NoError(t, os.RemoveAll(filepath.Join(m.s.env["HINT_DATA_DIR"], "knowhub.db"+suffix)))
			}
			m.process = m.s.start()
		default:
			m.process.kill()
			m.process = m.s.start()
		}
	}
	more(some)
	stop()
	c.healthy()
	g := members[0].s.gateway()
	members[0].s.ready(3, members[0].process, members[1].process, members[2].process)

	truth := bucketOf(t, g.js)
	approved := 0
	for id := range r.accepted {
		require.Contains(t, truth, id, "an experience that was accepted is lost")
	}
	for id, decisions := range r.decided {
		require.Len(t, decisions, 1, "%s: both were told that they had decided", id)
		require.Equal(t, truth[id], decisions[0], "%s: another decision stands", id)
	}
	for _, status := range truth {
		if status == "approved" {
			approved++
		}
	}
	t.Logf("%d experiences accepted, %d decided, %d in the bucket, %d approved", len(r.accepted), len(r.decided), len(truth), approved)
	for _, m := range members {
		path := filepath.Join(m.s.env["HINT_DATA_DIR"], "knowhub.db")
		var have map[string]string
		var err error
		require.Eventually(t, func() bool {
			have, err = indexOf(path)
			return err == nil && maps.Equal(have, truth)
		}, patient, 10*tick, "%s: %s", path, lazy(func() string { return fmt.Sprintf("%v, %d of %d", err, len(have), len(truth)) }))
		for id, status := range truth {
			code, answer := m.call(http.MethodGet, "/api/content/"+id, "")
			require.Equal(t, http.StatusOK, code, "%s", answer)
			require.Contains(t, string(answer), fmt.Sprintf(`"status":%q`, status))
		}
	}
}
