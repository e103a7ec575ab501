package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"intenthint/subjects"
)

var hintSubject = prefix.Request(subjects.HookBeforePromptBuild, agent)

// requestTime is the maximum for a request.
const requestTime = 10 * time.Second

// question sends a kind of request. inside is the time that the consumer took.
type question func(nc *nats.Conn, body []byte) (inside time.Duration, err error)

func ask(nc *nats.Conn, body []byte) (inside time.Duration, err error) {
	reply, err := nc.Request(hintSubject, body, requestTime)
	if err != nil {
		return 0, err
	}
	if reply.Header.Get(subjects.HeaderIntent) == "" {
		return 0, fmt.Errorf("no hint: %v %s", reply.Header, reply.Data)
	}
	ms, err := strconv.ParseFloat(reply.Header.Get(subjects.HeaderElapsedMs), 64)
	return time.Duration(ms * float64(time.Millisecond)), err
}

// floor asks the echo service on a subject.
func floor(subject string) question {
	return func(nc *nats.Conn, body []byte) (time.Duration, error) {
		reply, err := nc.Request(subject, body, requestTime)
		if err == nil && reply.Header.Get(micro.ErrorHeader) != "" {
			err = fmt.Errorf("%s: %s", subject, reply.Header.Get(micro.ErrorHeader))
		}
		return 0, err
	}
}

