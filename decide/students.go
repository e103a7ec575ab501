package decide

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// fewestAnswers of two labels or more are needed before a student is trained.
	fewestAnswers = 20
	// maxRecords bounds what the student of a rubric learns from.
	maxRecords = 1000
	// otherRecords of these are what a student that answers alone does not learn from.
	// They lower its threshold.
	otherRecords = 200
	// freshAnswers since its right to answer was taken back are enough to learn from them
	// alone: the teacher may have changed its mind.
	freshAnswers = 100
	// trainShare is the share of new answers, of those learnt, that is worth a training;
	// trainLatest is when a new answer is learnt anyway.
	trainShare  = 0.5
	trainLatest = time.Hour
	// trainRest is the pause between two rounds of trainings.
	trainRest = time.Second
)

// Students are the students of all rubrics: each learns from the answers of its teacher
// and the marks of people, and answers alone once it is proven. They follow the store,
// so that they are the same in all processes. Beside texts of up to 1,000 characters,
// 1,000 of a rubric, each takes a few megabytes.
type Students struct {
	store *Store
	zeros *Zeros
	// target returns the agreement that a rubric needs.
	target func(r *Rubric) float64
	checks *checks
	log    *slog.Logger
	wake   chan struct{}

	mu     sync.RWMutex
	pupils map[string]*pupil // by rubric
}

// pupil is the student of one rubric.
type pupil struct {
	rubric  *Rubric // nil until it is known
	records map[string]Record
	// changed is set when records have changed since they were looked at, marked when a
	// mark has since the last training.
	changed, marked bool

	trained *classifier
	// learnt is how many records it has learnt from, seen how many have come since.
	learnt, seen int
	at           time.Time
}

// NewStudents returns students without any knowledge.
func NewStudents(store *Store, zeros *Zeros, target func(*Rubric) float64, log *slog.Logger) *Students {
	return &Students{
		store: store, zeros: zeros, target: target, checks: newChecks(), log: log,
		wake: make(chan struct{}, 1), pupils: map[string]*pupil{},
	}
}

// Answer returns the student's answer, nil without one, and whether it counts alone.
func (s *Students) Answer(ctx context.Context, rubric string, q *Question, said string) (p []float64, alone bool) {
	s.mu.RLock()
	var trained *classifier
	var standing Standing
	if own := s.pupils[rubric]; own != nil && own.rubric != nil {
		trained, standing = own.trained, own.rubric.Standing
	}
	s.mu.RUnlock()
	if trained == nil {
		return nil, false
	}
	p = trained.answer(ctx, q, said)
	return p, standing.Threshold > 0 && p[best(p)] >= standing.Threshold
}

// FollowRubrics keeps up with the questions until ctx ends.
func (s *Students) FollowRubrics(ctx context.Context) {
	s.store.rubrics.Follow(ctx, func() (func(jetstream.KeyValueEntry), func()) {
		s.each(func(own *pupil) { own.rubric = nil })
		return s.takeRubric, s.wakeUp
	}, s.log)
}

// FollowRecords keeps up with the answers until ctx ends.
func (s *Students) FollowRecords(ctx context.Context) {
	s.store.records.Follow(ctx, func() (func(jetstream.KeyValueEntry), func()) {
		s.each(func(own *pupil) { own.records = map[string]Record{} })
		return s.takeRecord, s.wakeUp
	}, s.log)
}

func (s *Students) each(do func(*pupil)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.pupils {
		do(own)
	}
}

func (s *Students) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Students) pupil(rubric string) *pupil {
	own := s.pupils[rubric]
	if own == nil {
		own = &pupil{records: map[string]Record{}}
		s.pupils[rubric] = own
	}
	return own
}

func (s *Students) takeRubric(entry jetstream.KeyValueEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry.Operation() != jetstream.KeyValuePut {
		delete(s.pupils, entry.Key())
		return
	}
	if r, ok := rubricIn(entry); ok {
		own := s.pupil(r.ID)
		// What it learns from is another set of answers.
		own.marked = own.marked || own.rubric != nil && own.rubric.Continues != r.Continues
		own.rubric, own.changed = &r, true
	}
}

