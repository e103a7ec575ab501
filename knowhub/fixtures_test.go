package knowhub_test

import (
	"context"
	"log/slog"
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

// process is the KnowHub of one process.
type process struct {
	*knowhub.Service
	turns *bucket.Turns
}

var (
	experiencesBucket = jetstream.KeyValueConfig{Bucket: "T_EXPERIENCES"}
	turnsBucket       = jetstream.KeyValueConfig{Bucket: "T_TURNS", TTL: time.Hour}
)

// start runs a process until the test ends.
func start(t *testing.T, ns *server.Server, set knowhub.Settings) *process {
	t.Helper()
	p := &process{}
	js := natstest.JetStream(t, ns)
	p.turns = bucket.NewTurns(js, turnsBucket)
	kept := bucket.NewExperiences(js, experiencesBucket)
	metrics := knowhub.NewMetrics(prometheus.NewRegistry())
	log := slog.New(slog.DiscardHandler)
	c := knowhub.NewCopy(knowhub.CopyOptions{
		Bucket: kept, Metrics: metrics, Log: log,
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
	es, err := p.Search(t.Context(), text, "", agent, 0)
	require.NoError(t, err)
	ids := []string{}
	for _, e := range es {
		ids = append(ids, e.ID)
	}
	return ids
}
