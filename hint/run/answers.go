package run

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"intenthint/conversation"
	"intenthint/hint/earlier"
	"intenthint/hint/eligibility"
	"intenthint/hint/repetition"
	"intenthint/payload"
	"intenthint/subjects"
)

// Answers gives each request of a run the run's first answer.
type Answers struct {
	// Sessions holds the last hint of each session, given by any process.
	Sessions *repetition.Sessions
	// Earlier holds the last messages of users, sent to any process.
	Earlier *earlier.Sessions

	memory *memory
	peers  atomic.Pointer[Peers]
	claims atomic.Pointer[claimer]
	log    *slog.Logger
}

// claimer is [Claims], or a fake in tests.
type claimer interface {
	Claim(ctx context.Context, key string, now, until time.Time) (promised time.Time)
	Release(ctx context.Context, key string)
}

// NewAnswers returns answers without any runs.
func NewAnswers(log *slog.Logger) *Answers {
	return &Answers{Sessions: repetition.New(), Earlier: earlier.New(), memory: newMemory(), log: log}
}

// Join starts to exchange answers with other processes. It must be called before
// the first request.
func (as *Answers) Join(p *Peers) { as.peers.Store(p) }

// Claim sets the claims, with which only one process asks a model about a run.
func (as *Answers) Claim(c *Claims) { as.claimWith(c) }

func (as *Answers) claimWith(c claimer) { as.claims.Store(&c) }

