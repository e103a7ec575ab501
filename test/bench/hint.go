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

func echo(nc *nats.Conn, body []byte) (time.Duration, error) {
	_, err := nc.Request(echoSubject, body, requestTime)
	return 0, err
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
		Note:    "One at a time, each for a new run, 50 hints and 50 echoes in turn; gateway, consumer and echo service in processes of their own, `sync_interval: always`.",
		Columns: []string{"NATS server", "history", "", "hint, local", "bare echo", "ratio"},
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
			hints, echoes, inside, err := b.inTurn(ctx, s, p)
			if err != nil {
				return err
			}
			for _, percent := range []int{50, 90, 99} {
				h, e := quantile(hints, float64(percent)/100), quantile(echoes, float64(percent)/100)
				trips.Rows = append(trips.Rows, []cell{
					label("%s", where), label("%d kB", kib), label("p%d", percent), took(h), took(e), ratio(h.Seconds(), e.Seconds()),
				})
			}
			used, err := b.processorTimeOfHints(ctx, s, p)
			if err != nil {
				return err
			}
			within.Rows = append(within.Rows, []cell{label("%s", where), label("%d kB", kib), took(median(inside)), took(used / time.Duration(b.requests))})
		}
		return nil
	})
	return []table{trips, within}, err
}

// Echoes and hints alternate in blocks, so that a change of the machine's speed
// affects both. The gap lets turns be folded before the echoes that follow.
const (
	block   = 50
	foldGap = 100 * time.Millisecond
)

// inTurn measures hints and echoes in turn.
func (b *bench) inTurn(ctx context.Context, s *stack, p *prompts) (hints, echoes, inside []time.Duration, err error) {
	for range 1 + (b.requests+block-1)/block { // the first block is the warm-up
		for n := range 2 * block {
			put, trips := question(echo), &echoes
			if n >= block {
				put, trips = ask, &hints
			}
			body := p.next()
			asked := time.Now()
			in, err := put(s.nc, body)
			if err != nil {
				return nil, nil, nil, err
			}
			*trips = append(*trips, time.Since(asked))
			if n >= block {
				inside = append(inside, in)
			}
		}
		if err := sleep(ctx, foldGap); err != nil {
			return nil, nil, nil, err
		}
	}
	return hints[block:], echoes[block:], inside[block:], nil
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
		Note: fmt.Sprintf("%d rounds of %s each, hints and echoes in turn, medians; %d sessions, history of 1 kB. Every hint is also an event that the server syncs to the disk (`sync_interval: always`) and the consumer folds: the last column counts the time until that is done.",
			b.rounds, b.round, b.sessions),
		Columns: []string{"NATS server", "hint, local", "bare echo", "ratio", "and folded"},
	}
	err := b.withEcho(ctx, "throughput", func(s *stack, where string) error {
		var hints, echoes, folded []float64
		p := &prompts{name: "throughput", sessions: b.sessions, messages: history(1 << 10)}
		for round := range b.rounds {
			b.say("server %s, round %d of %d", where, round+1, b.rounds)
			bare, _, err := b.atOnce(s, p, echo)
			if err != nil {
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
			echoes, hints, folded = append(echoes, bare), append(hints, rate), append(folded, float64(n)/time.Since(began).Seconds())
		}
		t.Rows = append(t.Rows, []cell{
			label("%s", where), perSecond(median(hints)), perSecond(median(echoes)), ratio(median(hints), median(echoes)), perSecond(median(folded)),
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
