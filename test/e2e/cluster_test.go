//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
	"intenthint/test/faults"
)

// natsServer builds the NATS server of the version in go.mod, once, and returns
// its path.
var natsServer = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "nats-server")
	out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// cluster is three NATS servers in processes of their own, with proxies between
// them.
type cluster struct {
	t     *testing.T
	nodes [3]*node
	// routes are the proxies by node: from the first to the second.
	routes map[[2]int]*faults.Proxy
}

// node is one server of a cluster.
type node struct {
	name, conf    string
	port, monitor int
	process       *process
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, routes: map[[2]int]*faults.Proxy{}}
	dir := t.TempDir()
	var ports [3]int
	for i := range ports {
		ports[i] = porttest.Free(t)
	}
	// Servers gossip their addresses. The advertised one is unreachable, so that
	// no route bypasses its proxy.
	nowhere := porttest.Free(t)
	for i := range c.nodes {
		n := &node{name: fmt.Sprintf("n%d", i), port: porttest.Free(t), monitor: porttest.Free(t)}
		var routes []string
		for j, port := range ports {
			if j == i {
				continue
			}
			p := newProxy(t, "127.0.0.1", port)
			c.routes[[2]int{i, j}] = p
			routes = append(routes, "nats-route://"+p.Addr())
		}
		n.conf = filepath.Join(dir, n.name+".conf")
		write(t, n.conf, fmt.Sprintf(`
server_name: %s
listen: "127.0.0.1:%d"
http: "127.0.0.1:%d"
max_payload: 8MB
jetstream { store_dir: %q, max_memory_store: 64MB, max_file_store: 8GB }
cluster {
  name: faults
  listen: "127.0.0.1:%d"
  no_advertise: true
  advertise: "127.0.0.1:%d"
  routes: [%s]
}
`, n.name, n.port, n.monitor, filepath.Join(dir, n.name), ports[i], nowhere, strings.Join(routes, ", ")))
		c.nodes[i] = n
	}
	for i := range c.nodes {
		c.start(i)
	}
	c.healthy()
	return c
}

func newProxy(t *testing.T, host string, port int) *faults.Proxy {
	t.Helper()
	p, err := faults.NewProxy(host, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// start starts a node.
func (c *cluster) start(i int) {
	c.t.Helper()
	path, err := natsServer()
	require.NoError(c.t, err)
	stdout, stderr := &output{}, &output{}
	cmd := exec.Command(path, "-c", c.nodes[i].conf)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	c.nodes[i].process = launch(c.t, cmd, stdout, stderr)
}

// ways returns proxies for one client, one for each node.
func (c *cluster) ways(host string) []*faults.Proxy {
	c.t.Helper()
	var out []*faults.Proxy
	for _, n := range c.nodes {
		out = append(out, newProxy(c.t, host, n.port))
	}
	return out
}

// urls returns the server addresses for a client of these proxies.
func urls(ways []*faults.Proxy) string {
	var out []string
	for _, p := range ways {
		out = append(out, "nats://"+p.Addr())
	}
	return strings.Join(out, ",")
}

// direct returns the addresses of the nodes, without proxies.
func (c *cluster) direct() string {
	var out []string
	for _, n := range c.nodes {
		out = append(out, fmt.Sprintf("nats://127.0.0.1:%d", n.port))
	}
	return strings.Join(out, ",")
}

// healthy waits until every node reports that it is up to date.
func (c *cluster) healthy() {
	c.t.Helper()
	var state string
	require.Eventually(c.t, func() bool {
		for _, n := range c.nodes {
			if err := n.health(); err != nil {
				state = n.name + ": " + err.Error()
				return false
			}
		}
		return true
	}, 2*time.Minute, 10*tick, "the cluster is not healthy: %s", lazy(func() string { return state }))
}

// recovered waits until a node is up to date, and reports whether it was within
// the time.
func (n *node) recovered(most time.Duration) bool {
	for until := time.Now().Add(most); time.Now().Before(until); time.Sleep(10 * tick) {
		if n.health() == nil {
			return true
		}
	}
	return false
}

func (n *node) health() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/healthz", n.monitor), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// provision creates the streams with three replicas each. The deduplication
// window is short, so that events are repeated after it.
func (c *cluster) provision() {
	c.t.Helper()
	nc, err := nats.Connect(c.direct())
	require.NoError(c.t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(c.t, err)
	for name, subject := range map[string]string{"OPENCLAW_EVENTS": "openclaw.event.>", "OPENCLAW_EVENTS_DLQ": "openclaw.dlq.>"} {
		config := jetstream.StreamConfig{
			Name: name, Subjects: []string{subject}, Replicas: 3, AllowDirect: true,
			MaxBytes: 2 << 30, Duplicates: 2 * time.Second,
		}
		var failure error
		require.Eventually(c.t, func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_, failure = js.CreateStream(ctx, config)
			return failure == nil
		}, time.Minute, 10*tick, "stream %s: %s", name, lazy(func() string { return fmt.Sprint(failure) }))
	}
}

// leader returns the leader of the event stream, the first node when unknown.
func (c *cluster) leader(js jetstream.JetStream) int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, "OPENCLAW_EVENTS")
	if err != nil || stream.CachedInfo().Cluster == nil {
		return 0
	}
	for i, n := range c.nodes {
		if n.name == stream.CachedInfo().Cluster.Leader {
			return i
		}
	}
	return 0
}

// around returns the routes between a node and the others.
func (c *cluster) around(i int) []*faults.Proxy {
	var out []*faults.Proxy
	for pair, p := range c.routes {
		if pair[0] == i || pair[1] == i {
			out = append(out, p)
		}
	}
	return out
}
