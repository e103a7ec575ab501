package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// measureStart compares the time to ready with many sessions and with none.
func (b *bench) measureStart(ctx context.Context) ([]table, error) {
	t := table{
		Title:   "Start",
		Note:    "From the start of the process to ready, with a server of its own; in turn, medians. When it starts for the first time of all, the consumer learns its intents. With turns of the last quarter of an hour in the stream it learns which runs have had their hints.",
		Columns: []string{"", "time to ready", "of which NATS server", "ratio"},
	}
	kinds := []struct {
		name, store string
		sessions    int
		recent      bool // their turns have just begun
		data        string
		ready, nats []time.Duration
	}{
		{name: "no sessions", store: "file"},
		{name: "sessions, files", store: "file", sessions: b.existing},
		{name: "sessions, key-value", store: "kv", sessions: b.existing},
		{name: "sessions, files, all of the last quarter of an hour", store: "file", sessions: b.existing, recent: true},
	}
	for i := range kinds {
		k := &kinds[i]
		var err error
		if k.data, err = b.withSessions(ctx, k.store, k.sessions, k.recent); err != nil {
			return nil, err
		}
	}
	for round := range b.starts {
		b.say("start %d of %d", round+1, b.starts)
		for i := range kinds {
			k := &kinds[i]
			p, err := b.startConsumer(ctx, k.data, "", syncAlways, "HINT_STORE="+k.store)
			if err != nil {
				return nil, err
			}
			p.stop()
			k.ready, k.nats = append(k.ready, p.took), append(k.nats, p.nats)
		}
	}
	none := median(kinds[0].ready)
	t.Rows = append(t.Rows, []cell{label("for the first time"), took(b.first.took), took(b.first.nats), ratio(b.first.took.Seconds(), none.Seconds())})
	for _, k := range kinds {
		name := label("%s", k.name)
		if k.sessions > 0 {
			name = label("%d %s", k.sessions, k.name)
		}
		ready := median(k.ready)
		t.Rows = append(t.Rows, []cell{name, took(ready), took(median(k.nats)), ratio(ready.Seconds(), none.Seconds())})
	}
	return []table{t}, nil
}

// withSessions makes a data directory with so many sessions of one turn. The
// beginnings of the turns stay in the stream when they are to be recent.
func (b *bench) withSessions(ctx context.Context, store string, sessions int, recent bool) (data string, err error) {
	if sessions == 0 {
		data = b.dataDirectory("start")
		return data, copyTree(b.learnt, data)
	}
	if data, err = b.stored(ctx, "start-"+store, workload{name: "start", sessions: sessions, turns: 1, noCalls: true}); err != nil {
		return "", err
	}
	s, err := b.startStack(ctx, data, ownServer, syncDefault, 1, "HINT_STORE="+store)
	if err != nil {
		return "", err
	}
	defer s.stop()
	if _, err = s.catchUp(ctx); err != nil || recent {
		return data, err
	}
	stream, err := s.js.Stream(ctx, layout.Stream)
	if err != nil {
		return "", err
	}
	return data, stream.Purge(ctx, jetstream.WithPurgeSubject(prefix.EventsOf(subjects.HookTurnBegun)))
}
