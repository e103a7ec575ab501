package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/kv"
	"intenthint/payload"
)

// Rubric is a question that was asked, as the bucket has it.
type Rubric struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Key is the key under which it was last asked.
	Key string `json:"key"`
	// Question is in the form of the wire; strings that stood in the state are "@".
	Question json.RawMessage `json:"question"`
	// Since is when it was first asked, in Unix milliseconds, Day the day on which it was
	// last asked.
	Since int64  `json:"since"`
	Day   string `json:"day"`
	// Standing is that of its student.
	Standing Standing `json:"standing,omitzero"`
	// Continues is the rubric that a person said it continues, "" for none.
	Continues string `json:"continues,omitempty"`

	revision uint64
}

// Parsed returns the question.
func (r *Rubric) Parsed() (Question, error) {
	body := marshal(map[string]any{"state": "", "questions": map[string]json.RawMessage{questionKey: r.Question}})
	b, err := ParseBatch(body)
	if err != nil {
		return Question{}, err
	}
	return b.Questions[0], nil
}

// Record is an answer of a teacher, or a decision that a person marked: what a student
// learns from, and is compared with.
type Record struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Teacher is the teacher's answer, "" for none.
	Teacher string  `json:"teacher,omitempty"`
	Silent  *Silent `json:"silent,omitempty"`
	Check   bool    `json:"check,omitempty"`
	Mark    *Mark   `json:"mark,omitempty"`
	At      int64   `json:"at"`

	revision uint64
}

// Label returns the right answer: the person's, else the teacher's.
func (r *Record) Label() string {
	if r.Mark != nil {
		return r.Mark.Label
	}
	return r.Teacher
}

// Bounds of what is kept.
const (
	// questionKey is the key of a question that stands alone.
	questionKey = "q"
	// maxQuestionBytes bounds a question in the bucket; a larger one is answered, but not
	// remembered.
	maxQuestionBytes = 64 << 10
	// recordAge is how long an answer is kept.
	recordAge = 90 * 24 * time.Hour
)

// RubricsBucket is the bucket of the questions.
func RubricsBucket(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket("_RUBRICS", "Questions that intenthint was asked, and whether their students answer alone")
}

// RecordsBucket is the bucket of what students learn from, by rubric and id.
func RecordsBucket(l bus.Layout) jetstream.KeyValueConfig {
	c := l.Bucket("_DECISIONS", "Answers of teachers and people, from which students of intenthint learn")
	c.TTL = recordAge
	return c
}

// Store is what all processes share: the questions of the last 64 rubrics, and what
// their students learn from. It is safe for concurrent use.
type Store struct {
	rubrics, records *kv.Bucket
	// known are the days on which this process wrote rubrics.
	known *lru.Cache[string, string]
	// mu orders the writers of rubrics in this process.
	mu    sync.Mutex
	queue chan Rubric
	log   *slog.Logger
}

// StoreOf returns the store of a system, without touching the buckets.
func StoreOf(l bus.Layout, js jetstream.JetStream, log *slog.Logger) *Store {
	known, _ := lru.New[string, string](maxRubrics) // it fails only for a size that is not positive
	return &Store{
		rubrics: kv.New(js, RubricsBucket(l)), records: kv.New(js, RecordsBucket(l)),
		known: known, queue: make(chan Rubric, maxRubrics), log: log,
	}
}

// Open opens the buckets and creates missing ones. Otherwise the first use does so.
func (s *Store) Open(ctx context.Context) error {
	if err := s.rubrics.Open(ctx); err != nil {
		return err
	}
	return s.records.Open(ctx)
}

// Know remembers a question, once a day. It does not block.
func (s *Store) Know(rubric, name string, q *Question, state json.RawMessage) {
	now := time.Now().UTC()
	today := now.Format(time.DateOnly)
	if day, ok := s.known.Get(rubric); ok && day == today {
		return
	}
	question := canonicalWire(q, state)
	if len(question) > maxQuestionBytes {
		return
	}
	select {
	case s.queue <- Rubric{ID: rubric, Name: name, Key: q.Key, Question: question, Since: now.UnixMilli(), Day: today}:
		s.known.Add(rubric, today)
	default: // asked again soon
	}
}

