package handlers

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"
	"unique"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/hint/eligibility"
	"intenthint/internal/fair"
	"intenthint/payload"
)

// maxRuns bounds the runs that are remembered. A gateway retries a run for a
// minute or two; at a hundred turns a second this is more than a minute.
const maxRuns = 8192

// maxPrompts bounds the prompts that are kept for retries, in bytes.
const maxPrompts = 16 << 20

// answer is what a run was answered the first time.
type answer struct {
	hint   string
	skip   eligibility.Skip
	result *payload.Classification
}

// final says whether a retry of the run is given the answer again; the other
// ones are classified anew (contract §8).
func (a answer) final() bool { return a.skip == "" || a.skip == eligibility.LowConfidence }

// run is one run's first answer, or the wait for it.
type run struct {
	done chan struct{} // closed when answer is set
	// prompt is the first prompt, until there is a final answer: a retry comes
	// with another one ("Continue the current task …") that says nothing of
	// what the user wants. "" when it was not kept. The lock of Runs guards it.
	prompt string
	answer kept
}

// kept is an answer in little room: most of a hint is the same in all hints of
// an intent.
type kept struct {
	head   string
	tail   unique.Handle[string]
	skip   eligibility.Skip
	result *payload.Classification
}

// keep returns what is kept of an answer. A hint's own lines end with that of
// its complexity (contract §6).
func keep(a answer) kept {
	const last = "\ncomplexity: "
	own := strings.Index(a.hint, last)
	if own >= 0 {
		own += len(last)
		own += max(0, strings.IndexByte(a.hint[own:], '\n'))
	}
	own = max(0, own)
	return kept{strings.Clone(a.hint[:own]), unique.Make(a.hint[own:]), a.skip, a.result}
}

// whole returns the answer that was kept.
func (k kept) whole() answer { return answer{k.head + k.tail.Value(), k.skip, k.result} }

// final is [answer.final].
func (k kept) final() bool { return answer{skip: k.skip}.final() }

// Runs remembers the first answers of recent runs, its own and those of other
// processes, so that a retry gets the first hint from any of them and requests
// for one run at once make one classification.
type Runs struct {
	mu    sync.Mutex
	cache *lru.Cache[string, *run]
	// prompts is what prompts take at most, in bytes.
	prompts int
}

// NewRuns returns an empty memory.
func NewRuns() *Runs {
	cache, err := lru.New[string, *run](maxRuns)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &Runs{cache: cache}
}

// runKey names a run. Run ids are the client's choice for some channels, so
// the session belongs to the name.
func runKey(ctx payload.Context) string {
	if ctx.RunID == "" {
		return ""
	}
	key := ctx.Session() + "\x00" + ctx.RunID
	if len(key) > maxRunKey { // who chooses them may choose long ones
		sum := sha256.Sum256([]byte(key))
		key = string(sum[:])
	}
	return key
}

// maxRunKey is the longest name that is kept as it is, in bytes.
const maxRunKey = 256

// join returns the run with its first prompt, and whether the caller is the one
// to answer it: then it must call finish. A run whose first answer was a failure
// is begun again.
func (r *Runs) join(key, prompt string) (known *run, first string, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.cache.Get(key); ok {
		if known.prompt != "" {
			prompt = known.prompt
		}
		select {
		case <-known.done:
			if known.answer.final() {
				return known, prompt, false
			}
			r.forget(known)
		default:
			return known, prompt, false
		}
	}
	fresh := &run{done: make(chan struct{})}
	r.hold(fresh, prompt)
	r.cache.Add(key, fresh)
	return fresh, prompt, true
}

// hold keeps the prompt of a run. When all of them are too much those before it
// are let go. The lock is held.
func (r *Runs) hold(known *run, prompt string) {
	if r.prompts += len(prompt); r.prompts > maxPrompts {
		for _, other := range r.cache.Values() {
			other.prompt = ""
		}
		r.prompts = len(prompt)
	}
	known.prompt = prompt
}

// forget lets go of the prompt of a run. The lock is held.
func (r *Runs) forget(known *run) {
	r.prompts -= len(known.prompt)
	known.prompt = ""
}

// end sets the answer of a run that has none. The lock is held.
func (r *Runs) end(known *run, a kept) {
	known.answer = a
	if a.final() {
		r.forget(known)
	}
	close(known.done)
}

// finish sets the answer of a run that join gave to the caller, unless another
// process has given a final one meanwhile; the answer that stands is returned.
func (r *Runs) finish(key string, known *run, a answer) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-known.done:
		if known.answer.final() {
			return known.answer.whole()
		}
		// Others may be reading that one.
		next := &run{done: make(chan struct{}), prompt: known.prompt}
		known.prompt = ""
		known = next
		r.cache.Add(key, known)
	default:
	}
	r.end(known, keep(a))
	return a
}

// wait returns the answer of a run once it is there; false when ctx ends first.
func (known *run) wait(ctx context.Context) (answer, bool) {
	select {
	case <-known.done:
		return known.answer.whole(), true
	default:
	}
	fair.Yield(ctx)
	select {
	case <-known.done:
		return known.answer.whole(), true
	case <-ctx.Done():
		return answer{}, false
	}
}

// waitUntil is wait that gives up at a moment.
func (known *run) waitUntil(ctx context.Context, moment time.Time) (answer, bool) {
	ctx, cancel := context.WithDeadline(ctx, moment)
	defer cancel()
	return known.wait(ctx)
}

// Learn takes in the turn_begun of another process. A body that is none is
// ignored: it is only a memory.
func (r *Runs) Learn(body []byte) {
	env, err := payload.DecodeRequest(body)
	if err != nil {
		return
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		return
	}
	begun, err := payload.DecodeTurnBegun(env.Event)
	if err != nil {
		return
	}
	key := runKey(ctx)
	if key == "" || begun.Skip == "" && begun.Result == nil {
		return
	}
	a := keep(answer{hint: begun.Hint, skip: eligibility.Skip(begun.Skip), result: begun.Result})
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.cache.Get(key); ok {
		select {
		case <-known.done:
			if known.answer.final() {
				return // the first answer stands
			}
			r.forget(known)
		default:
			r.end(known, a)
			return
		}
	}
	known := &run{done: make(chan struct{})}
	if !a.final() {
		r.hold(known, begun.Prompt)
	}
	r.end(known, a)
	r.cache.Add(key, known)
}
