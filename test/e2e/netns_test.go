//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
	"intenthint/test/faults"
)

// island is a network namespace with one virtual cable to this machine.
type island struct {
	t    *testing.T
	name string // of the network namespace
	// cable is this machine's end, host its address.
	cable, host string
}

// newIsland makes a network namespace. It needs root and the ip command.
func newIsland(t *testing.T) *island {
	t.Helper()
	n := porttest.Free(t) // a number that is unique in this run
	i := &island{t: t, name: fmt.Sprintf("hint%d", n), cable: fmt.Sprintf("hint%da", n)}
	// Four addresses for each island, of the range for tests (RFC 2544).
	block := n % (1 << 15) * 4
	address := func(k int) string { return fmt.Sprintf("198.%d.%d.%d", 18+block>>16, block>>8&255, block&255+k) }
	i.host = address(1)
	if out, err := exec.Command("ip", "netns", "add", i.name).CombinedOutput(); err != nil {
		t.Skipf("network namespaces need root and the ip command: %v %s", err, out)
	}
	t.Cleanup(func() { i.ip("netns", "delete", i.name) })
	far := fmt.Sprintf("hint%db", n)
	i.ip("link", "add", i.cable, "type", "veth", "peer", "name", far)
	i.ip("link", "set", far, "netns", i.name)
	i.ip("address", "add", i.host+"/30", "dev", i.cable)
	i.ip("link", "set", i.cable, "up")
	i.ip("-n", i.name, "address", "add", address(2)+"/30", "dev", far)
	i.ip("-n", i.name, "link", "set", far, "up")
	i.ip("-n", i.name, "link", "set", "lo", "up")
	return i
}

func (i *island) ip(args ...string) {
	i.t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(i.t, err, "ip %v: %s", args, out)
}

// start starts a consumer on the island.
func (i *island) start(s *system) *process {
	i.t.Helper()
	cmd, stdout, stderr := s.command()
	at := exec.Command("ip", append([]string{"netns", "exec", i.name}, cmd.Args...)...)
	at.Env, at.Dir, at.Stdout, at.Stderr = cmd.Env, cmd.Dir, stdout, stderr
	return launch(i.t, at, stdout, stderr)
}

// TestPartitionedNetwork disconnects one of two consumers for longer than AckWait.
// Its events go to the other. When it returns with what it had applied, nothing is
// counted twice.
func TestPartitionedNetwork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	i := newIsland(t)
	c := newCluster(t)
	c.provision()
	s := newSystem(t, settings{"HINT_NATS_PORT": "", "HINT_NATS_URL": c.direct(), "HINT_HISTORY_LIMIT": "3"})
	far := s.in(t)
	far.env = maps.Clone(s.env)
	far.env["HINT_NATS_URL"] = urls(c.ways(i.host))
	p := i.start(far)
	s.serve(1, 2)
	w := faults.Workload{Seed: seed(t), Name: "island", Turns: 8, Calls: 6, Start: time.Now().Add(-24 * time.Hour).UnixMilli()}
	g := runGateways(w, 8, 50*time.Millisecond, func() *gateway { return s.gateway() })
	t.Cleanup(func() {
		if !g.over() {
			g.stop()
		}
	})
	for range 2 {
		time.Sleep(2 * time.Second)
		require.False(t, p.ended(), p.stderr.tail())
		i.ip("link", "set", i.cable, "down")
		time.Sleep(12 * time.Second) // more than AckWait
		i.ip("link", "set", i.cable, "up")
	}
	g.stop()
	js := s.gateway().js
	s.ready(2)
	worked(t, js, 2*time.Minute)
	p.stop() // publishes the rest
	worked(t, js, time.Minute)
	t.Logf("%s; %d requests without an answer", g.history.Counts(), g.unanswered.Load())
	requireSame(t, &g.history, streamed(t, js), s.documents())
}
