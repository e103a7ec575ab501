//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/test/faults"
)

// member is one consumer process and its proxies to the servers.
type member struct {
	s       *system
	ways    []*faults.Proxy
	process *process
}

// field is everything that can be subjected to faults.
type field struct {
	t       *testing.T
	cluster *cluster
	members []*member
	js      jetstream.JetStream // on a connection without proxies
	history *faults.History

	mu sync.Mutex
	// disturbed are the times in which the stream may have been unreachable; a
	// zero end means until now.
	disturbed []*interval
	counts    map[string]int
	// spoilt are sessions made unreadable by a fault. They are rebuilt when an
	// event comes for them.
	spoilt map[string]bool
}

type interval struct{ from, to time.Time }

// newField starts a cluster and consumers that share one store.
func newField(t *testing.T, members int, given ...settings) *field {
	t.Helper()
	f := &field{t: t, cluster: newCluster(t), counts: map[string]int{}, spoilt: map[string]bool{}}
	f.cluster.provision()
	shared := newSystem(t, append([]settings{{"HINT_NATS_PORT": "", "HINT_NATS_URL": f.cluster.direct(), "HINT_HISTORY_LIMIT": "3", "HINT_STREAM_REPLICAS": "3"}}, given...)...)
	for range members {
		m := &member{ways: f.cluster.ways("127.0.0.1")}
		m.s = shared.in(t)
		m.s.env = maps.Clone(shared.env)
		m.s.env["HINT_NATS_URL"] = urls(m.ways)
		m.process = m.s.start()
		f.members = append(f.members, m)
	}
	shared.ready(members)
	f.js = shared.gateway().js
	return f
}

// shared returns the system without proxies.
func (f *field) shared() *system {
	s := f.members[0].s.in(f.t)
	s.env = maps.Clone(s.env)
	s.env["HINT_NATS_URL"] = f.cluster.direct()
	return s
}

// disturb records that the stream may be unreachable until the returned function
// is called.
func (f *field) disturb() (over func()) {
	now := &interval{from: time.Now()}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disturbed = append(f.disturbed, now)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		now.to = time.Now()
	}
}

// ending records that a consumer process is about to end. What it published is
// lost if the stream was unreachable and has not acknowledged it. A stop answers
// the requests that it gets until the server knows of it, and answers are on their
// way: a gateway waits for one for a second.
func (f *field) ending() {
	const (
		settled  = 20 * time.Second
		underWay = time.Second
	)
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.disturbed {
		if d.to.IsZero() || now.Sub(d.to) < settled {
			f.history.Doubt(d.from.Add(-time.Second), now.Add(underWay))
		}
	}
}

// fault is something that goes wrong for a while.
type fault struct {
	name string
	// stream means that it may make the stream unreachable for consumers.
	stream bool
	// least and most bound its duration.
	least, most time.Duration
	// do begins it, and returns a description and the function that ends it.
	do func(r *rand.Rand) (what string, heal func())
	// early limits it to the first half of a trial: all sessions are rebuilt
	// after it, which would hide earlier losses.
	early bool
}

// nothing ends a fault that is over at once.
func nothing() {}

