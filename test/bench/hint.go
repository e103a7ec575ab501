package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/subjects"
)

var hintSubject = prefix.Request(subjects.HookBeforePromptBuild, agent)

// requestTime is the longest that a request may take.
const requestTime = 10 * time.Second

// ask asks for a hint, and says how long the consumer itself took for it.
func ask(ctx context.Context, nc *nats.Conn, body []byte) (inside time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, hintSubject, body)
	if err != nil {
		return 0, err
	}
	if reply.Header.Get(subjects.HeaderIntent) == "" {
		return 0, fmt.Errorf("no hint: %v %s", reply.Header, reply.Data)
	}
	ms, err := strconv.ParseFloat(reply.Header.Get(subjects.HeaderElapsedMs), 64)
	return time.Duration(ms * float64(time.Millisecond)), err
}

func echo(ctx context.Context, nc *nats.Conn, body []byte) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := nc.RequestWithContext(ctx, echoSubject, body)
	return 0, err
}

// question is a kind of request.
type question func(ctx context.Context, nc *nats.Conn, body []byte) (inside time.Duration, err error)

// withEcho starts a consumer and an echo service beside it.
func (b *bench) withEcho(ctx context.Context, name, where string, measure func(*stack) error) error {
	data := b.dataDirectory(name)
	s, err := b.startStack(ctx, data, where, syncAlways, 1)
	if err != nil {
		return err
	}
	defer s.stop()
	service, err := b.startRole(ctx, "echo", s.nc.ConnectedUrl())
	if err != nil {
		return err
	}
	defer service.stop()
	return measure(s)
}

