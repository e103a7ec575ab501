//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

// decided is an event of an answer, as the contract has it (§15).
type decided struct {
	ID, Rubric, Answer, Source, Text, Check string
}

// askDecision asks about a text, and returns who answered; "" for nobody.
func (g *gateway) askDecision(text string) (source string, err error) {
	msg := nats.NewMsg("openclaw.request.decide.main")
	msg.Data = []byte(asJSON(object{"hook": "decide", "ctx": object{"agentId": "main"}, "event": object{
		"state": text, "questions": object{"card": object{"type": "noul", "instructions": "Is it about a bank card?"}},
	}}))
	msg.Header.Set("Hint-Timeout-Ms", "5000")
	m, err := g.nc.RequestMsg(msg, 5*time.Second)
	if err != nil {
		return "", err
	}
	return m.Header.Get("Decide-Source"), nil
}

// decisions returns the events of answers.
func (g *gateway) decisions() (out []decided) {
	g.t.Helper()
	stream, err := g.js.Stream(context.Background(), "OPENCLAW_EVENTS")
	require.NoError(g.t, err)
	consumer, err := stream.OrderedConsumer(context.Background(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{"openclaw.event.decided.>"}})
	require.NoError(g.t, err)
	info, err := consumer.Info(context.Background())
	require.NoError(g.t, err)
	for range info.NumPending {
		m, err := consumer.Next(jetstream.FetchMaxWait(patient))
		require.NoError(g.t, err)
		var envelope struct{ Event decided }
		require.NoError(g.t, json.Unmarshal(m.Data(), &envelope))
		out = append(out, envelope.Event)
	}
	return out
}

// TestNoDecisionCountsTwice kills processes while they answer, apply events and train
// their students. Afterwards each question was answered once, each answer of the teacher
// is learnt once, and all processes have the same student.
func TestNoDecisionCountsTwice(t *testing.T) {
	t.Parallel()
	teacher := newModel(t)
	teacher.Handle(func(r providertest.Request) providertest.Answer {
		p := 0.03
		if strings.Contains(r.User, "card") {
			p = 0.97
		}
		return providertest.Answer{Text: asJSON(object{"card": object{"type": "noul", "noul": p}})}
	})
	s := newSystem(t, settings{
		"HINT_NATS_PORT": "", "HINT_NATS_URL": newExternalProcess(t),
		"HINT_DECIDE": `{"enabled": true, "record": "text"}`, "HINT_DECIDE_MODEL": "wire/one",
		"HINT_PROVIDERS": asJSON(object{"wire": object{"baseUrl": teacher.AnthropicURL(), "api": "systemone"}}),
	})
	stays := s.serve(1, 1)[0]
	g := s.gateway()
	things := []string{"card", "card", "card", "song", "table", "moon"}
	var asked atomic.Int64
	ask := func() (string, error) {
		n := int(asked.Add(1))
		return g.askDecision(fmt.Sprintf("tell me about the %s of number %d in the %s", things[n%len(things)], n, []string{"house", "street", "city", "morning"}[n%4]))
	}
	const rounds, workers, each = 5, 4, 12
	for range rounds {
		dies := s.serve(1, 2)[0]
		var asking sync.WaitGroup
		for worker := range workers {
			asking.Go(func() {
				for i := range each {
					_, _ = ask() // a process that is killed answers no more
					if worker == 0 && i == each/2 {
						dies.kill()
					}
				}
			})
		}
		asking.Wait()
	}
	stays.kill()
	s.serve(2, 2)
	require.Eventually(t, func() bool { // its training is not over when the first answers come
		source, err := ask()
		return err == nil && source == "local"
	}, patient, tick)

	events := g.decisions()
	given, taught := map[string]int{}, map[string]decided{}
	for _, e := range events {
		if e.Check == "" {
			given[e.Text]++
		}
		if e.Source == "model" {
			_, twice := taught[e.ID]
			require.False(t, twice, "event %s is stored twice", e.ID)
			taught[e.ID] = e
		}
	}
	for text, n := range given {
		require.Equal(t, 1, n, "answers to %q", text)
	}
	require.LessOrEqual(t, len(given), int(asked.Load()))
	require.Greater(t, len(given), int(asked.Load())-rounds*workers*2-workers, "only what was in progress is lost")

	// What is learnt are the answers of the teacher, each once.
	var records map[string]string
	require.Eventually(t, func() bool { records = g.records(); return len(records) == len(taught) }, patient, tick)
	for id, answer := range records {
		require.Equal(t, taught[id].Answer, answer, id)
	}
	var tallies []struct{ Decisions, Checks int }
	require.NoError(t, json.Unmarshal([]byte(s.run("decide", "ls", "--json").stdout), &tallies))
	require.Len(t, tallies, 1)
	require.Equal(t, len(given), tallies[0].Decisions)
}

// records returns the answers of the teacher that are learnt from, by decision.
func (g *gateway) records() map[string]string {
	g.t.Helper()
	bucket, err := g.js.KeyValue(context.Background(), "OPENCLAW_EVENTS_DECISIONS")
	require.NoError(g.t, err)
	keys, err := bucket.Keys(context.Background())
	require.NoError(g.t, err)
	out := map[string]string{}
	for _, key := range keys {
		entry, err := bucket.Get(context.Background(), key)
		require.NoError(g.t, err)
		var record struct{ ID, Teacher string }
		require.NoError(g.t, json.Unmarshal(entry.Value(), &record))
		_, twice := out[record.ID]
		require.False(g.t, twice, "answer %s is learnt twice", record.ID)
		out[record.ID] = record.Teacher
	}
	return out
}
