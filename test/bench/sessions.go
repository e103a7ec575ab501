package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// measureSessions compares what an event costs in a long session and in a short
// one.
func (b *bench) measureSessions(ctx context.Context) ([]table, error) {
	long := workload{name: "long", sessions: b.longSessions, turns: b.longTurns}
	short := workload{name: "short", sessions: b.longSessions * b.longTurns / b.shortTurns, turns: b.shortTurns}
	// New sessions for the rhythm: they become as long as short ones are.
	newborn := workload{name: "newborn", sessions: b.longSessions, turns: b.shortTurns}
	older := long
	older.first, older.turns = b.longTurns, b.shortTurns
	var out []table
	for _, store := range stores {
		t, err := b.measureLengths(ctx, store, long, short, older, newborn)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// measureLengths does so in one store: first in the stored events of their whole
// lives, then one event after the other in the same rhythm.
func (b *bench) measureLengths(ctx context.Context, store string, long, short, older, newborn workload) (table, error) {
	t := table{
		Title: fmt.Sprintf("Events of long sessions: %d turns against %d, store %s", b.longTurns, b.shortTurns, store),
		Note: fmt.Sprintf("External server, `sync_interval: always`, HINT_HISTORY_LIMIT as it is by default. Stored: %d events, of the whole lives of %d sessions or of %d. In rhythm: %d sessions, each with an event every %s, %d turns.",
			long.count(), long.sessions, short.sessions, older.sessions, b.rhythm, older.turns),
		Columns: []string{"", fmt.Sprintf("%d turns", b.longTurns), fmt.Sprintf("%d turns", b.shortTurns), "ratio"},
	}
	aged, err := b.lives(ctx, store, long, older)
	if err != nil {
		return t, err
	}
	young, err := b.lives(ctx, store, short, newborn)
	if err != nil {
		return t, err
	}
	row := func(name string, a, b time.Duration, eventsA, eventsB int) {
		ca, cb := each(a, eventsA), each(b, eventsB)
		r := cell{}
		if ca.value != nil && cb.value != nil {
			r = ratio(a.Seconds()/float64(eventsA), b.Seconds()/float64(eventsB))
		}
		t.Rows = append(t.Rows, []cell{label("%s", name), ca, cb, r})
	}
	row("stored: time an event", aged.stored.wall, young.stored.wall, aged.stored.events, young.stored.events)
	row("stored: processor time an event", aged.stored.processor, young.stored.processor, aged.stored.events, young.stored.events)
	row("in rhythm: delivered to acknowledged, p50", median(aged.acks), median(young.acks), 1, 1)
	row("in rhythm: delivered to acknowledged, p90", quantile(aged.acks, 0.9), quantile(young.acks, 0.9), 1, 1)
	row("in rhythm: processor time an event", aged.rhythm.processor, young.rhythm.processor, aged.rhythm.events, young.rhythm.events)
	return t, nil
}

// life is what the events of sessions took.
type life struct {
	stored, rhythm work
	acks           []time.Duration
}

// lives takes the stored events of sessions, and then more that come in rhythm.
func (b *bench) lives(ctx context.Context, store string, past, present workload) (l life, err error) {
	data, err := b.stored(ctx, past.name, past)
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

// inRhythm publishes the events of all sessions, evenly spread over time, so
// that each has one in every beat.
func (b *bench) inRhythm(ctx context.Context, s *stack, w workload) error {
	beats := make([][]*nats.Msg, w.sessions)
	for session := range beats {
		for turn := w.first; turn < w.first+w.turns; turn++ {
			beats[session] = append(beats[session], w.turn(session, turn)...)
		}
	}
	began := time.Now()
	for beat := range beats[0] {
		for session, events := range beats {
			at := time.Duration(beat)*b.rhythm + time.Duration(session)*b.rhythm/time.Duration(w.sessions)
			if err := sleep(ctx, at-time.Since(began)); err != nil {
				return err
			}
			if _, err := s.js.PublishMsgAsync(events[beat], jetstream.WithStallWait(time.Minute)); err != nil {
				return err
			}
		}
	}
	return nil
}
