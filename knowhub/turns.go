package knowhub

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"intenthint/conversation"
	"intenthint/internal/hook"
	"intenthint/internal/text"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/payload"
	"intenthint/subjects"
)

// Turns numbers the turns of sessions, across all processes; [bucket.Turns]
// implements it.
type Turns interface {
	Begin(ctx context.Context, turn bucket.Turn) (n int, err error)
	Recall(ctx context.Context, turn bucket.Turn, ids []string, most, after int) (chosen []string, again bool, err error)
	PutBack(ctx context.Context, turn bucket.Turn, chosen []string) error
}

// Resets returns when a session last began anew or was compacted, in Unix
// milliseconds; 0 if unknown.
type Resets func(session string) int64

// turnOf returns the turn of a request.
func (last Resets) turnOf(req *hook.Request) bucket.Turn {
	session := req.Context.Session()
	return bucket.Turn{Session: session, Run: req.Context.RunID, At: cmp.Or(req.Envelope.TS, req.Received.UnixMilli()), Reset: last(session)}
}

// turnsTime is how long a turn may wait for the bucket of turns: an answer in
// time matters more than text in front of a prompt.
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

// Handler returns the handler of before_prompt_build.
func (r *Reminder) Handler() hook.Handler {
	return hook.Handler{Name: "knowhub reminder", Priority: reminderPriority, Handle: r.handle}
}

// reminder is the text for agents. It is trusted: it contains nothing from
// users.
func reminder(ctx json.RawMessage) string {
	called := ""
	if gjson.GetBytes(ctx, "toolSearch").Type == gjson.True {
		called = toolSearchNote
	}
	return "<" + payload.ReminderTag + ">\n" +
		payload.ReminderNote + " (kb_content reads one in full).\n" +
		"When a task has been done and its outcome is confirmed, submit what is worth knowing next time with kb_submit: the task, what was used, and how it went.\n" +
		called + "</" + payload.ReminderTag + ">"
}

// toolSearchNote is for gateways that may hide tools from the model behind a search
// (ctx.toolSearch): there the model sees only tool_search, tool_describe and tool_call.
const toolSearchNote = "If these are not among your tools, call them by name through tool_call.\n"

func (r *Reminder) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	set := r.Settings()
	session := req.Context.Session()
	if !set.RemindAtStart && set.RemindEvery == 0 || session == "" || !of(req.Context, set.Admits) {
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
	return hook.Result{Decision: hook.PrependContext{Text: reminder(req.Envelope.Ctx)}}, nil
}

// reminds reports whether a turn, counted from 1, gets the reminder.
func (s *Settings) reminds(turn int) bool {
	return s.RemindAtStart && turn == 1 || s.RemindEvery > 0 && turn%s.RemindEvery == 0
}

// holdsTag reports whether a prompt already contains a block.
func holdsTag(e payload.BeforePromptBuild, tag string) bool {
	return strings.Contains(strings.ToLower(e.Prompt), "<"+tag) || strings.Contains(strings.ToLower(e.Message()), "<"+tag)
}

// Recall puts matching experiences in front of prompts.
type Recall struct {
	Service *Service
	Turns   Turns
	Resets  Resets
}

// Handler returns the recall handler of before_prompt_build. It skips turns for
// which the gateway announces a request to [Recall.Hook].
func (r *Recall) Handler() hook.Handler {
	return hook.Handler{Name: recallName, Priority: recallPriority, Handle: func(ctx context.Context, req *hook.Request) (hook.Result, error) {
		if req.Context.RecallsLater {
			return hook.Result{}, nil
		}
		return r.handle(ctx, req)
	}}
}

// Hook returns a hook of its own, with the payload of before_prompt_build. The
// gateway calls it once it knows that the agent may look up experiences in this
// turn.
func (r *Recall) Hook() hook.Hook {
	return hook.Hook{Name: subjects.HookKnowHubRecall, Handlers: []hook.Handler{{Name: recallName, Handle: r.handle}}}
}

const recallName = "knowhub recall"

const (
	// maxAsked is how much of a message is used as the search text, in characters: its
	// head and its tail. The mark of the cut has words and is no part of the search.
	maxAsked = 2000
	// recallSpare is how many more experiences are searched for than are shown, so
	// that recently shown ones can be replaced by others.
	recallSpare = 20
	// Bounds of the parts of an experience in a prompt, in characters.
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
	asked := conversation.Latest(e.Message())
	if err != nil || asked == "" || holdsTag(e, payload.ExperiencesTag) {
		return hook.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, turnsTime)
	defer cancel()
	found, err := r.Service.ForPrompt(ctx, strings.Replace(text.Middle(asked, maxAsked), text.LeftOut, "…", 1), req.Context.Agent(), min(set.Recall+recallSpare, maxFound))
	if err != nil {
		return hook.Result{}, err
	}
	if req.Context.Session() == "" { // nothing is known of earlier turns
		return r.show(req, found[:min(len(found), set.Recall)]), nil
	}
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = e.ID
	}
	turn := r.Resets.turnOf(req)
	chosen, again, err := r.Turns.Recall(ctx, turn, ids, set.Recall, set.RepeatAfter)
	var out hook.Result
	if err != nil {
		r.Service.Metrics.failures.WithLabelValues(opTurns).Inc()
	} else {
		out = r.show(req, r.contents(ctx, req, found, chosen))
	}
	if out.Decision == nil && len(chosen) > 0 && !again {
		r.putBack(ctx, turn, chosen)
	}
	return out, err
}

// show returns the result that puts experiences in front of the prompt; none if
// the handler has overrun.
func (r *Recall) show(req *hook.Request, es []experience.Experience) hook.Result {
	if len(es) == 0 || !req.Commit() {
		return hook.Result{}
	}
	r.Service.Metrics.recalled.Add(float64(len(es)))
	return hook.Result{Decision: hook.PrependContext{Text: Block(es)}}
}

// contents returns the chosen experiences. Those of a retry, which may have
// another prompt, need not be among the found ones.
func (r *Recall) contents(ctx context.Context, req *hook.Request, found []experience.Experience, chosen []string) (out []experience.Experience) {
	for _, id := range chosen {
		if i := slices.IndexFunc(found, func(e experience.Experience) bool { return e.ID == id }); i >= 0 {
			out = append(out, found[i])
			continue
		}
		e, err := r.Service.ContentFor(ctx, id, req.Context.Agent())
		if err == nil && e.Status == experience.Approved {
			out = append(out, e)
		}
	}
	return out
}

func (r *Recall) putBack(ctx context.Context, turn bucket.Turn, chosen []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnsTime)
	defer cancel()
	if err := r.Turns.PutBack(ctx, turn, chosen); err != nil {
		r.Service.Metrics.failures.WithLabelValues(opTurns).Inc()
	}
}