// withEcho measures with a consumer and an echo service, for each place of the
// NATS server.
func (b *bench) withEcho(ctx context.Context, name string, measure func(s *stack, where string) error) error {
	for _, where := range []string{ownServer, otherServer} {
		err := func() error {
			s, err := b.startStack(ctx, b.dataDirectory(name), where, syncAlways, 1)
			if err != nil {
				return err
			}
			defer s.stop()
			service, err := b.startRole(ctx, "echo", s.nc.ConnectedUrl())
			if err != nil {
				return err
			}
			defer service.stop()
			return measure(s, where)
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// measureHint compares round trips.
func (b *bench) measureHint(ctx context.Context) ([]table, error) {
	trips := table{
		Title:   "Round trip of a hint",
		Note:    pauses(b.pause) + "each for a new run, 50 bare echoes, echoes that publish an event of 3 kB and hints in turn; gateway, consumer and echo service in processes of their own, `sync_interval: always`.",
		Columns: []string{"NATS server", "history", "", "hint, local", "bare echo", "ratio", "echo and event", "ratio"},
	}
	within := table{
		Title:   "Of which in the consumer",
		Note:    "Processor time is that of the whole process until the turn is folded into its session, including the NATS server when it is the consumer's own.",
		Columns: []string{"NATS server", "history", "in the consumer, p50", "processor time a hint"},
	}
	err := b.withEcho(ctx, "hint", func(s *stack, where string) error {
		for _, kib := range []int{1, 100} {
			b.say("server %s, history of %d kB", where, kib)
			p := &prompts{name: fmt.Sprint("hint-", kib), sessions: b.sessions, messages: history(kib << 10)}
			t, err := b.inTurn(ctx, s, p)
			if err != nil {
				return err
			}
			for _, percent := range []int{50, 90, 99} {
				q := float64(percent) / 100
				h, e, w := quantile(t.hints, q), quantile(t.echoes, q), quantile(t.storing, q)
				trips.Rows = append(trips.Rows, []cell{
					label("%s", where), label("%d kB", kib), label("p%d", percent), took(h),
					took(e), ratio(h.Seconds(), e.Seconds()), took(w), ratio(h.Seconds(), w.Seconds()),
				})
			}
			used, err := b.processorTimeOfHints(ctx, s, p)
			if err != nil {
				return err
			}
			within.Rows = append(within.Rows, []cell{label("%s", where), label("%d kB", kib), took(median(t.inside)), took(used / time.Duration(b.requests))})
		}
		return nil
	})
	return []table{trips, within}, err
}

// pauses says how requests follow each other.
func pauses(pause time.Duration) string {
	if pause == 0 {
		return "One at a time, "
	}
	return fmt.Sprintf("One at a time, %s after the answer to the last, ", pause)
}

// Echoes and hints alternate in blocks, so that a change of the machine's speed
// affects both. The gap lets turns be folded before the echoes that follow.
const (
	block   = 50
	foldGap = 100 * time.Millisecond
)

// trips are the times of requests from outside and, of hints, those inside the
// consumer.
type trips struct{ echoes, storing, hints, inside []time.Duration }

// inTurn measures echoes and hints in turn.
func (b *bench) inTurn(ctx context.Context, s *stack, p *prompts) (t trips, err error) {
	kinds := []struct {
		put   question
		times *[]time.Duration
	}{{floor(echoSubject), &t.echoes}, {floor(storeSubject), &t.storing}, {ask, &t.hints}}
	for round := range 1 + (b.requests+block-1)/block {
		if round == 1 { // the first was the warm-up
			t = trips{}
		}
		for _, kind := range kinds {
			for range block {
				body := p.next()
				if err := sleep(ctx, b.pause); err != nil {
					return t, err
				}
				asked := time.Now()
				inside, err := kind.put(s.nc, body)
				if err != nil {
					return t, err
				}
				*kind.times = append(*kind.times, time.Since(asked))
				if inside > 0 {
					t.inside = append(t.inside, inside)
				}
			}
		}
		if err := sleep(ctx, foldGap); err != nil {
			return t, err
		}
	}
	return t, nil
}

// processorTimeOfHints is the consumer's processor time for hints without echoes,
// until their turns are folded.
func (b *bench) processorTimeOfHints(ctx context.Context, s *stack, p *prompts) (time.Duration, error) {
	before, err := s.lastEvent(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.applied(ctx, before); err != nil {
		return 0, err
	}
	used := s.processorTime()
	for range b.requests {
		if _, err := ask(s.nc, p.next()); err != nil {
			return 0, err
		}
	}
	err = s.applied(ctx, before+uint64(b.requests))
	return s.processorTime() - used, err
}

// measureThroughput compares hints and echoes from several requesters at once.
func (b *bench) measureThroughput(ctx context.Context) ([]table, error) {
	t := table{
		Title: fmt.Sprintf("%d requesters at once", b.requesters),
		Note: fmt.Sprintf("%d rounds of %s each, bare echoes, echoes that publish an event of 3 kB and hints in turn, medians; %d sessions, history of 1 kB. Every hint is also an event that the server syncs to the disk (`sync_interval: always`) and the consumer folds: the last column counts the time until that is done.",
			b.rounds, b.round, b.sessions),
		Columns: []string{"NATS server", "hint, local", "bare echo", "ratio", "echo and event", "ratio", "hint, and folded"},
	}
	err := b.withEcho(ctx, "throughput", func(s *stack, where string) error {
		var hints, echoes, storing, folded []float64
		p := &prompts{name: "throughput", sessions: b.sessions, messages: history(1 << 10)}
		for round := range b.rounds {
			b.say("server %s, round %d of %d", where, round+1, b.rounds)
			bare, _, err := b.atOnce(s, p, floor(echoSubject))
			if err != nil {
				return err
			}
			with, _, err := b.atOnce(s, p, floor(storeSubject))
			if err != nil {
				return err
			}
			if _, err := floor(storedSubject)(s.nc, nil); err != nil {
				return err
			}
			before, err := s.lastEvent(ctx)
			if err != nil {
				return err
			}
			began := time.Now()
			rate, n, err := b.atOnce(s, p, ask)
			if err != nil {
				return err
			}
			if err := s.applied(ctx, before+uint64(n)); err != nil {
				return err
			}
			echoes, storing, hints, folded = append(echoes, bare), append(storing, with), append(hints, rate), append(folded, float64(n)/time.Since(began).Seconds())
		}
		t.Rows = append(t.Rows, []cell{
			label("%s", where), perSecond(median(hints)),
			perSecond(median(echoes)), ratio(median(hints), median(echoes)), perSecond(median(storing)), ratio(median(hints), median(storing)), perSecond(median(folded)),
		})
		return nil
	})
	return []table{t}, err
}

// atOnce sends requests from all requesters for a round.
func (b *bench) atOnce(s *stack, p *prompts, put question) (rate float64, n int, err error) {
	var (
		wait  sync.WaitGroup
		count atomic.Int64
	)
	connections, failures := make([]*nats.Conn, b.requesters), make([]error, b.requesters)
	for i := range connections {
		if connections[i], err = nats.Connect(s.nc.ConnectedUrl()); err != nil {
			return 0, 0, err
		}
		defer connections[i].Close()
	}
	began := time.Now()
	for i, nc := range connections {
		wait.Go(func() {
			for time.Since(began) < b.round && failures[i] == nil {
				_, failures[i] = put(nc, p.next())
				count.Add(1)
			}
		})
	}
	wait.Wait()
	n = int(count.Load())
	return float64(n) / time.Since(began).Seconds(), n, errors.Join(failures...)
}
