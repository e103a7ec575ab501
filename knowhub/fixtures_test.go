package knowhub_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/safety"
)

func TestMain(m *testing.M) { natstest.Main(m, 4) }

// memory is an index in memory, which outlives its openings as a file does.
type memory struct {
	mu      sync.Mutex
	of      string
	place   uint64
	known   map[string]experience.Experience
	removed map[string]bool
	resets  int
	fail    error // of every call
}

func (m *memory) locked(f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.known == nil {
		m.known = map[string]experience.Experience{}
	}
	f()
	return nil
}

func (m *memory) Place(context.Context) (of string, revision uint64, err error) {
	err = m.locked(func() { of, revision = m.of, m.place })
	return of, revision, err
}

func (m *memory) Reset(_ context.Context, of string) error {
	return m.locked(func() {
		m.of, m.place, m.known, m.removed, m.resets = of, 0, map[string]experience.Experience{}, nil, m.resets+1
	})
}

func (m *memory) Apply(_ context.Context, changes []bucket.Change) error {
	return m.locked(func() {
		for _, c := range changes {
			m.take(c)
			m.place = max(m.place, c.Revision)
		}
	})
}

func (m *memory) take(c bucket.Change) {
	if c.Removed {
		delete(m.known, c.ID)
		if m.removed == nil {
			m.removed = map[string]bool{}
		}
		m.removed[c.ID] = true
		return
	}
	delete(m.removed, c.ID)
	m.known[c.ID] = c.Experience
}

func (m *memory) Put(_ context.Context, c bucket.Change) error {
	return m.locked(func() { m.take(c) })
}

func (m *memory) Held(context.Context) (keys uint64, err error) {
	err = m.locked(func() { keys = uint64(len(m.known) + len(m.removed)) })
	return keys, err
}

func (m *memory) Search(_ context.Context, q knowhub.Query) (out []knowhub.Hit, err error) {
	err = m.locked(func() {
		for _, e := range m.known {
			score := 0
			for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
				if strings.Contains(strings.ToLower(e.Task+" "+e.Resource+" "+e.Result), word) {
					score++
				}
			}
			if score > 0 && e.Status == experience.Approved && (q.AgentID == "" || q.AgentID == e.AgentID) && (!q.Unowned || e.AgentID == "") {
				out = append(out, knowhub.Hit{Experience: e, Score: float64(score)})
			}
		}
	})
	slices.SortFunc(out, func(a, b knowhub.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	return out[:min(len(out), q.Limit)], err
}

func (m *memory) List(_ context.Context, status experience.Status, _ experience.Experience, limit int) (out []experience.Experience, err error) {
	err = m.locked(func() {
		for _, e := range m.known {
			if e.Status == status {
				out = append(out, e)
			}
		}
	})
	slices.SortFunc(out, func(a, b experience.Experience) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(len(out), limit)], err
}

func (m *memory) Near(context.Context, experience.Experience, bool) (out []knowhub.Hit, err error) {
	err = m.locked(func() {
		for _, e := range m.known {
			out = append(out, knowhub.Hit{Experience: e, Score: 1})
		}
	})
	return out, err
}

func (m *memory) Counts(context.Context) (counts map[experience.Status]int, err error) {
	err = m.locked(func() {
		counts = map[experience.Status]int{}
		for _, e := range m.known {
			counts[e.Status]++
		}
	})
	return counts, err
}

func (m *memory) Close() error { return nil }

var errDisk = errors.New("disk I/O error")

// process is the KnowHub of one process.
type process struct {
	*knowhub.Service
	index *memory
	turns *bucket.Turns
}

var (
	experiencesBucket = jetstream.KeyValueConfig{Bucket: "T_EXPERIENCES"}
	turnsBucket       = jetstream.KeyValueConfig{Bucket: "T_TURNS", TTL: time.Hour}
)

// start runs a process until the test ends, with an index of its own.
func start(t *testing.T, ns *server.Server, set knowhub.Settings) *process {
	t.Helper()
	p := &process{index: &memory{}}
	js := natstest.JetStream(t, ns)
	p.turns = bucket.NewTurns(js, turnsBucket)
	kept := bucket.NewExperiences(js, experiencesBucket)
	metrics := knowhub.NewMetrics(prometheus.NewRegistry())
	log := slog.New(slog.DiscardHandler)
	c := knowhub.NewCopy(knowhub.CopyOptions{
		Bucket: kept, Open: func(context.Context) (knowhub.Index, error) { return p.index, nil }, Metrics: metrics, Log: log,
	})
	p.Service = knowhub.New(knowhub.Options{Experiences: kept, Copy: c, Marks: safety.Marks, Metrics: metrics, Log: log})
	p.Use(&set)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	require.Eventually(t, func() bool { _, err := p.Pending(t.Context(), 0); return err == nil }, patience, tick)
	return p
}

const (
	patience = time.Minute // for a busy machine
	tick     = 5 * time.Millisecond
)

// usual are the default settings.
func usual() knowhub.Settings {
	return knowhub.Settings{
		RemindAtStart: true, RemindEvery: 3, RepeatAfter: 8,
		Strict: true, MinConfidence: 0.7, Approval: true, Shared: true,
	}
}

// open are settings under which everything is approved at once.
func open() knowhub.Settings {
	set := usual()
	set.Approval = false
	return set
}

func deploy() knowhub.Submission {
	return knowhub.Submission{Task: "Deploy the shop", Resource: "wrangler", Result: "Needs --env production", AgentID: "main", SubmittedBy: "jo"}
}

func submit(t *testing.T, p *process, in knowhub.Submission) experience.Experience {
	t.Helper()
	e, _, err := p.Submit(t.Context(), in)
	require.NoError(t, err)
	return e
}

// found are the ids that a search finds.
func found(t *testing.T, p *process, text, agent string) []string {
	t.Helper()
	es, err := p.Search(t.Context(), text, agent, 0)
	require.NoError(t, err)
	ids := []string{}
	for _, e := range es {
		ids = append(ids, e.ID)
	}
	return ids
}