// canonicalWire writes a question in the form of the wire, with "@" for what stands in
// the state.
func canonicalWire(q *Question, state json.RawMessage) json.RawMessage {
	shared, own := stringsIn(state), *q
	own.Key = questionKey
	own.Instructions = replaced(q.Instructions, shared)
	own.Criteria = make([]json.RawMessage, len(q.Criteria))
	for i, c := range q.Criteria {
		own.Criteria[i] = replaced(c, shared)
	}
	var out map[string]json.RawMessage
	_ = json.Unmarshal(wireQuestions([]Question{own}), &out) // just written
	return out[questionKey]
}

func replaced(raw json.RawMessage, shared map[string]bool) json.RawMessage {
	if raw == nil {
		return nil
	}
	return marshal(generic(raw, shared))
}

// Run writes questions until ctx ends.
func (s *Store) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case asked := <-s.queue:
			if err := s.put(ctx, asked); err != nil && ctx.Err() == nil {
				s.known.Remove(asked.ID)
				s.log.Warn("question not stored", "rubric", asked.ID, "error", err)
			}
		}
	}
}

// put writes a question, and removes the ones that were not asked for longest.
func (s *Store) put(ctx context.Context, asked Rubric) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := kv.Change(ctx, s.rubrics, asked.ID, func(known *kv.Value[Rubric]) (write bool, err error) {
		if known.V.Day == asked.Day && known.V.Name == asked.Name {
			return false, nil
		}
		next := asked
		if known.V.ID != "" {
			next.Since, next.Standing, next.Continues = known.V.Since, known.V.Standing, known.V.Continues
		}
		known.V = next
		return true, nil
	})
	if err != nil {
		return err
	}
	all, err := s.Rubrics(ctx)
	if err != nil {
		return err
	}
	for _, old := range surplus(all) {
		if err := s.Remove(ctx, old.ID); err != nil {
			return err
		}
	}
	return nil
}

// surplus returns the rubrics beyond the bound: those that were written first. Each is
// written on every day on which it is asked, and stays as long as one that continues it.
func surplus(all []Rubric) []Rubric {
	earlier := earlierIn(byID(slices.Clone(all)))
	last := map[string]uint64{}
	for _, r := range all {
		for _, id := range lineage(earlier, r.ID) {
			last[id] = max(last[id], r.revision)
		}
	}
	slices.SortFunc(all, func(a, b Rubric) int { return cmp.Compare(last[a.ID], last[b.ID]) })
	return all[:max(len(all)-maxRubrics, 0)]
}