// onNodes returns faults of the cluster. One node fails at a time, so that the
// other two go on.
func (f *field) onNodes() []fault {
	c := f.cluster
	restart := func(i int) func() {
		return func() {
			c.start(i)
			c.nodes[i].recovered(20 * time.Second)
		}
	}
	routes := func(name string, do func(*faults.Proxy)) fault {
		return fault{name: name, stream: true, least: 2 * time.Second, most: 8 * time.Second, do: func(r *rand.Rand) (string, func()) {
			i := r.IntN(len(c.nodes))
			around := c.around(i)
			for _, p := range around {
				do(p)
			}
			return c.nodes[i].name, func() {
				for _, p := range around {
					p.Heal()
				}
			}
		}}
	}
	return []fault{
		{name: "node killed", stream: true, least: time.Second, most: 4 * time.Second, do: func(r *rand.Rand) (string, func()) {
			i := r.IntN(len(c.nodes))
			c.nodes[i].process.kill()
			return c.nodes[i].name, restart(i)
		}},
		{name: "stream leader killed", stream: true, least: time.Second, most: 4 * time.Second, do: func(*rand.Rand) (string, func()) {
			i := c.leader(f.js)
			c.nodes[i].process.kill()
			return c.nodes[i].name, restart(i)
		}},
		{name: "node paused", stream: true, least: 3 * time.Second, most: 12 * time.Second, do: func(r *rand.Rand) (string, func()) {
			p := c.nodes[r.IntN(len(c.nodes))].process
			p.pause()
			return fmt.Sprint("process ", p.cmd.Process.Pid), p.resume
		}},
		{name: "stream leader paused", stream: true, least: 3 * time.Second, most: 8 * time.Second, do: func(*rand.Rand) (string, func()) {
			i := c.leader(f.js)
			c.nodes[i].process.pause()
			return c.nodes[i].name, c.nodes[i].process.resume
		}},
		{name: "rolling restart", stream: true, least: 0, most: 0, do: func(*rand.Rand) (string, func()) {
			for i := range c.nodes {
				c.nodes[i].process.terminate()
				c.nodes[i].process.wait(patient)
				restart(i)()
			}
			return "all nodes", nothing
		}},
		{name: "stream leader steps down", stream: true, least: 0, most: 0, do: func(*rand.Rand) (string, func()) {
			_, _ = f.js.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN.OPENCLAW_EVENTS", nil, 2*time.Second)
			return "OPENCLAW_EVENTS", nothing
		}},
		{name: "durable leader steps down", least: 0, most: 0, do: func(*rand.Rand) (string, func()) {
			_, _ = f.js.Conn().Request("$JS.API.CONSUMER.LEADER.STEPDOWN.OPENCLAW_EVENTS.intent-hint", nil, 2*time.Second)
			return "intent-hint", nothing
		}},
		routes("node cut off", (*faults.Proxy).Cut),
		routes("node loses packets", (*faults.Proxy).Freeze),
		routes("routes drop", (*faults.Proxy).Drop),
		routes("routes are slow", func(p *faults.Proxy) { p.Delay(200 * time.Millisecond) }),
	}
}

// onMembers returns faults of consumers and of what they write to.
func (f *field) onMembers() []fault {
	one := func(name string, stream bool, least, most time.Duration, do func(*rand.Rand, *member) func()) fault {
		return fault{name: name, stream: stream, least: least, most: most, do: func(r *rand.Rand) (string, func()) {
			i := r.IntN(len(f.members))
			return fmt.Sprint("consumer ", i), do(r, f.members[i])
		}}
	}
	ways := func(name string, do func(*faults.Proxy)) fault {
		return one(name, true, time.Second, 13*time.Second, func(_ *rand.Rand, m *member) func() {
			for _, p := range m.ways {
				do(p)
			}
			return func() {
				for _, p := range m.ways {
					p.Heal()
				}
			}
		})
	}
	start := func(m *member) func() { return func() { m.process = m.s.start() } }
	out := []fault{
		one("consumer killed", false, 0, 2*time.Second, func(_ *rand.Rand, m *member) func() {
			f.ending()
			m.process.kill()
			return start(m)
		}),
		one("consumer paused", false, 11*time.Second, 13*time.Second, func(_ *rand.Rand, m *member) func() {
			m.process.pause()
			return m.process.resume
		}),
		one("consumer stopped", false, 0, time.Second, func(_ *rand.Rand, m *member) func() {
			f.ending()
			m.process.terminate()
			m.process.wait(time.Minute)
			return start(m)
		}),
		ways("consumer cut off", (*faults.Proxy).Cut),
		ways("consumer loses packets", (*faults.Proxy).Freeze),
		ways("consumer's connections drop", (*faults.Proxy).Drop),
		ways("consumer's connections are slow", func(p *faults.Proxy) { p.Delay(300 * time.Millisecond) }),
	}
	out = append(out, out[0], out[0]) // kills find most: draw them three times as often
	if f.members[0].s.env["HINT_STORE"] == "kv" {
		return out
	}
	dir := f.members[0].s.sessionsDir()
	return append(out,
		one("consumer may write no more", false, time.Second, 5*time.Second, func(r *rand.Rand, m *member) func() {
			return m.process.limitFiles(f.t, uint64(r.IntN(3000)))
		}),
		fault{name: "slow disk", least: time.Second, most: 13 * time.Second, do: func(r *rand.Rand) (string, func()) {
			// Locks held by another process look like a slow file system.
			var held []*flock.Flock
			for range 20 {
				l := flock.New(filepath.Join(dir, ".locks", fmt.Sprintf("%02d", r.IntN(64))))
				if ok, err := l.TryLock(); ok && err == nil {
					held = append(held, l)
				}
			}
			return fmt.Sprint(len(held), " locks"), func() {
				for _, l := range held {
					_ = l.Unlock()
				}
			}
		}},
		fault{name: "a file in the way", least: time.Second, most: 5 * time.Second, do: func(r *rand.Rand) (string, func()) {
			// A directory in its place makes a file unwritable.
			paths, _ := filepath.Glob(filepath.Join(dir, "*.json"))
			if len(paths) == 0 {
				return "no session yet", nothing
			}
			pending := strings.TrimSuffix(paths[r.IntN(len(paths))], ".json") + ".pending"
			if os.Mkdir(pending, 0o700) != nil {
				return "one waits there", nothing
			}
			return filepath.Base(pending), func() { _ = os.Remove(pending) }
		}},
	)
}