// measureHint compares round trips.
func (b *bench) measureHint(ctx context.Context) ([]table, error) {
	trips := table{
		Title:   "Round trip of a hint",
		Note:    "One at a time, a new run every time, in turn with an echo service, 50 of each; gateway, consumer and echo service in processes of their own, `sync_interval: always`.",
		Columns: []string{"NATS server", "history", "", "hint, local", "bare echo", "ratio"},
	}
	within := table{
		Title:   "Of which in the consumer",
		Note:    "The processor time is that of the whole process: until the turn has been folded into its session, and with the NATS server where it is the consumer's own.",
		Columns: []string{"NATS server", "history", "in the consumer, p50", "processor time a hint"},
	}
	for _, where := range []string{ownServer, otherServer} {
		err := b.withEcho(ctx, "hint", where, func(s *stack) error {
			for _, kib := range []int{1, 100} {
				b.say("server %s, a history of %d kB", where, kib)
				p := &prompts{name: fmt.Sprint("hint-", kib), sessions: b.sessions, messages: history(kib << 10)}
				hints, echoes, inside, err := b.inTurn(ctx, s, p)
				if err != nil {
					return err
				}
				for _, q := range []struct {
					name string
					at   float64
				}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
					h, e := quantile(hints, q.at), quantile(echoes, q.at)
					trips.Rows = append(trips.Rows, []cell{label("%s", where), label("%d kB", kib), label("%s", q.name), took(h), took(e), ratio(h.Seconds(), e.Seconds())})
				}
				used, err := b.processorTimeOfHints(ctx, s, p)
				if err != nil {
					return err
				}
				within.Rows = append(within.Rows, []cell{label("%s", where), label("%d kB", kib), took(median(inside)), each(used, b.requests)})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return []table{trips, within}, nil
}

// Echoes and hints take turns in blocks, so that a change of the machine's speed
// meets both. After hints there is time to fold their turns, which is no work of
// the echoes that follow.
const (
	block   = 50
	foldGap = 100 * time.Millisecond
)

// inTurn asks for hints and echoes in turn.
func (b *bench) inTurn(ctx context.Context, s *stack, p *prompts) (hints, echoes, inside []time.Duration, err error) {
	for range 1 + (b.requests+block-1)/block { // the first block is for warming up
		for range block {
			body := p.next()
			asked := time.Now()
			if _, err := echo(ctx, s.nc, body); err != nil {
				return nil, nil, nil, err
			}
			echoes = append(echoes, time.Since(asked))
		}
		for range block {
			body := p.next()
			asked := time.Now()
			in, err := ask(ctx, s.nc, body)
			if err != nil {
				return nil, nil, nil, err
			}
			hints, inside = append(hints, time.Since(asked)), append(inside, in)
		}
		if err := sleep(ctx, foldGap); err != nil {
			return nil, nil, nil, err
		}
	}
	return hints[block:], echoes[block:], inside[block:], nil
}

// processorTimeOfHints is what the consumer uses for hints alone, until they
// have become turns.
func (b *bench) processorTimeOfHints(ctx context.Context, s *stack, p *prompts) (time.Duration, error) {
	settle, err := s.settling(ctx)
	if err != nil {
		return 0, err
	}
	if err := settle(0); err != nil {
		return 0, err
	}
	if settle, err = s.settling(ctx); err != nil {
		return 0, err
	}
	used := s.processorTime()
	for range b.requests {
		if _, err := ask(ctx, s.nc, p.next()); err != nil {
			return 0, err
		}
	}
	err = settle(b.requests)
	return s.processorTime() - used, err
}

// settling returns what waits until as many turns as are told, which begin from
// now on, have been stored and folded.
func (s *stack) settling(ctx context.Context) (func(turns int) error, error) {
	before, err := s.lastEvent(ctx)
	if err != nil {
		return nil, err
	}
	return func(turns int) error { return s.applied(ctx, before+uint64(turns)) }, nil
}

// measureThroughput lets several requesters ask at once, for hints and for echoes in
// short rounds in turn.
func (b *bench) measureThroughput(ctx context.Context) ([]table, error) {
	t := table{
		Title: fmt.Sprintf("%d requesters at once", b.requesters),
		Note: fmt.Sprintf("%d rounds of %s each, of hints and of echoes in turn, medians; %d sessions, a history of 1 kB. Every hint is also an event that the server syncs to the disk (`sync_interval: always`) and the consumer folds: the last column is hints by the time until that is done as well.",
			b.rounds, b.round, b.sessions),
		Columns: []string{"NATS server", "hint, local", "bare echo", "ratio", "and folded"},
	}
	for _, where := range []string{ownServer, otherServer} {
		err := b.withEcho(ctx, "throughput", where, func(s *stack) error {
			var hints, echoes, folded []float64
			p := &prompts{name: "throughput", sessions: b.sessions, messages: history(1 << 10)}
			for round := range b.rounds {
				b.say("server %s, round %d of %d", where, round+1, b.rounds)
				bare, _, err := b.atOnce(ctx, s, p, echo)
				if err != nil {
					return err
				}
				settle, err := s.settling(ctx)
				if err != nil {
					return err
				}
				began := time.Now()
				rate, n, err := b.atOnce(ctx, s, p, ask)
				if err != nil {
					return err
				}
				if err := settle(n); err != nil {
					return err
				}
				echoes, hints, folded = append(echoes, bare), append(hints, rate), append(folded, float64(n)/time.Since(began).Seconds())
			}
			t.Rows = append(t.Rows, []cell{
				label("%s", where), perSecond(median(hints)), perSecond(median(echoes)), ratio(median(hints), median(echoes)), perSecond(median(folded)),
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return []table{t}, nil
}

// atOnce lets all requesters put their questions for a round.
func (b *bench) atOnce(ctx context.Context, s *stack, p *prompts, put question) (rate float64, n int, err error) {
	var (
		wait    sync.WaitGroup
		count   atomic.Int64
		failure atomic.Pointer[error]
	)
	connections := make([]*nats.Conn, b.requesters)
	for i := range connections {
		nc, err := nats.Connect(s.nc.ConnectedUrl())
		if err != nil {
			return 0, 0, err
		}
		defer nc.Close()
		connections[i] = nc
	}
	began := time.Now()
	for _, nc := range connections {
		wait.Go(func() {
			for time.Since(began) < b.round && failure.Load() == nil {
				if _, err := put(ctx, nc, p.next()); err != nil {
					failure.Store(&err)
					return
				}
				count.Add(1)
			}
		})
	}
	wait.Wait()
	if err := failure.Load(); err != nil {
		return 0, 0, *err
	}
	n = int(count.Load())
	return float64(n) / time.Since(began).Seconds(), n, nil
}