// Rubrics returns all questions.
func (s *Store) Rubrics(ctx context.Context) (out []Rubric, err error) {
	err = s.rubrics.Each(ctx, ">", func(entry jetstream.KeyValueEntry) error {
		if r, ok := rubricIn(entry); ok {
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// rubricIn reads an entry; ok is false for one of another version.
func rubricIn(entry jetstream.KeyValueEntry) (r Rubric, ok bool) {
	ok = json.Unmarshal(entry.Value(), &r) == nil && r.ID == entry.Key() && ValidRubric(r.ID)
	r.revision = entry.Revision()
	return r, ok
}

// Records returns what the student of a rubric learns from, oldest first.
func (s *Store) Records(ctx context.Context, rubric string) (out []Record, err error) {
	err = s.records.Each(ctx, rubric+".>", func(entry jetstream.KeyValueEntry) error {
		if _, r, ok := recordIn(entry); ok {
			out = append(out, r)
		}
		return nil
	})
	sortRecords(out)
	return out, err
}

// recordIn reads an entry; ok is false for one of another version.
func recordIn(entry jetstream.KeyValueEntry) (rubric string, r Record, ok bool) {
	rubric, _, _ = strings.Cut(entry.Key(), ".")
	ok = json.Unmarshal(entry.Value(), &r) == nil && r.ID != "" && ValidRubric(rubric)
	r.revision = entry.Revision()
	return rubric, r, ok
}

// key is that of a record: the rubric, and the id.
func key(id string) string {
	rubric, _ := RubricOf(id)
	return rubric + "." + id
}

// Learn stores a teacher's answer. It is stored once, however often the event is
// delivered.
func (s *Store) Learn(ctx context.Context, d *Decided) error {
	_, err := kv.Change(ctx, s.records, key(d.ID), func(known *kv.Value[Record]) (write bool, err error) {
		if known.V.Teacher != "" {
			return false, nil
		}
		known.V = Record{ID: d.ID, Text: d.Text, Teacher: d.Answer, Silent: d.Silent, Check: d.Check != "", Mark: known.V.Mark, At: d.TS}
		return true, nil
	})
	return err
}

// Mark stores a person's mark on a decision: the latest one counts.
func (s *Store) Mark(ctx context.Context, d *Decided, m *Mark) error {
	_, err := kv.Change(ctx, s.records, key(m.ID), func(known *kv.Value[Record]) (write bool, err error) {
		if known.V.Mark != nil && !m.newer(known.V.Mark) {
			return false, nil
		}
		if known.V.ID == "" {
			known.V = Record{ID: d.ID, Text: d.Text, At: d.TS}
			if d.Source == Model {
				known.V.Teacher, known.V.Silent, known.V.Check = d.Answer, d.Silent, d.Check != ""
			}
		}
		known.V.Mark = m
		return true, nil
	})
	return err
}

// Stand changes the standing of a student, in all processes. next returns the new one,
// and whether it differs; it may be called several times.
func (s *Store) Stand(ctx context.Context, rubric string, next func(Standing) (Standing, bool)) (now Standing, changed bool, err error) {
	_, err = kv.Change(ctx, s.rubrics, rubric, func(known *kv.Value[Rubric]) (write bool, err error) {
		if known.V.ID == "" {
			changed = false
			return false, nil // forgotten meanwhile
		}
		now, changed = next(known.V.Standing)
		known.V.Standing = now
		return changed, nil
	})
	return now, changed, err
}

// Delete deletes records, unless they have changed since they were read.
func (s *Store) Delete(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	return s.records.Use(ctx, func(bucket jetstream.KeyValue) error {
		for _, r := range records {
			if err := bucket.Delete(ctx, key(r.ID), jetstream.LastRevision(r.revision)); err != nil && !kv.IsConflict(err) {
				return err
			}
		}
		return bucket.PurgeDeletes(ctx)
	})
}

// Remove forgets a question and what its student learnt from.
func (s *Store) Remove(ctx context.Context, rubric string) error {
	records, err := s.Records(ctx, rubric)
	if err == nil {
		err = s.Delete(ctx, records)
	}
	if err != nil {
		return err
	}
	return kv.Remove(ctx, s.rubrics, rubric, func(*kv.Value[Rubric]) bool { return true })
}

// Forget forgets a rubric for good: its events in the stream, and the store's. It
// returns the number of events.
func Forget(ctx context.Context, js jetstream.JetStream, l bus.Layout, s *Store, rubric string) (removed int, err error) {
	trail := events.Trail{JS: js, Layout: l, Session: rubric, SessionOf: func(string, []byte) string { return "" }}
	for range maxForgetRounds {
		n, last, err := trail.Count(ctx)
		if err != nil {
			return removed, err
		}
		if n > 0 {
			if err := trail.Erase(ctx, last); err != nil {
				return removed, err
			}
		}
		removed += n
		if err := s.Remove(ctx, rubric); err != nil || n == 0 {
			return removed, err
		}
	}
	return removed, nil
}

// maxForgetRounds bounds the attempts to forget a rubric that is still asked.
const maxForgetRounds = 4

// MarkContext is the context of feedback on a decision: the rubric takes the place of
// a session.
func MarkContext(agent, rubric string) payload.Context {
	return payload.Context{AgentID: agent, SessionID: rubric}
}