func (s *Students) takeRecord(entry jetstream.KeyValueEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry.Operation() != jetstream.KeyValuePut {
		if id := entry.Key()[min(len(entry.Key()), rubricDigits+1):]; len(entry.Key()) > rubricDigits {
			if own := s.pupils[entry.Key()[:rubricDigits]]; own != nil {
				delete(own.records, id)
			}
		}
		return
	}
	rubric, r, ok := recordIn(entry)
	if !ok {
		return
	}
	own := s.pupil(rubric)
	before, known := own.records[r.ID]
	own.records[r.ID] = r
	if !known {
		own.seen++
	}
	for _, heir := range s.heirs(rubric) {
		heir.changed = true
		heir.marked = heir.marked || known && r.Label() != before.Label()
	}
}

// heirs returns the students of a rubric and of those that continue it. The lock is
// held.
func (s *Students) heirs(rubric string) (out []*pupil) {
	for id, own := range s.pupils {
		if slices.Contains(lineage(s.earlier, id), rubric) {
			out = append(out, own)
		}
	}
	return out
}

// earlier returns the rubric that a rubric continues, "" for none. The lock is held.
func (s *Students) earlier(rubric string) string {
	if own := s.pupils[rubric]; own != nil && own.rubric != nil {
		return own.rubric.Continues
	}
	return ""
}

// inherited returns the answers about the rubrics that a rubric continues. The lock is
// held.
func (s *Students) inherited(rubric string) (out []Record) {
	for _, id := range lineage(s.earlier, rubric)[1:] {
		if before := s.pupils[id]; before != nil {
			for _, r := range before.records {
				out = append(out, r)
			}
		}
	}
	return out
}

// Run trains and judges students until ctx ends.
func (s *Students) Run(ctx context.Context) {
	hourly := time.NewTicker(trainLatest)
	defer hourly.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hourly.C:
		case <-s.wake:
		}
		for _, rubric := range s.due() {
			s.study(ctx, rubric)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(trainRest):
		}
	}
}

// due returns the rubrics with something new.
func (s *Students) due() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rubric, own := range s.pupils {
		if own.rubric != nil && (own.changed || own.seen > 0) {
			own.changed = false
			out = append(out, rubric)
		}
	}
	slices.Sort(out)
	return out
}

// study brings one student up to date: its standing by the trials, its knowledge by the
// answers, and its records within the bound.
func (s *Students) study(ctx context.Context, rubric string) {
	s.mu.RLock()
	own := s.pupils[rubric]
	if own == nil || own.rubric == nil {
		s.mu.RUnlock()
		return
	}
	known := *own.rubric
	records := make([]Record, 0, len(own.records))
	for _, r := range own.records {
		records = append(records, r)
	}
	inherited := s.inherited(rubric)
	train := own.worthTraining(time.Now(), len(inherited))
	s.mu.RUnlock()
	sortRecords(records)

	s.judge(ctx, &known, records)
	if err := s.store.Delete(ctx, spare(records, known.Standing)); err != nil && ctx.Err() == nil {
		s.log.Debug("surplus answers not deleted", "rubric", rubric, "error", err)
	}
	if train {
		s.train(ctx, own, &known, joined(records, inherited))
	}
}

// worthTraining reports whether a training is due, with some more answers about rubrics
// that it continues. The lock is held.
func (p *pupil) worthTraining(now time.Time, more int) bool {
	if len(p.records)+more < fewestAnswers {
		return false
	}
	return p.trained == nil || p.marked || float64(p.seen) >= max(fewestAnswers, trainShare*float64(p.learnt)) ||
		p.seen > 0 && now.Sub(p.at) >= trainLatest
}