// Learn takes a turn_begun message, of another process or of the stream, or an
// event after which a session is given its hint again ([repetition.Signals]), or the
// removal of a session. Other and invalid messages are ignored.
func (as *Answers) Learn(message []byte) {
	env, err := payload.DecodeRequest(message)
	if err != nil {
		return
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	switch {
	case err != nil:
	case env.Hook == subjects.HookTurnBegun:
		as.learnTurn(ctx, env)
	case env.Hook == subjects.HookSessionRemoved:
		as.Sessions.Reset(ctx.Session(), env.TS)
		as.Earlier.Reset(ctx.Session(), env.TS)
		as.memory.remove(ctx.Session())
	case slices.Contains(repetition.Resets, env.Hook):
		as.Sessions.Reset(ctx.Session(), env.TS)
		if slices.Contains(earlier.Resets, env.Hook) {
			as.Earlier.Reset(ctx.Session(), env.TS)
		}
	case env.Hook == subjects.HookBeforePromptBuild:
		as.learnUnanswered(ctx, env)
	}
}

// learnUnanswered records a turn whose request got no answer. A retry comes with
// another prompt, but is classified by the prompt of this request.
func (as *Answers) learnUnanswered(ctx payload.Context, env payload.Envelope) {
	as.Sessions.Lost(ctx.Session(), env.TS)
	e, err := payload.DecodeBeforePromptBuild(env.Event)
	if key := Key(ctx); err == nil && key != "" && e.Message() != "" {
		as.memory.expect(key, e.Message())
	}
}

// Amend replaces a run's answer of "unchanged" with the hint that its retry was
// given. A run that has a hint keeps it.
func (as *Answers) Amend(key string, a Answer) {
	if key != "" {
		as.memory.learn(key, "", a)
	}
}

func (as *Answers) learnTurn(ctx payload.Context, env payload.Envelope) {
	begun, err := payload.DecodeTurnBegun(env.Event)
	if err != nil {
		return
	}
	as.Sessions.Learn(ctx.Session(), env.TS, begun.Last, begun.Kept)
	as.Earlier.Add(ctx.Session(), cmp.Or(ctx.RunID, env.ID), env.TS, conversation.Latest(begun.UserMessage()))
	key := Key(ctx)
	if key == "" || begun.Skip == "" && begun.Result == nil {
		return
	}
	as.memory.learn(key, begun.UserMessage(), Answer{Hint: begun.Hint, Skip: eligibility.Skip(begun.Skip), Result: begun.Result, Skills: begun.Skills, Full: full(begun)})
}

// full reports whether a turn's hint contains the intent's prompt, or would.
func full(e payload.TurnBegun) bool {
	if e.Hint == "" || e.Last == nil || !e.Last.Full || e.Last.Turns > 0 {
		return false
	}
	// A brief hint is the last one of a session that knows the prompt.
	now := payload.KeptPrompt{Text: e.Last.Text, At: e.Last.At}
	return e.Kept == nil || slices.Contains(e.Kept.Prompts, now)
}

// UseSkill notes that a run has read a skill. It reports whether the run's hint
// named the skill and this is the first time; it is false for a run that is
// unknown or was forgotten.
func (as *Answers) UseSkill(ctx payload.Context, s payload.Skill) bool {
	key := Key(ctx)
	return key != "" && as.memory.use(key, s)
}

// Tell broadcasts a turn_begun message to the other processes. It costs a
// buffered write.
func (as *Answers) Tell(message []byte) {
	peers := as.peers.Load()
	if peers == nil {
		return
	}
	if err := peers.broadcast(message); err != nil {
		as.log.Debug("answer broadcast failed", "error", err)
	}
}

// Request is one request of a run. Its functions are called on the goroutine of
// [Answers.First], in the order of the fields.
type Request struct {
	// Key names the run, see [Key]; "" is a run of its own.
	Key string
	// Prompt is what the user asks.
	Prompt string
	// Deadline is when the answer must leave.
	Deadline time.Time

	// Prepare receives the prompt of the run's first request, which is what the
	// user wants: a retry has another prompt ("Continue the current task…").
	Prepare func(first string)
	// AsksModel reports whether Classify would ask a model.
	AsksModel func() bool
	// Classify makes an answer.
	Classify func(ctx context.Context) Answer
	// Commit reports whether the answer of Classify will be used.
	Commit func() bool
}

// Origin is the origin of an answer.
type Origin int

const (
	// Fresh means that the request made the run's first answer; its turn begins.
	Fresh Origin = iota
	// Repeated means that another request made the first answer.
	Repeated
	// Beside means that the request could not wait for the first answer, and made
	// one of its own.
	Beside
)

const (
	// lateClaim is how long, after the promised time, the answer of another
	// process is waited for: it takes time to arrive.
	lateClaim = 50 * time.Millisecond
	// secondTry is the least remaining time with which a model is asked again
	// after another request ran out of time.
	secondTry = 250 * time.Millisecond
)

// First returns the run's first answer, or makes it. It stops waiting when ctx
// is done.
func (as *Answers) First(ctx context.Context, r Request) (Answer, Origin) {
	if r.Key == "" {
		r.Prepare(r.Prompt)
		return r.settle(r.Classify(ctx)), Fresh
	}
	if peers := as.peers.Load(); peers != nil {
		peers.settle(ctx)
	}
	known, first, mine := as.memory.join(r.Key, r.Prompt)
	for !mine {
		a, ok := known.wait(ctx)
		if !ok {
			break
		}
		if a.Skip != eligibility.Deadline || !r.patient() {
			return a, Repeated
		}
		// The first request had a shorter deadline.
		known, first, mine = as.memory.join(r.Key, first)
	}
	finished := !mine
	defer func() {
		if !finished { // after a panic, release the waiting requests
			as.memory.finish(r.Key, known, Answer{Skip: eligibility.ClassifyFailed})
		}
	}()
	r.Prepare(first)
	if !mine {
		return r.Classify(ctx), Beside
	}
	asks := r.AsksModel()
	for asks {
		promised := as.claim(ctx, r.Key, r.Deadline)
		if promised.IsZero() {
			break
		}
		a, ok := known.waitUntil(ctx, promised.Add(lateClaim))
		switch {
		case ok && a.Skip == eligibility.Deadline && r.patient():
			// The other process's request had a shorter deadline.
			finished = true
			r.Prompt = first
			return as.First(ctx, r)
		case ok:
			finished = true
			return a, Repeated
		case ctx.Err() != nil:
			// The other process is late: answer without a model, and begin the turn here
			// too.
			asks = false
		}
		// Otherwise the other process is dead, and the claim is free.
	}
	a := r.settle(r.Classify(ctx))
	if asks && !a.Final() {
		as.release(ctx, r.Key)
	}
	a, finished = as.memory.finish(r.Key, known, a), true
	return a, Fresh
}

// patient reports whether there is time to ask a model again.
func (r Request) patient() bool { return time.Until(r.Deadline) > secondTry }

// settle returns the answer if it will be used. Otherwise the turn begins
// without a hint, and a retry is classified anew.
func (r Request) settle(a Answer) Answer {
	if r.Commit() {
		return a
	}
	return Answer{Skip: eligibility.Deadline}
}

func (as *Answers) claim(ctx context.Context, key string, until time.Time) (promised time.Time) {
	if claims := as.claims.Load(); claims != nil {
		return (*claims).Claim(ctx, key, time.Now(), until)
	}
	return time.Time{}
}

// release releases a claim. A request that is out of time does not wait for
// that.
func (as *Answers) release(ctx context.Context, key string) {
	claims := as.claims.Load()
	switch {
	case claims == nil:
	case ctx.Err() != nil:
		go (*claims).Release(context.WithoutCancel(ctx), key)
	default:
		(*claims).Release(ctx, key)
	}
}

// waitUntil is like wait, but with a deadline as well.
func (known *run) waitUntil(ctx context.Context, moment time.Time) (Answer, bool) {
	ctx, cancel := context.WithDeadline(ctx, moment)
	defer cancel()
	return known.wait(ctx)
}
