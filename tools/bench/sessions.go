package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// measureSessions compares the cost of an event in a long session with that in a
// short one: first for the stored events of their whole lives, then for events
// that arrive one after the other in the same rhythm.
func (b *bench) measureSessions(ctx context.Context) (out []table, err error) {
	long := workload{name: "long", sessions: b.longSessions, turns: b.longTurns}
	short := workload{name: "short", sessions: b.longSessions * b.longTurns / b.shortTurns, turns: b.shortTurns}
	older := long
	older.first, older.turns = b.longTurns, b.shortTurns
	// New sessions, which become as long as the short ones.
	newborn := workload{name: "newborn", sessions: b.longSessions, turns: b.shortTurns}
	for _, store := range stores {
		t := table{
			Title: fmt.Sprintf("Events of long sessions: %d turns against %d, store %s", b.longTurns, b.shortTurns, store),
			Note: fmt.Sprintf("External server, `sync_interval: always`, default HINT_HISTORY_LIMIT. Stored: %d events, of the whole lives of %d sessions or of %d. In rhythm: %d sessions, each with an event every %s, %d turns.",
				long.count(), long.sessions, short.sessions, older.sessions, b.rhythm, older.turns),
			Columns: []string{"", fmt.Sprintf("%d turns", b.longTurns), fmt.Sprintf("%d turns", b.shortTurns), "ratio"},
		}
		aged, err := b.lives(ctx, store, long, older)
		if err != nil {
			return nil, err
		}
		young, err := b.lives(ctx, store, short, newborn)
		if err != nil {
			return nil, err
		}
		row := func(name string, long, short time.Duration) {
			t.Rows = append(t.Rows, []cell{label("%s", name), took(long), took(short), ratio(long.Seconds(), short.Seconds())})
		}
		row("stored: time an event", aged.stored.each(aged.stored.wall), young.stored.each(young.stored.wall))
		row("stored: processor time an event", aged.stored.each(aged.stored.processor), young.stored.each(young.stored.processor))
		row("in rhythm: delivered to acknowledged, p50", median(aged.acks), median(young.acks))
		row("in rhythm: delivered to acknowledged, p90", quantile(aged.acks, 0.9), quantile(young.acks, 0.9))
		row("in rhythm: processor time an event", aged.rhythm.each(aged.rhythm.processor), young.rhythm.each(young.rhythm.processor))
		out = append(out, t)
	}
	return out, nil
}

// life is the cost of the events of sessions.
type life struct {
	stored, rhythm work
	acks           []time.Duration
}

// lives applies the stored events of sessions, then more that come in rhythm.
func (b *bench) lives(ctx context.Context, store string, past, present workload) (l life, err error) {
	data, err := b.stored(ctx, past)
	if err != nil {
		return l, err
	}
	defer discard(data)
	s, err := b.startStack(ctx, data, otherServer, syncAlways, 1, "HINT_STORE="+store)
	if err != nil {
		return l, err
	}
	defer s.stop()
	b.say("store %s, %s: stored events", store, past.name)
	if l.stored, err = s.catchUp(ctx); err != nil {
		return l, err
	}
	b.say("store %s, %s: one event after the other", store, present.name)
	acks, err := s.sampleAcks(ctx)
	if err != nil {
		return l, err
	}
	last, err := s.lastEvent(ctx)
	if err != nil {
		return l, err
	}
	used, began := s.processorTime(), time.Now()
	if err := b.inRhythm(ctx, s, present); err != nil {
		return l, err
	}
	if err := s.applied(ctx, last+uint64(present.count())); err != nil {
		return l, err
	}
	l.rhythm = work{events: present.count(), wall: time.Since(began), processor: s.processorTime() - used}
	l.acks = acks()
	return l, nil
}

// inRhythm publishes the events of all sessions, evenly spread over time: one of
// each session in every beat.
func (b *bench) inRhythm(ctx context.Context, s *stack, w workload) error {
	w.concurrent = w.sessions
	beat := b.rhythm / time.Duration(w.sessions)
	began := time.Now()
	n := 0
	return w.each(func(m *nats.Msg) error {
		if err := sleep(ctx, time.Duration(n)*beat-time.Since(began)); err != nil {
			return err
		}
		n++
		_, err := s.js.PublishMsgAsync(m, jetstream.WithStallWait(time.Minute))
		return err
	})
}
