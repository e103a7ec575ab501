package decide

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// checkShare is the share of a student's decisions that its teacher checks, at random.
	checkShare = 0.02
	// checkLatest is when the next decision is checked whatever chance says, so that a
	// question that is rarely asked is checked too.
	checkLatest = time.Hour
	// checkTime bounds the wait for the teacher: nobody else waits for it.
	checkTime = 30 * time.Second
	// checksAtOnce bounds the checks in progress.
	checksAtOnce = 4
)

// studentName names the student as what answered.
const studentName = "intenthint/student"

// askStudent asks the student. Its answer counts if it has been handed over to and is
// sure enough; else it is compared with the teacher's. Only what is recorded can be
// compared.
func (e *Engine) askStudent(ctx context.Context, a *asked) {
	if e.Students == nil || a.rule.Record != RecordText {
		return
	}
	p, alone := e.Students.Answer(ctx, a.rubric, a.Question, a.text)
	if p == nil {
		return
	}
	at := best(p)
	a.silent = &Silent{a.Labels[at], p[at]}
	if alone {
		a.answer = &Answer{Probabilities: p, Source: Local, Model: studentName}
	}
}

// checks chooses which of the students' decisions are checked.
type checks struct {
	places chan struct{}
	mu     sync.Mutex
	last   *lru.Cache[string, time.Time] // by rubric
	random func() float64
}

func newChecks() *checks {
	last, _ := lru.New[string, time.Time](maxRubrics) // it fails only for a size that is not positive
	return &checks{places: make(chan struct{}, checksAtOnce), last: last, random: rand.Float64}
}

// due reports whether a decision about a rubric is to be checked.
func (c *checks) due(rubric string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.last.Get(rubric)
	if !known {
		c.last.Add(rubric, now) // the hour begins
	}
	if c.random() >= checkShare && (!known || now.Sub(last) < checkLatest) {
		return false
	}
	c.last.Add(rubric, now)
	return true
}

// check has a random part of a student's decisions answered by its teacher too, after
// the reply.
func (e *Engine) check(s *Settings, agent string, b *Batch, a asked, id string) {
	teacher := s.Teachers[a.rule.Teacher]
	if teacher == nil || !e.Students.checks.due(a.rubric, time.Now()) {
		return
	}
	select {
	case e.Students.checks.places <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-e.Students.checks.places }()
		ctx, cancel := context.WithTimeout(e.Ending, checkTime)
		defer cancel()
		began := time.Now()
		answers, usage, err := teacher.Teach(ctx, b.State, []Question{*a.Question})
		if err != nil {
			e.Log.Debug("check without an answer", "rubric", a.rubric, "error", err)
			return
		}
		a.answer = &Answer{Probabilities: answers[0], Source: Model, Model: a.rule.Teacher, Usage: usage}
		e.record(agent, b, &a, time.Since(began), func(d *Decided) { d.Check = id })
	}()
}