// onSessions returns faults of what consumers have written. They happen at once;
// their duration is the time to work with the damage.
func (f *field) onSessions() []fault {
	if f.members[0].s.env["HINT_STORE"] == "kv" {
		return f.onBucket()
	}
	dir := f.members[0].s.sessionsDir()
	spoilSome := func(pattern string, how func(*rand.Rand, string) string) func(*rand.Rand) (string, func()) {
		return func(r *rand.Rand) (string, func()) {
			paths, _ := filepath.Glob(filepath.Join(dir, pattern))
			var done []string
			for _, i := range some(r, len(paths)) {
				if how := how(r, paths[i]); how != "" {
					session, _, _ := strings.Cut(filepath.Base(paths[i]), ".")
					f.spoils(session)
					done = append(done, session+" "+how)
				}
			}
			return strings.Join(done, ", "), nothing
		}
	}
	return []fault{
		{name: "the sessions are moved away", early: true, least: time.Second, most: 8 * time.Second, do: func(*rand.Rand) (string, func()) {
			return outcome(os.Rename(dir, filepath.Join(f.t.TempDir(), "away"))), nothing
		}},
		{name: "the sessions are removed", early: true, least: time.Second, most: 8 * time.Second, do: func(*rand.Rand) (string, func()) {
			// Consumers write meanwhile.
			err := os.RemoveAll(dir)
			for attempt := 0; err != nil && attempt < 100; attempt++ {
				err = os.RemoveAll(dir)
			}
			return outcome(err), nothing
		}},
		{name: "session files are spoilt", least: time.Second, most: 8 * time.Second, do: spoilSome("*.json", spoil)},
		{name: "histories are spoilt", least: time.Second, most: 8 * time.Second, do: spoilSome("*.history.jsonl", spoilLines)},
		{name: "facts that wait are spoilt", least: time.Second, most: 8 * time.Second, do: spoilSome("*.pending", spoilLines)},
	}
}

// spoil makes a session file unreadable and returns how, "" when it failed.
func spoil(r *rand.Rand, path string) string {
	switch r.IntN(4) {
	case 0:
		// A shorter file is not a document.
		info, err := os.Stat(path)
		if err == nil && os.Truncate(path, r.Int64N(max(info.Size()-2, 1))) == nil {
			return "cut"
		}
	case 1:
		return overwrite(path, garbage(r))
	case 2:
		if os.WriteFile(path+".new", garbage(r), 0o600) == nil && os.Rename(path+".new", path) == nil {
			return "replaced"
		}
	default:
		if os.Remove(path) == nil && os.Mkdir(path, 0o700) == nil {
			return "a directory"
		}
	}
	return ""
}

func garbage(r *rand.Rand) []byte {
	out := make([]byte, r.IntN(5000))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// overwrite overwrites a file and returns the word for it, "" when it failed.
func overwrite(path string, content []byte) string {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return ""
	}
	_, err = file.Write(content)
	return done(errors.Join(err, file.Close()), "overwritten")
}

