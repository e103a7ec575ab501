package decide

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/payload"
	"intenthint/subjects"
)

// Skip is why nobody answered (contract §15, Decide-Skip).
type Skip string

// Reasons.
const (
	NoTeacher   Skip = "no_teacher"
	Unsure      Skip = "unsure" // the teacher does not know, or failed
	Deadline    Skip = "deadline"
	Overloaded  Skip = "overloaded"
	Unsupported Skip = "unsupported" // of the form, or beyond the limits
)

// Skips are all of them.
var Skips = []Skip{NoTeacher, Unsure, Deadline, Overloaded, Unsupported}

// lateTime is how much longer than its caller a teacher is waited for where its answer
// is learnt from.
const lateTime = 10 * time.Second

// zeroName names labels and descriptions as what answered.
const zeroName = "intenthint/zero"

// Outcome is what became of a batch. Reply is nil if nobody answered.
type Outcome struct {
	Reply   *Reply
	Skip    Skip
	Sources []Source
	Rubrics []string
	Took    time.Duration
}

// Header returns the diagnostics of a reply.
func (o *Outcome) Header() map[string][]string {
	h := map[string][]string{subjects.HeaderDecideElapsedMs: {strconv.FormatFloat(float64(o.Took.Microseconds())/1000, 'f', 3, 64)}}
	if o.Skip != "" {
		h[subjects.HeaderDecideSkip] = []string{string(o.Skip)}
	}
	if len(o.Rubrics) > 0 {
		h[subjects.HeaderDecideRubric] = []string{strings.Join(o.Rubrics, ",")}
	}
	var sources []string
	for _, s := range Sources {
		if slices.Contains(o.Sources, s) {
			sources = append(sources, string(s))
		}
	}
	if len(sources) > 0 {
		h[subjects.HeaderDecideSource] = []string{strings.Join(sources, ",")}
	}
	return h
}

// Engine answers batches. It is safe for concurrent use.
type Engine struct {
	settings atomic.Pointer[Settings]
	// Zeros answer from labels and descriptions. Students have learnt from teachers.
	Zeros    *Zeros
	Students *Students
	// Know remembers the questions that were asked, and does not block.
	Know func(rubric, name string, q *Question, state json.RawMessage)
	// Publish takes the events of answers, and does not block.
	Publish func(d *Decided)
	// Ending ends the wait for late answers.
	Ending  context.Context //nolint:containedctx // the life of the process
	Metrics *Metrics
	Log     *slog.Logger
}

// Use puts settings in force.
func (e *Engine) Use(s *Settings) { e.settings.Store(s) }

// Settings returns the settings in force.
func (e *Engine) Settings() *Settings { return e.settings.Load() }

// asked is a question on its way.
type asked struct {
	*Question
	rubric, text string
	rule         Rule
	silent       *Silent
	answer       *Answer
}

// zero reports whether labels and descriptions may answer.
func (a *asked) zero() bool {
	return a.rule.Zero == zeroTopic && a.Type == Choice && len(a.Labels) > 1 && !text.Blank(a.text)
}

// Decide answers a batch, as a whole or not at all, before ctx ends.
func (e *Engine) Decide(ctx context.Context, agent string, b *Batch) (out Outcome) {
	began := time.Now()
	s := e.settings.Load()
	list := make([]asked, len(b.Questions))
	for i := range list {
		q := &b.Questions[i]
		rubric := Fingerprint(q, b.State)
		rule := s.rule(rubric, q.Key)
		list[i] = asked{Question: q, rubric: rubric, rule: rule, text: recorded(textOf(b.State, rule.Focus))}
		out.Rubrics = append(out.Rubrics, rubric)
	}
	out.Skip = e.answer(ctx, s, agent, b, list)
	out.Took = time.Since(began)
	if out.Skip != "" {
		e.Metrics.skipped(out.Skip)
		return out
	}
	answers := make([]Answer, len(list))
	for i := range list {
		answers[i] = *list[i].answer
		out.Sources = append(out.Sources, answers[i].Source)
		id := e.record(agent, b, &list[i], out.Took, func(*Decided) {})
		if answers[i].Source == Local {
			e.check(s, agent, b, list[i], id)
		}
	}
	e.Metrics.answered(out.Sources, out.Took)
	reply := replyOf(b, answers)
	out.Reply = &reply
	return out
}

// answer answers all questions, or returns why that cannot be done.
func (e *Engine) answer(ctx context.Context, s *Settings, agent string, b *Batch, list []asked) Skip {
	for i := range list {
		a := &list[i]
		e.askStudent(ctx, a)
		if a.answer == nil && s.Teachers[a.rule.Teacher] == nil && !a.zero() {
			return NoTeacher
		}
	}
	skip := e.teach(ctx, s, agent, b, list)
	for i := range list {
		a := &list[i]
		if a.answer != nil || !a.zero() {
			continue
		}
		p, err := e.Zeros.Answer(ctx, a.rubric, a.Question, a.text)
		if err != nil {
			return e.skipOf(err)
		}
		a.answer = &Answer{Probabilities: p, Source: Zero, Model: zeroName}
	}
	if slices.ContainsFunc(list, func(a asked) bool { return a.answer == nil }) {
		return skip
	}
	return ""
}

