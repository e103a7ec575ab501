package main

import (
	"context"
	"fmt"
	"time"
)

// Kinds of HINT_STORE.
var stores = []string{"file", "kv"}

// measureEvents compares the way of stored events into sessions with fetching,
// decoding and acknowledging them alone. Every run has the same events.
func (b *bench) measureEvents(ctx context.Context) ([]table, error) {
	// A turn has four or five events.
	w := workload{name: "events", sessions: b.eventSessions, turns: b.events/(4*b.eventSessions) + 1, most: b.events}
	data, err := b.stored(ctx, "stored", w)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("%d stored events of %d sessions", w.count(), w.sessions)
	rates := table{
		Title: "Events into sessions",
		Note: fmt.Sprintf("%s: for every turn its beginning, two or three tool calls, and an end with a history of 4 kB. External server. The floor is one process that fetches, decodes and acknowledges. Medians of %d.",
			about, b.eventRounds),
		Columns: []string{"sync_interval", "store", "consumers", "events", "floor", "ratio", "processor time an event", "floor's"},
	}
	for _, sync := range []string{syncAlways, syncDefault} {
		type kind struct {
			store     string
			consumers int
		}
		var floors []work
		runs := map[kind][]work{}
		for round := range b.eventRounds {
			b.say("sync_interval %s, round %d of %d", sync, round+1, b.eventRounds)
			floor, err := b.floor(ctx, data, sync)
			if err != nil {
				return nil, err
			}
			floors = append(floors, floor)
			for _, store := range stores {
				for _, n := range b.consumers {
					done, _, err := b.ingest(ctx, data, otherServer, sync, store, n, 0)
					if err != nil {
						return nil, fmt.Errorf("store %s, %d consumers: %w", store, n, err)
					}
					runs[kind{store, n}] = append(runs[kind{store, n}], done)
				}
			}
		}
		floor := middle(floors)
		for _, store := range stores {
			for _, n := range b.consumers {
				ours := middle(runs[kind{store, n}])
				rates.Rows = append(rates.Rows, []cell{
					label("%s", sync), label("%s", store), label("%d", n), perSecond(ours.rate()), perSecond(floor.rate()), ratio(ours.rate(), floor.rate()),
					each(ours.processor, ours.events), each(floor.processor, floor.events),
				})
			}
		}
	}
	resident := table{
		Title:   "Memory of one consumer",
		Note:    "After " + about + ", `sync_interval: always`; with a server of its own that is in it.",
		Columns: []string{"NATS server", "store", "resident", "at rest", "at most"},
	}
	for _, where := range []string{otherServer, ownServer} {
		for _, store := range stores {
			b.say("memory, server %s, store %s", where, store)
			_, s, err := b.ingest(ctx, data, where, syncAlways, store, 1, b.rest)
			if err != nil {
				return nil, err
			}
			row := []cell{label("%s", where), label("%s", store), {}, {}, {}}
			if s.most > 0 {
				row[2], row[3], row[4] = size(s.now), size(s.rest), size(s.most)
			}
			resident.Rows = append(resident.Rows, row)
		}
	}
	return []table{rates, resident}, nil
}

// middle is the work at the median of rates.
func middle(runs []work) work {
	rates := make([]float64, len(runs))
	for i, r := range runs {
		rates[i] = r.rate()
	}
	m := median(rates)
	for _, r := range runs {
		if r.rate() == m {
			return r
		}
	}
	return work{}
}

// floor takes the stored events with the floor's process.
func (b *bench) floor(ctx context.Context, stored, sync string) (work, error) {
	data := b.dataDirectory("floor")
	defer discard(data)
	if err := copyTree(stored, data); err != nil {
		return work{}, err
	}
	s, err := b.startStack(ctx, data, otherServer, sync, 0)
	if err != nil {
		return work{}, err
	}
	defer s.stop()
	drain, err := b.startRole(ctx, "drain", s.nc.ConnectedUrl())
	if err != nil {
		return work{}, err
	}
	s.consumers = append(s.consumers, drain)
	return s.catchUp(ctx)
}

// usage is the memory of a process, in bytes: right after its work, when it has
// rested, and the most there ever was.
type usage struct{ now, rest, most int64 }

// ingest takes the stored events with consumers. The memory is that of the
// first, which is given some time to rest.
func (b *bench) ingest(ctx context.Context, stored, where, sync, store string, consumers int, rest time.Duration) (work, usage, error) {
	data := b.dataDirectory(fmt.Sprintf("events-%s-%s-%d", sync, store, consumers))
	defer discard(data)
	if err := copyTree(stored, data); err != nil {
		return work{}, usage{}, err
	}
	s, err := b.startStack(ctx, data, where, sync, consumers, "HINT_STORE="+store)
	if err != nil {
		return work{}, usage{}, err
	}
	defer s.stop()
	done, err := s.catchUp(ctx)
	if err != nil {
		return work{}, usage{}, err
	}
	if err := sleep(ctx, 100*time.Millisecond); err != nil {
		return work{}, usage{}, err
	}
	var u usage
	u.now, u.most = s.consumers[0].memory()
	if err := sleep(ctx, rest); err != nil {
		return work{}, usage{}, err
	}
	u.rest, _ = s.consumers[0].memory()
	b.say("store %s, %d at once: %.0f/s", store, consumers, done.rate())
	return done, u, nil
}