// spoilLines makes a file of lines unreadable in part and returns how, "" when it
// failed. It never removes a whole line, which no reader could detect.
func spoilLines(r *rand.Rand, path string) string {
	if r.IntN(3) == 0 {
		return overwrite(path, garbage(r))
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // the damage is done
	data, err := io.ReadAll(file)
	if err != nil || len(data) == 0 {
		return ""
	}
	at := r.IntN(len(data))
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	if at > start && r.IntN(2) == 0 {
		err = file.Truncate(int64(at))
		return done(err, "cut")
	}
	_, err = file.WriteAt([]byte("?"), int64(start))
	return done(err, "damaged")
}

// done returns what, "" after an error.
func done(err error, what string) string {
	if err != nil {
		return ""
	}
	return what
}

// onBucket returns faults of the sessions in a bucket.
func (f *field) onBucket() []fault {
	const name = "OPENCLAW_EVENTS_SESSIONS"
	limited := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 5*time.Second)
	}
	// A deleted retired turn is not restored: ways leaves deletion out for them.
	spoilSome := func(filter string, ways int) func(*rand.Rand) (string, func()) {
		return func(r *rand.Rand) (string, func()) {
			ctx, cancel := limited()
			defer cancel()
			kv, err := f.js.KeyValue(ctx, name)
			if err != nil {
				return outcome(err), nothing
			}
			lister, err := kv.ListKeysFiltered(ctx, filter)
			if err != nil {
				return outcome(err), nothing
			}
			var keys []string
			for key := range lister.Keys() {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			var done []string
			for _, i := range some(r, len(keys)) {
				session, _, _ := strings.Cut(keys[i], ".")
				f.spoils(session) // also if the server's answer is lost
				how, err := spoilKey(ctx, r, kv, keys[i], r.IntN(ways))
				if err == nil {
					done = append(done, keys[i]+" "+how)
				}
			}
			return strings.Join(done, ", "), nothing
		}
	}
	return []fault{
		{name: "the bucket is deleted", early: true, least: time.Second, most: 8 * time.Second, do: func(*rand.Rand) (string, func()) {
			ctx, cancel := limited()
			defer cancel()
			return outcome(f.js.DeleteKeyValue(ctx, name)), nothing
		}},
		{name: "session keys are spoilt", least: time.Second, most: 8 * time.Second, do: spoilSome("*", 4)},
		{name: "retired turns are spoilt", least: time.Second, most: 8 * time.Second, do: spoilSome("*.h.*", 2)},
	}
}

// spoilKey makes a key unreadable in one of four ways and returns how.
func spoilKey(ctx context.Context, r *rand.Rand, kv jetstream.KeyValue, key string, way int) (how string, err error) {
	switch way {
	case 0:
		entry, err := kv.Get(ctx, key)
		if err == nil {
			_, err = kv.Put(ctx, key, entry.Value()[:len(entry.Value())/2])
		}
		return "cut", err
	case 1:
		_, err := kv.Put(ctx, key, garbage(r))
		return "overwritten", err
	case 2:
		return "deleted", kv.Delete(ctx, key)
	default:
		return "purged", kv.Purge(ctx, key)
	}
}

// outcome returns whether a fault succeeded, as a text.
func outcome(err error) string {
	if err != nil {
		return "failed: " + err.Error()
	}
	return "all"
}

