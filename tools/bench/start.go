package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// measureStart compares the time to ready with many sessions and with none.
func (b *bench) measureStart(ctx context.Context) ([]table, error) {
	t := table{
		Title:   "Start",
		Note:    "From the start of the process to ready, with a server of its own; the kinds in turn, medians. With turns of the last quarter of an hour in the stream it learns which runs have had their hints. Memory is resident, when it is ready, with the server. The list is `consumer sessions ls`, of all sessions, in a process of its own.",
		Columns: []string{"", "time to ready", "of which NATS server", "ratio", "memory", "list"},
	}
	kinds := []struct {
		name, store       string
		sessions          int
		recent            bool // their turns have just begun
		data              string
		ready, nats, list []time.Duration
		memory            []int64
	}{
		{name: "no sessions", store: "file"},
		{name: fmt.Sprint(b.existing, " sessions, files"), store: "file", sessions: b.existing},
		{name: fmt.Sprint(b.existing, " sessions, key-value"), store: "kv", sessions: b.existing},
		{name: fmt.Sprint(b.existing, " sessions, files, all of the last quarter of an hour"), store: "file", sessions: b.existing, recent: true},
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
			p, err := b.startConsumer(ctx, k.data, "", "HINT_STORE="+k.store)
			if err != nil {
				return nil, err
			}
			memory, _ := p.memory()
			list, err := b.list(ctx, p, k.data, k.store, k.sessions)
			p.stop()
			if err != nil {
				return nil, err
			}
			k.ready, k.nats, k.list, k.memory = append(k.ready, p.took), append(k.nats, p.nats), append(k.list, list), append(k.memory, memory)
		}
	}
	for _, k := range kinds {
		ready, none := median(k.ready), median(kinds[0].ready)
		t.Rows = append(t.Rows, []cell{
			label("%s", k.name), took(ready), took(median(k.nats)), ratio(ready.Seconds(), none.Seconds()), size(median(k.memory)), took(median(k.list)),
		})
	}
	return []table{t}, nil
}

// list times a list of all sessions; there must be at least the given number.
func (b *bench) list(ctx context.Context, p *process, data, store string, sessions int) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.consumer, "sessions", "ls", "--json") //nolint:gosec // the binary just built
	cmd.Dir = b.temp
	cmd.Env = []string{"HINT_DATA_DIR=" + data, "HINT_STORE=" + store, "HINT_NATS_URL=" + p.url}
	began := time.Now()
	out, err := cmd.Output()
	took := time.Since(began)
	var all []json.RawMessage
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		return 0, fmt.Errorf("sessions ls: %w", err)
	}
	if len(all) < sessions { // catchUp has one of its own
		return 0, fmt.Errorf("sessions ls lists %d of %d sessions", len(all), sessions)
	}
	return took, nil
}

// withSessions makes a data directory with sessions of one turn. Recent
// turns keep their beginnings in the stream.
func (b *bench) withSessions(ctx context.Context, store string, sessions int, recent bool) (data string, err error) {
	if sessions == 0 {
		return b.dataDirectory("start"), nil
	}
	if data, err = b.stored(ctx, workload{name: "start", sessions: sessions, turns: 1, toolCalls: -1}); err != nil {
		return "", err
	}
	s, err := b.startStack(ctx, data, otherServer, syncDefault, 1, "HINT_STORE="+store)
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
