package decide

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/payload"
	"intenthint/subjects"
)

// Mark is what a person said of a decision; the latest one counts.
type Mark struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	By    string `json:"by,omitempty"`
	// At is the event's time in Unix milliseconds, Event its id.
	At    int64  `json:"at"`
	Event string `json:"event,omitempty"`
}

// newer compares marks on one decision.
func (m *Mark) newer(other *Mark) bool {
	return cmp.Or(cmp.Compare(m.At, other.At), cmp.Compare(m.Event, other.Event)) > 0
}

// decodeMark decodes a feedback event; ok is false for feedback on anything else. Errors
// wrap [payload.ErrInvalid].
func decodeMark(msgID string, data []byte) (m Mark, ok bool, err error) {
	env, err := payload.DecodeEvent(subjects.HookFeedback, msgID, data)
	if err != nil {
		return m, false, err
	}
	said, err := payload.DecodeFeedback(env.Event)
	if err != nil || said.Kind != payload.FeedbackDecision {
		return m, false, err
	}
	if _, ok := RubricOf(said.ID); !ok {
		return m, false, nil // of no decision
	}
	return Mark{ID: said.ID, Label: said.Label, By: said.By, At: env.TS, Event: env.ID}, true, nil
}

// Entry is a decision with its mark, nil for none.
type Entry struct {
	Decided
	At   time.Time `json:"at"`
	Mark *Mark     `json:"mark,omitempty"`
}

// Read returns the decisions that the stream holds about a rubric, "" for all, each
// once, oldest first, with their marks.
func Read(ctx context.Context, js jetstream.JetStream, l bus.Layout, rubric string) ([]Entry, error) {
	return read(ctx, js, l, span{rubric: rubric})
}

// span is what is read of a hook's events.
type span struct {
	// rubric is "" for all. since is the time of the first event; zero means all of them.
	rubric string
	since  time.Time
	// most bounds their number, 0 for no bound: beyond it the error is errTooMany.
	most int
}

// errTooMany reports more events than are to be read.
var errTooMany = errors.New("too many events")

func read(ctx context.Context, js jetstream.JetStream, l bus.Layout, of span) ([]Entry, error) {
	var out []Entry
	rubric, at := of.rubric, map[string]int{}
	err := readHook(ctx, js, l, subjects.HookDecided, of, func(msgID string, data []byte) {
		d, err := DecodeDecided(msgID, data)
		if _, known := at[d.ID]; err != nil || known || rubric != "" && d.Rubric != rubric {
			return
		}
		at[d.ID] = len(out)
		out = append(out, Entry{Decided: d, At: time.UnixMilli(d.TS).UTC()})
	})
	if err != nil {
		return nil, err
	}
	err = readHook(ctx, js, l, subjects.HookFeedback, span{since: of.since}, func(msgID string, data []byte) {
		m, ok, err := decodeMark(msgID, data)
		i, known := at[m.ID]
		if err == nil && ok && known && (out[i].Mark == nil || m.newer(out[i].Mark)) {
			out[i].Mark = &m
		}
	})
	slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Compare(a.TS, b.TS) })
	return out, err
}

// readHook calls yield with events of a hook; there are none without a stream.
func readHook(ctx context.Context, js jetstream.JetStream, l bus.Layout, hook string, of span, yield func(msgID string, data []byte)) error {
	filter := l.Prefix.EventsOf(hook)
	if of.rubric != "" {
		filter = strings.TrimSuffix(filter, ">") + "*." + of.rubric
	}
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}}
	if !of.since.IsZero() {
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &of.since
	}
	err := bus.ReadStream(ctx, js, l, config, 0, func(portion []jetstream.Msg, total int) error {
		if of.most > 0 && total > of.most {
			return errTooMany
		}
		for _, m := range portion {
			yield(subjects.EventID(m.Headers()), m.Data())
		}
		return nil
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// Tally sums up the decisions about a rubric.
type Tally struct {
	Rubric string `json:"rubric"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	// Decisions are the answers that were given, Sources how many of them by source.
	Decisions int            `json:"decisions"`
	Sources   map[Source]int `json:"sources"`
	// Late came after the caller's time, Checks are answers of the teacher to what the
	// student had decided.
	Late   int `json:"late"`
	Checks int `json:"checks"`
	// Marked are decisions with a mark, Right those that agree with it.
	Marked int `json:"marked"`
	Right  int `json:"right"`
	// Tokens are those of teachers.
	Tokens payload.Tokens `json:"tokens"`
	Last   time.Time      `json:"last"`
}

// Tallies sums up decisions, the rubric of the latest one first.
func Tallies(entries []Entry) []Tally {
	by := map[string]*Tally{}
	for i := range entries {
		e := &entries[i]
		t := by[e.Rubric]
		if t == nil {
			t = &Tally{Rubric: e.Rubric, Sources: map[Source]int{}}
			by[e.Rubric] = t
		}
		t.add(e)
	}
	out := make([]Tally, 0, len(by))
	for _, t := range by {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Tally) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Rubric, b.Rubric)) })
	return out
}

func (t *Tally) add(e *Entry) {
	t.Name, t.Type, t.Last = e.Name, e.Type, e.At
	switch {
	case e.Late:
		t.Late++
	case e.Check != "":
		t.Checks++
	default:
		t.Decisions++
		t.Sources[e.Source]++
		if e.Mark != nil {
			t.Marked++
			if e.Mark.Label == e.Answer {
				t.Right++
			}
		}
	}
	if e.Tokens != nil {
		t.Tokens.In += e.Tokens.In
		t.Tokens.Out += e.Tokens.Out
	}
}

// Offered returns the decisions of a day that are offered for marking: n of them, at
// random and the same for everybody, without those that are marked or have no text.
func Offered(entries []Entry, day time.Time, n int) []Entry {
	return slices.DeleteFunc(sampled(entries, n, day.Location())[day.Format(time.DateOnly)], func(e Entry) bool { return e.Mark != nil || e.Text == "" })
}

// Accuracy returns how many of the random decisions were marked, n a day in a time zone,
// and how many of those are right. Of other decisions people mark what they notice.
func Accuracy(entries []Entry, n int, in *time.Location) (right, marked int) {
	for _, drawn := range sampled(entries, n, in) {
		for _, e := range drawn {
			if e.Mark == nil {
				continue
			}
			if marked++; e.Mark.Label == e.Answer {
				right++
			}
		}
	}
	return right, marked
}

// sampled returns n random decisions of each day, by day.
func sampled(entries []Entry, n int, in *time.Location) map[string][]Entry {
	days := map[string][]Entry{}
	for _, e := range entries {
		if e.Given() {
			day := e.At.In(in).Format(time.DateOnly)
			days[day] = append(days[day], e)
		}
	}
	for day, all := range days {
		slices.SortFunc(all, func(a, b Entry) int { return cmp.Or(cmp.Compare(rank(a.ID), rank(b.ID)), cmp.Compare(a.ID, b.ID)) })
		days[day] = all[:min(n, len(all))]
	}
	return days
}

// rank is the place of an id in a random order.
func rank(id string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return sum.Sum64() * 0x9E3779B97F4A7C15 // ids differ in their last characters
}