// some returns a few of n indexes.
func some(r *rand.Rand, n int) []int {
	var out []int
	for range min(n, 1+r.IntN(6)) {
		out = append(out, r.IntN(n))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// spoils records a session that cannot be read.
func (f *field) spoils(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spoilt[session] = true
}

// touch publishes two events for every spoilt session: one of a run without a
// turn, and one without a run and from before all turns, for which the retired
// ones are searched.
func (f *field) touch(ts int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, session := range slices.Sorted(maps.Keys(f.spoilt)) {
		for call, e := range map[string]faults.Event{
			session + "-touched": {Run: session + "-touched", TS: ts},
			session + "-before":  {TS: 978307200000}, // the first that is a time
		} {
			e.ID, e.Hook, e.Session, e.Call, e.Text = "tool-"+call, faults.ToolCall, session, call, "result of "+call
			f.history.Published(e)
			ctx, cancel := context.WithTimeout(context.Background(), patient)
			_, err := f.js.PublishMsg(ctx, messageOf(e))
			cancel()
			require.NoError(f.t, err)
			f.history.Acknowledged(e.ID)
		}
	}
}

// harass causes faults, chosen by the seed, until the time is over: every kind
// once before any is repeated.
func (f *field) harass(seed uint64, stream uint64, kinds []fault, until time.Time) {
	r := rand.New(rand.NewPCG(seed, stream))
	half := time.Now().Add(time.Until(until) / 2)
	var bag []int
	for time.Now().Before(until) {
		if len(bag) == 0 {
			bag = r.Perm(len(kinds))
		}
		k := kinds[bag[0]]
		bag = bag[1:]
		if k.early && time.Now().After(half) {
			continue
		}
		lasts := k.least + time.Duration(r.Int64N(int64(k.most-k.least)+1))
		over := nothing
		if k.stream {
			over = f.disturb()
		}
		what, heal := k.do(r)
		f.t.Logf("%s, %s, for %s", k.name, what, lasts.Round(10*time.Millisecond))
		time.Sleep(lasts)
		heal()
		over()
		f.mu.Lock()
		f.counts[k.name]++
		f.mu.Unlock()
		time.Sleep(time.Duration(200+r.IntN(1500)) * time.Millisecond)
	}
}

// trial is the duration and the load of a test with faults.
type trial struct {
	seed     uint64
	lasts    time.Duration
	gateways int
	pace     time.Duration
}

// try runs gateways during faults of every kind, ends the faults, and compares the
// documents with what was published.
func (f *field) try(tr trial) {
	t := f.t
	ways := f.cluster.ways("127.0.0.1")
	through := f.shared()
	through.env["HINT_NATS_URL"] = urls(ways)
	w := faults.Workload{Seed: tr.seed, Name: "f" + strconv.FormatUint(tr.seed, 36), Turns: 8, Calls: 6, Start: time.Now().Add(-24 * time.Hour).UnixMilli()}
	began := time.Now()
	g := runGateways(w, tr.gateways, tr.pace, func() *gateway { return through.gateway() })
	f.history = &g.history
	ended := make(chan struct{})
	go f.progress(g, ended)
	var nemeses sync.WaitGroup
	until := began.Add(tr.lasts)
	nemeses.Go(func() { f.harass(tr.seed, 1, f.onNodes(), until) })
	nemeses.Go(func() { f.harass(tr.seed, 2, f.onMembers(), until) })
	nemeses.Go(func() { f.harass(tr.seed, 3, f.onSessions(), until) })
	nemeses.Wait()
	g.stop()
	close(ended)

	// The faults are over. A new consumer applies the rest.
	f.cluster.healthy()
	last := f.shared()
	last.ready(len(f.members))
	for _, m := range f.members {
		m.process.stop()
	}
	p := last.serve(1, 1)[0]
	f.touch(w.Start)
	worked(t, f.js, 3*time.Minute)
	stream := streamed(t, f.js)
	var documents map[string]faults.Document
	// Lost sessions are rebuilt meanwhile.
	for until := time.Now().Add(patient); ; time.Sleep(time.Second) {
		var err error
		documents, err = last.readDocuments()
		if err == nil && len(g.history.Check(stream, documents)) == 0 {
			break
		}
		if time.Now().After(until) {
			require.NoError(t, err)
			break
		}
	}
	p.stop()
	turns, calls := 0, 0
	for _, d := range documents {
		turns += len(d.Turns)
		for _, turn := range d.Turns {
			calls += len(turn.Calls)
		}
	}
	t.Logf("seed %d, %s: %s; %d requests without an answer; stream of %d messages; %d sessions with %d turns and %d calls; faults: %v",
		tr.seed, time.Since(began).Round(time.Second), g.history.Counts(), g.unanswered.Load(), len(stream), len(documents), turns, calls, f.counts)
	requireSame(t, &g.history, stream, documents)
	letters, err := f.js.Stream(t.Context(), "OPENCLAW_EVENTS_DLQ")
	require.NoError(t, err)
	require.Zero(t, letters.CachedInfo().State.Msgs, "dead letters")
}

// progress logs the counts of a long trial every half minute.
func (f *field) progress(g *gateways, ended <-chan struct{}) {
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.t.Log(g.history.Counts())
		case <-ended:
			return
		}
	}
}

// seed returns FAULTS_SEED, or a random seed.
func seed(t *testing.T) uint64 {
	t.Helper()
	out := rand.Uint64()
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		var err error
		out, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "FAULTS_SEED")
	}
	t.Logf("FAULTS_SEED=%d", out)
	return out
}
