package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// stores are the values of HINT_STORE.
var stores = []string{"file", "kv"}

// measureEvents compares the rate at which stored events become sessions with
// that of fetching, decoding and acknowledging them alone. Every run has the same
// events.
func (b *bench) measureEvents(ctx context.Context) ([]table, error) {
	w := b.eventWorkload()
	data, err := b.stored(ctx, w)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("%d stored events of %d sessions", w.count(), w.sessions)
	rates := table{
		Title: "Events into sessions",
		Note: fmt.Sprintf("%s: each turn has a beginning, two or three tool calls, and an end with a history of 4 kB. External server. The floor is one process that fetches, decodes and acknowledges. Medians of %d.",
			about, b.eventRounds),
		Columns: []string{"sync_interval", "store", "consumers", "events", "floor", "ratio", "processor time an event", "floor's"},
	}
	for _, sync := range []string{syncAlways, syncDefault} {
		floor, runs, err := b.againstFloor(ctx, data, sync, b.consumers)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			rates.Rows = append(rates.Rows, append([]cell{label("%s", sync), label("%s", r.store), label("%d", r.consumers)}, r.cells(floor)...))
		}
	}
	resident := table{
		Title:   "Memory of one consumer",
		Note:    "After " + about + ", `sync_interval: always`, including the server when it is the consumer's own.",
		Columns: []string{"NATS server", "store", "resident", "at rest", "at most"},
	}
	for _, where := range []string{otherServer, ownServer} {
		for _, store := range stores {
			b.say("memory, server %s, store %s", where, store)
			_, m, err := b.ingest(ctx, data, where, syncAlways, store, 1, b.rest)
			if err != nil {
				return nil, err
			}
			resident.Rows = append(resident.Rows, []cell{label("%s", where), label("%s", store), size(m.now), size(m.rest), size(m.most)})
		}
	}
	return []table{rates, resident}, nil
}

// measureInterleaved compares the rates at which the stored events of different
// workloads become sessions: that of measureEvents, and those of sessions that all
// have a turn at the same time.
func (b *bench) measureInterleaved(ctx context.Context) ([]table, error) {
	t := table{
		Title: "Interleaved sessions",
		Note: fmt.Sprintf("One event of each session in turn: the beginnings of their turns, then the calls, then the ends. A workload stops after %d events, also in the middle of a turn; the first row is the workload of the other tables. One consumer, external server, `sync_interval: always`. Medians of %d.",
			b.interleavedEvents, b.eventRounds),
		Columns: []string{"sessions at a time", "of", "calls a turn", "events a session", "store", "events", "floor", "ratio", "processor time an event", "floor's"},
	}
	workloads := []workload{b.eventWorkload()}
	for _, sessions := range b.interleavedSessions {
		for _, calls := range b.interleavedCalls {
			w := workload{name: fmt.Sprintf("interleaved-%d-%d", sessions, calls), sessions: sessions, concurrent: sessions, toolCalls: calls, most: b.interleavedEvents}
			w.turns = w.most/(sessions*w.events(0)) + 1
			workloads = append(workloads, w)
		}
	}
	for _, w := range workloads {
		data, err := b.stored(ctx, w)
		if err != nil {
			return nil, err
		}
		floor, runs, err := b.againstFloor(ctx, data, syncAlways, []int{1})
		if err != nil {
			return nil, err
		}
		discard(data)
		concurrent, calls := label("%d", w.concurrent), label("%d", w.toolCalls)
		if w.concurrent == 0 {
			concurrent, calls = label("%d", fewSessions), label("2, 3")
		}
		for _, r := range runs {
			t.Rows = append(t.Rows, append([]cell{concurrent, label("%d", w.sessions), calls, label("%d", w.count()/w.sessions), label("%s", r.store)}, r.cells(floor)...))
		}
	}
	return []table{t}, nil
}

// eventWorkload has turns of four and five events.
func (b *bench) eventWorkload() workload {
	return workload{name: "events", sessions: b.eventSessions, turns: b.events/(4*b.eventSessions) + 1, most: b.events}
}

// ingestion is the result of consumers applying stored events, once per round.
type ingestion struct {
	store     string
	consumers int
	rounds    []work
}

// cells returns the figures next to the floor's.
func (r ingestion) cells(floor work) []cell {
	ours := middle(r.rounds)
	return []cell{
		perSecond(ours.rate()), perSecond(floor.rate()), ratio(ours.rate(), floor.rate()),
		took(ours.each(ours.processor)), took(floor.each(floor.processor)),
	}
}

// againstFloor applies stored events in both stores, with each number of
// consumers, in turn with the floor.
func (b *bench) againstFloor(ctx context.Context, stored, sync string, consumers []int) (work, []ingestion, error) {
	var floors []work
	var runs []ingestion
	for _, store := range stores {
		for _, n := range consumers {
			runs = append(runs, ingestion{store: store, consumers: n})
		}
	}
	for round := range b.eventRounds {
		b.say("sync_interval %s, round %d of %d", sync, round+1, b.eventRounds)
		floor, _, err := b.ingest(ctx, stored, otherServer, sync, "", 0, 0)
		if err != nil {
			return work{}, nil, fmt.Errorf("floor: %w", err)
		}
		floors = append(floors, floor)
		for i := range runs {
			r := &runs[i]
			done, _, err := b.ingest(ctx, stored, otherServer, sync, r.store, r.consumers, 0)
			if err != nil {
				return work{}, nil, fmt.Errorf("store %s, %d consumers: %w", r.store, r.consumers, err)
			}
			b.say("store %s, %d at once: %.0f/s", r.store, r.consumers, done.rate())
			r.rounds = append(r.rounds, done)
		}
	}
	return middle(floors), runs, nil
}

// middle is the work at the median rate.
func middle(all []work) work {
	slices.SortFunc(all, func(a, b work) int { return cmp.Compare(a.rate(), b.rate()) })
	return all[len(all)/2]
}

// usage is the memory of a process in bytes: right after its work, when it has
// rested, and at its peak.
type usage struct{ now, rest, most int64 }

// ingest applies stored events with a number of consumers, or with the floor's process
// instead of any. The memory is that of the first, which is given time to rest.
func (b *bench) ingest(ctx context.Context, stored, where, sync, store string, consumers int, rest time.Duration) (done work, m usage, err error) {
	data := b.dataDirectory(fmt.Sprintf("events-%s-%s-%d", sync, store, consumers))
	defer discard(data)
	if err := copyTree(stored, data); err != nil {
		return done, m, err
	}
	s, err := b.startStack(ctx, data, where, sync, consumers, "HINT_STORE="+store)
	if err != nil {
		return done, m, err
	}
	defer s.stop()
	if consumers == 0 {
		floor, err := b.startRole(ctx, "drain", s.nc.ConnectedUrl())
		if err != nil {
			return done, m, err
		}
		s.consumers = append(s.consumers, floor)
	}
	if done, err = s.catchUp(ctx); err != nil {
		return done, m, err
	}
	if err := sleep(ctx, 100*time.Millisecond); err != nil {
		return done, m, err
	}
	m.now, m.most = s.consumers[0].memory()
	err = sleep(ctx, rest)
	m.rest, _ = s.consumers[0].memory()
	return done, m, err
}
