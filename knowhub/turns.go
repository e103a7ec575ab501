package knowhub

import (
	"cmp"
	"context"
	"strings"
	"time"

	"intenthint/internal/hook"
	"intenthint/internal/text"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/payload"
	"intenthint/subjects"
)

// Turns tells which turn of its session a turn is, in all processes;
// [bucket.Turns] does.
type Turns interface {
	Begin(ctx context.Context, turn bucket.Turn) (n int, err error)
	Recall(ctx context.Context, turn bucket.Turn, ids []string, most, after int) (chosen []string, err error)
}

// Resets returns when a session began anew or was compacted last, in Unix
// milliseconds; 0 when that is not known.
type Resets func(session string) int64

// turnOf is the turn that a request is about.
func (last Resets) turnOf(req *hook.Request) bucket.Turn {
	session := req.Context.Session()
	return bucket.Turn{Session: session, Run: req.Context.RunID, At: cmp.Or(req.Envelope.TS, req.Received.UnixMilli()), Reset: last(session)}
}

// turnsTime is how long a turn may wait for the bucket of turns: what is put in
// front of a prompt is worth less than an answer in time.
const turnsTime = 300 * time.Millisecond

// Priorities put the blocks after the hint and the skipped messages.
const (
	recallPriority   = -20
	reminderPriority = -30
)

// Reminder reminds agents to use and submit experiences.
type Reminder struct {
	Turns    Turns
	Resets   Resets
	Settings func() *Settings
	Metrics  *Metrics
}

// Handler is the part of before_prompt_build.
func (r *Reminder) Handler() hook.Handler {
	return hook.Handler{Name: "knowhub reminder", Priority: reminderPriority, Handle: r.handle}
}

// reminder is what agents are told. Its words are this program's own.
const reminder = "<" + payload.ReminderTag + ">\n" +
	"Experiences from earlier tasks are kept. Before a task that others may have done, look for them with kb_search (kb_content reads one in full).\n" +
	"When a task has been done and its outcome is confirmed, submit what is worth knowing next time with kb_submit: the task, what was used, and how it went.\n" +
	"</" + payload.ReminderTag + ">"

func (r *Reminder) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	set := r.Settings()
	session := req.Context.Session()
	if !set.RemindAtStart && set.RemindEvery == 0 || session == "" || !req.Context.OfPerson() {
		return hook.Result{}, nil
	}
	e, err := payload.DecodeBeforePromptBuild(req.Envelope.Event)
	if err != nil || strings.TrimSpace(e.Message()) == "" {
		return hook.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, turnsTime)
	defer cancel()
	turn, err := r.Turns.Begin(ctx, r.Resets.turnOf(req))
	if err != nil {
		r.Metrics.failures.WithLabelValues(opTurns).Inc()
		return hook.Result{}, err
	}
	if !set.reminds(turn) || holdsTag(e, payload.ReminderTag) || !req.Commit() {
		return hook.Result{}, nil
	}
	r.Metrics.reminders.Inc()
	return hook.Result{Decision: hook.PrependContext(reminder)}, nil
}

// reminds reports whether a turn, counted from 1, begins with the reminder.
func (s *Settings) reminds(turn int) bool {
	return s.RemindAtStart && turn == 1 || s.RemindEvery > 0 && turn%s.RemindEvery == 0
}

// holdsTag reports whether a prompt holds a block already.
func holdsTag(e payload.BeforePromptBuild, tag string) bool {
	return strings.Contains(strings.ToLower(e.Prompt), "<"+tag) || strings.Contains(strings.ToLower(e.Message()), "<"+tag)
}

// Recall puts experiences in front of prompts that they fit.
type Recall struct {
	Service *Service
	Turns   Turns
	Resets  Resets
}

// Handler is the part of before_prompt_build. It leaves the turns to [Recall.Hook]
// of which the gateway says so.
func (r *Recall) Handler() hook.Handler {
	return hook.Handler{Name: recallName, Priority: recallPriority, Handle: func(ctx context.Context, req *hook.Request) (hook.Result, error) {
		if payload.RecallsLater(req.Envelope.Ctx) {
			return hook.Result{}, nil
		}
		return r.handle(ctx, req)
	}}
}

// Hook is asked, with what before_prompt_build has, once the gateway knows that
// the agent may look experiences up in this turn.
func (r *Recall) Hook() hook.Hook {
	return hook.Hook{Name: subjects.HookKnowHubRecall, Handlers: []hook.Handler{{Name: recallName, Handle: r.handle}}}
}

const recallName = "knowhub recall"

const (
	// maxAsked is how much of a message is searched with, in characters.
	maxAsked = 2000
	// recallSpare is how many more experiences are looked for than are shown, so
	// that those shown lately leave room for others.
	recallSpare = 20
	// Parts of an experience in a prompt are cut to so many characters.
	maxShownTask     = 300
	maxShownResource = 300
	maxShownResult   = 800
)

func (r *Recall) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	set := r.Service.Settings()
	if set.Recall == 0 || !req.Context.OfPerson() || !r.Service.Copy.Ready() {
		return hook.Result{}, nil
	}
	e, err := payload.DecodeBeforePromptBuild(req.Envelope.Event)
	if err != nil || strings.TrimSpace(e.Message()) == "" || holdsTag(e, payload.ExperiencesTag) {
		return hook.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, turnsTime)
	defer cancel()
	found, err := r.Service.Search(ctx, text.Cut(e.Message(), maxAsked), req.Context.Agent(), min(set.Recall+recallSpare, maxFound))
	if err != nil {
		return hook.Result{}, err
	}
	chosen, err := r.choose(ctx, set, req, found)
	if err != nil {
		r.Service.Metrics.failures.WithLabelValues(opTurns).Inc()
		return hook.Result{}, err
	}
	if len(chosen) == 0 || !req.Commit() {
		return hook.Result{}, nil
	}
	r.Service.Metrics.recalled.Add(float64(len(chosen)))
	return hook.Result{Decision: hook.PrependContext(Block(chosen))}, nil
}

// choose leaves out what the session was shown lately. A retry of a run, which may
// have another prompt, is shown the same again. A turn without a session is shown
// the best ones.
func (r *Recall) choose(ctx context.Context, set *Settings, req *hook.Request, found []experience.Experience) ([]experience.Experience, error) {
	if req.Context.Session() == "" {
		return found[:min(len(found), set.Recall)], nil
	}
	ids := make([]string, len(found))
	byID := make(map[string]experience.Experience, len(found))
	for i, e := range found {
		ids[i], byID[e.ID] = e.ID, e
	}
	chosen, err := r.Turns.Recall(ctx, r.Resets.turnOf(req), ids, set.Recall, set.RepeatAfter)
	if err != nil {
		return nil, err
	}
	var out []experience.Experience
	for _, id := range chosen {
		e, ok := byID[id]
		if !ok {
			e, err = r.Service.ContentFor(ctx, id, req.Context.Agent())
			ok = err == nil && e.Status == experience.Approved
		}
		if ok {
			out = append(out, e)
		}
	}
	return out, nil
}