// teach asks the teachers of all questions that are not answered, and returns why one
// of them did not answer, "" for none.
func (e *Engine) teach(ctx context.Context, s *Settings, agent string, b *Batch, list []asked) (skip Skip) {
	for _, ref := range teachersOf(s, list) {
		var open []*asked
		for i := range list {
			if a := &list[i]; a.answer == nil && a.rule.Teacher == ref {
				open = append(open, a)
			}
		}
		if err := e.teachOne(ctx, s, ref, agent, b, open); err != nil {
			skip = e.skipOf(err)
		}
	}
	return skip
}

// teachersOf returns the teachers of questions that are not answered, each once.
func teachersOf(s *Settings, list []asked) (refs []string) {
	for i := range list {
		if a := &list[i]; a.answer == nil && s.Teachers[a.rule.Teacher] != nil && !slices.Contains(refs, a.rule.Teacher) {
			refs = append(refs, a.rule.Teacher)
		}
	}
	return refs
}

// taught is a teacher's answer.
type taught struct {
	answers [][]float64
	usage   provider.Usage
}

// teachOne asks one teacher. If its answer comes after the caller's time, and is learnt
// from, it is recorded all the same.
func (e *Engine) teachOne(ctx context.Context, s *Settings, ref, agent string, b *Batch, open []*asked) error {
	began := time.Now()
	learns := slices.ContainsFunc(open, func(a *asked) bool { return a.rule.Record == RecordText })
	long, cancel := e.longer(ctx, learns)
	questions := make([]Question, len(open))
	for i, a := range open {
		questions[i] = *a.Question
	}
	wait := model.Start(long, s.Limit, 1, func(ctx context.Context) (t taught, err error) {
		t.answers, t.usage, err = s.Teachers[ref].Teach(ctx, b.State, questions)
		return t, err
	})
	type result struct {
		taught
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer cancel()
		t, err := wait()
		done <- result{t, err}
	}()
	use := func(t taught) {
		for i, a := range open {
			a.answer = &Answer{Probabilities: t.answers[i], Source: Model, Model: ref}
			if i == 0 {
				a.answer.Usage = t.usage // of all of them
			}
		}
	}
	select {
	case r := <-done:
		if r.err == nil {
			use(r.taught)
		}
		return r.err
	case <-ctx.Done():
	}
	if learns {
		// The caller goes on without them: these are copies.
		open = clone(open)
		go func() {
			if r := <-done; r.err == nil {
				use(r.taught)
				for _, a := range open {
					e.record(agent, b, a, time.Since(began), func(d *Decided) { d.Late = true })
				}
			}
		}()
	}
	return ctx.Err()
}

func clone(list []*asked) []*asked {
	out := make([]*asked, len(list))
	for i, a := range list {
		own := *a
		out[i] = &own
	}
	return out
}

// longer returns a context that a caller who gives up does not end: until lateTime
// later where the answer is learnt from, else as long.
func (e *Engine) longer(ctx context.Context, learns bool) (context.Context, context.CancelFunc) {
	if !learns {
		return context.WithCancel(ctx)
	}
	until := time.Now().Add(lateTime)
	if deadline, ok := ctx.Deadline(); ok {
		until = deadline.Add(lateTime)
	}
	long, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	// The end of the process ends the wait for an answer that nobody waits for.
	context.AfterFunc(ctx, func() {
		stop := context.AfterFunc(e.Ending, cancel)
		context.AfterFunc(long, func() { stop() })
	})
	return long, cancel
}

// skipOf returns the reason for an error of a teacher.
func (e *Engine) skipOf(err error) Skip {
	status, refused := errors.AsType[*provider.StatusError](err)
	switch {
	case errors.Is(err, model.ErrDeadline), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Deadline
	case errors.Is(err, model.ErrOverloaded), refused && status.Code == http.StatusTooManyRequests:
		return Overloaded
	}
	e.Log.Debug("no answer of the teacher", "error", err)
	return Unsure
}

// record publishes the event of an answer, and returns its id.
func (e *Engine) record(agent string, b *Batch, a *asked, took time.Duration, more func(*Decided)) (id string) {
	p := a.answer.Probabilities
	d := &Decided{
		ID: newID(a.rubric), Agent: agent, Rubric: a.rubric, Name: a.rule.Name, Type: a.Type,
		Answer: a.Labels[best(p)], Probabilities: byLabel(a.Question, p), Source: a.answer.Source, Model: a.answer.Model,
		Took: float64(took.Microseconds()) / 1000,
	}
	if a.answer.Source != Local {
		d.Silent = a.silent
	}
	if u := a.answer.Usage; u != (provider.Usage{}) {
		d.Tokens = &payload.Tokens{In: u.InputTokens, Out: u.OutputTokens}
	}
	if d.Record = a.rule.Record; d.Record == RecordOff {
		d.Record = ""
	}
	switch a.rule.Record {
	case RecordText:
		d.Text = a.text
	case RecordHash:
		d.Text = hashed(a.text)
	}
	more(d)
	e.Know(a.rubric, a.rule.Name, a.Question, b.State)
	e.Publish(d)
	return d.ID
}
