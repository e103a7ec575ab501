package run

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"unique"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/payload"
)

// maxRuns bounds the runs that are remembered. A gateway retries a run for a
// minute or two; at a hundred turns a second this is more than a minute.
const maxRuns = 8192

// maxPrompts bounds the prompts that are kept for retries, in bytes.
const maxPrompts = 16 << 20

// Answer is the answer to a run.
type Answer struct {
	// Hint is the text that was given, "" for none; then Skip says why.
	Hint string
	Skip eligibility.Skip
	// Result is nil when nothing could be classified.
	Result *payload.Classification
}

// Final reports whether a retry of the run is given the answer again; after
// another one it is classified anew (contract §8).
func (a Answer) Final() bool { return a.Skip == "" || a.Skip == eligibility.LowConfidence }

// run is one run's first answer, or the wait for it.
type run struct {
	done chan struct{} // closed when answer is set
	// prompt is the first prompt, until there is a final answer: a retry comes
	// with another one ("Continue the current task …") that does not state
	// what the user wants. "" when it was not kept. The lock of Runs guards it.
	prompt string
	answer kept
}

// kept is an answer in compact form: most of a hint's text is shared by all hints
// of an intent.
type kept struct {
	own    string
	rest   unique.Handle[string]
	skip   eligibility.Skip
	result *payload.Classification
}

func keep(a Answer) kept {
	own, rest := render.Split(a.Hint)
	return kept{strings.Clone(own), unique.Make(rest), a.Skip, a.Result}
}

// answer returns the answer that was kept.
func (k kept) answer() Answer { return Answer{k.own + k.rest.Value(), k.skip, k.result} }

func (k kept) final() bool { return Answer{Skip: k.skip}.Final() }

// memory holds the first answers of recent runs, those of this process and of
// others.
type memory struct {
	mu    sync.Mutex
	cache *lru.Cache[string, *run]
	// prompts is what prompts take at most, in bytes.
	prompts int
}

func newMemory() *memory {
	cache, err := lru.New[string, *run](maxRuns)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &memory{cache: cache}
}

// Key names the run of a request, "" when it has no run id. Clients choose run
// ids on some channels, so the session belongs to the name.
func Key(ctx payload.Context) string {
	if ctx.RunID == "" {
		return ""
	}
	key := ctx.Session() + "\x00" + ctx.RunID
	if len(key) > maxRunKey { // clients may choose long ids
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
func (m *memory) join(key, prompt string) (known *run, first string, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.cache.Get(key); ok {
		if known.prompt != "" {
			prompt = known.prompt
		}
		select {
		case <-known.done:
			if known.answer.final() {
				return known, prompt, false
			}
			m.forget(known)
		default:
			return known, prompt, false
		}
	}
	fresh := &run{done: make(chan struct{})}
	m.hold(fresh, prompt)
	m.cache.Add(key, fresh)
	return fresh, prompt, true
}

// hold keeps the prompt of a run. Beyond the limit it drops all earlier prompts.
// The lock is held.
func (m *memory) hold(known *run, prompt string) {
	if m.prompts += len(prompt); m.prompts > maxPrompts {
		for _, other := range m.cache.Values() {
			other.prompt = ""
		}
		m.prompts = len(prompt)
	}
	known.prompt = prompt
}

// forget drops the prompt of a run. The lock is held.
func (m *memory) forget(known *run) {
	m.prompts -= len(known.prompt)
	known.prompt = ""
}

// end sets the answer of a run that has none. The lock is held.
func (m *memory) end(known *run, a kept) {
	known.answer = a
	if a.final() {
		m.forget(known)
	}
	close(known.done)
}

// finish sets the answer of a run that join gave to the caller, unless another
// process has given a final one meanwhile; the answer that stands is returned.
func (m *memory) finish(key string, known *run, a Answer) Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-known.done:
		if known.answer.final() {
			return known.answer.answer()
		}
		// Others may be reading the old one.
		next := &run{done: make(chan struct{}), prompt: known.prompt}
		known.prompt = ""
		known = next
		m.cache.Add(key, known)
	default:
	}
	m.end(known, keep(a))
	return a
}

// wait returns the answer of a run once it is there; false when ctx ends first.
func (known *run) wait(ctx context.Context) (Answer, bool) {
	select {
	case <-known.done:
		return known.answer.answer(), true
	default:
	}
	select {
	case <-known.done:
		return known.answer.answer(), true
	case <-ctx.Done():
		return Answer{}, false
	}
}

// learn takes in the final or failed answer that another process gave. A first
// final answer that is known already stands.
func (m *memory) learn(key, prompt string, a Answer) {
	answer := keep(a)
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.cache.Get(key); ok {
		select {
		case <-known.done:
			if known.answer.final() {
				return
			}
			m.forget(known)
		default:
			m.end(known, answer)
			return
		}
	}
	known := &run{done: make(chan struct{})}
	if !answer.final() {
		m.hold(known, prompt)
	}
	m.end(known, answer)
	m.cache.Add(key, known)
}