// judge changes the standing of a student by its trials.
func (s *Students) judge(ctx context.Context, r *Rubric, records []Record) {
	trials, target := Trials(records), s.target(r)
	if _, changed := r.Standing.Next(trials, target); !changed {
		return
	}
	now, changed, err := s.store.Stand(ctx, r.ID, func(st Standing) (Standing, bool) { return st.Next(trials, target) })
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.log.Warn("standing of a student not stored", "rubric", r.ID, "error", err)
		}
		return
	case changed && now.Threshold > 0:
		s.log.Info("student answers alone", "rubric", r.ID, "name", r.Name, "threshold", now.Threshold, "target", target)
	case changed:
		s.log.Warn("student no longer answers alone", "rubric", r.ID, "name", r.Name, "target", target)
	}
	r.Standing = now
}

func (s *Students) train(ctx context.Context, own *pupil, r *Rubric, records []Record) {
	q, err := r.Parsed()
	if err != nil {
		s.log.Warn("question cannot be read", "rubric", r.ID, "error", err)
		return
	}
	examples := lessons(&q, records, r.Standing)
	if len(examples) == 0 {
		return
	}
	began := time.Now()
	trained, err := s.zeros.train(ctx, &q, examples)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("student not trained", "rubric", r.ID, "error", err)
		}
		return
	}
	s.mu.Lock()
	own.trained, own.learnt, own.seen, own.at, own.marked = trained, len(examples), 0, time.Now(), false
	s.mu.Unlock()
	s.log.Debug("student trained", "rubric", r.ID, "examples", len(examples), "took_ms", time.Since(began).Milliseconds())
}

func sortRecords(records []Record) {
	slices.SortFunc(records, func(a, b Record) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
}

// Trials returns how the student's answers compare with the right ones, oldest first.
// Each was given before the student learnt the right one.
func Trials(records []Record) (out []Trial) {
	for i := range records {
		if r := &records[i]; r.Silent != nil && r.Label() != "" {
			out = append(out, Trial{P: r.Silent.Probability, Agree: r.Silent.Answer == r.Label(), Check: r.Check, At: r.At})
		}
	}
	return out
}

// lessons returns what a student learns from; none before there are enough answers with
// two labels.
func lessons(q *Question, records []Record, s Standing) []Example {
	records = slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return !s.learns(&r) })
	fresh := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.At <= s.Back })
	if len(fresh) >= freshAnswers {
		records = fresh
	}
	var out []Example
	labels := map[int]bool{}
	for i := range records {
		at := slices.Index(q.Labels, records[i].Label())
		if at >= 0 && records[i].Text != "" {
			out = append(out, Example{records[i].Text, at})
			labels[at] = true
		}
	}
	if len(out) < fewestAnswers || len(labels) < 2 {
		return nil
	}
	return out
}

// learns reports whether a student learns from a record. One that answers alone gets few
// answers of its teacher, and mostly about what it is not sure of. Would it learn from
// all of these, it would forget what it is sure of, and its threshold was proven for
// another student. So it learns from the checks, and as large a part of the others.
func (s Standing) learns(r *Record) bool {
	return s.Threshold == 0 || r.At <= s.Since || r.Check || r.Mark != nil || luck(r.ID) < checkShare
}

// luck returns a number from 0 to 1 for an id, the same in every process.
func luck(id string) float64 {
	sum := sha256.Sum256([]byte(id))
	return float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
}

// spare returns the records beyond the bound, oldest first. Where a student answers
// alone, most of the room is for what it learns from, the checks among it.
func spare(records []Record, s Standing) (out []Record) {
	if len(records) <= maxRecords {
		return nil
	}
	learnt, others := maxRecords, 0
	if s.Threshold > 0 {
		learnt, others = maxRecords-otherRecords, otherRecords
	}
	for _, r := range slices.Backward(records) {
		left := &others
		if s.learns(&r) {
			left = &learnt
		}
		if *left--; *left < 0 {
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out
}
