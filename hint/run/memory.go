package run

import (
	"context"
	"crypto/sha256"
	"slices"
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
	// Skills are the skills that the hint names with their paths.
	Skills []payload.Skill
	// Full reports whether the hint contains the intent's prompt, or would if that
	// was not too large for the server.
	Full bool
}

// Final reports whether a retry of the run gets the same answer again; after an
// answer that is not final, a retry is classified anew (contract §8).
func (a Answer) Final() bool {
	switch a.Skip {
	case eligibility.None, eligibility.LowConfidence, eligibility.Unchanged, eligibility.Holdout:
		return true
	}
	return false
}

// run is one run's first answer, or the wait for it. That is more than
// golang.org/x/sync/singleflight does: the answer stays for retries, and another
// process may give it.
type run struct {
	done chan struct{} // closed when answer is set
	// prompt is the first prompt, kept until there is a final answer: the prompt
	// of a retry does not state what the user wants. It is "" if it was not kept.
	// The lock of the memory guards it.
	prompt string
	answer compactAnswer
	// read are the skills of the answer that the run has read, by name. The lock
	// of the memory guards it.
	read []string
}

// compactAnswer is an answer in compact form: most of a hint's text is shared by all hints
// of an intent.
type compactAnswer struct {
	head   string // see [render.Split]
	body   unique.Handle[string]
	tail   string
	skip   eligibility.Skip
	result *payload.Classification
	skills []payload.Skill
	full   bool
}

func compact(a Answer) compactAnswer {
	head, body, tail := render.Split(a.Hint)
	return compactAnswer{strings.Clone(head), unique.Make(body), strings.Clone(tail), a.Skip, a.Result, a.Skills, a.Full}
}

// answer returns the answer in full.
func (k compactAnswer) answer() Answer {
	return Answer{k.head + k.body.Value() + k.tail, k.skip, k.result, k.skills, k.full}
}

func (k compactAnswer) final() bool { return Answer{Skip: k.skip}.Final() }

// memory holds the first answers of recent runs, those of this process and of
// others.
type memory struct {
	mu    sync.Mutex
	cache *lru.Cache[string, *run]
	// prompts is the size of the prompts of the runs in cache, in bytes.
	prompts int
}

func newMemory() *memory {
	m := &memory{}
	// It fails only for a size that is not positive.
	m.cache, _ = lru.NewWithEvict(maxRuns, func(_ string, oldest *run) { m.forget(oldest) })
	return m
}

// Key names the run of a request, "" without a run id. Some channels let clients
// choose run ids, so the session is part of the name.
func Key(ctx payload.Context) string {
	if ctx.RunID == "" {
		return ""
	}
	return runsOf(ctx.Session()) + short(ctx.RunID)
}

// runsOf returns what the names of a session's runs begin with.
func runsOf(session string) string { return short(session) + "\x00" }

// maxIDBytes is the longest id that is kept unchanged in the name of a run.
const maxIDBytes = 128

// short returns an id, or its hash: clients may choose long ids.
func short(id string) string {
	if len(id) > maxIDBytes {
		sum := sha256.Sum256([]byte(id))
		return string(sum[:])
	}
	return id
}

// join returns the run with its first prompt, and whether the caller has to
// answer it: then it must call finish. A run whose first answer was a failure
// begins again.
func (m *memory) join(key, prompt string) (known *run, first string, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.cache.Get(key); ok {
		if known.prompt != "" {
			prompt = known.prompt
		}
		if !known.answered() || known.answer.final() {
			return known, prompt, false
		}
	}
	return m.begin(key, prompt), prompt, true
}

// begin adds a run without an answer, replacing an earlier one with the same
// key. Beyond the limit of prompts it drops the prompts of all other runs. The
// lock is held.
func (m *memory) begin(key, prompt string) *run {
	if old, ok := m.cache.Peek(key); ok {
		m.forget(old)
	}
	if m.prompts += len(prompt); m.prompts > maxPrompts {
		for _, other := range m.cache.Values() {
			other.prompt = ""
		}
		m.prompts = len(prompt)
	}
	fresh := &run{done: make(chan struct{}), prompt: prompt}
	m.cache.Add(key, fresh)
	return fresh
}

// forget drops the prompt of a run. The lock is held.
func (m *memory) forget(known *run) {
	m.prompts -= len(known.prompt)
	known.prompt = ""
}

// finish sets the answer of a run that join gave to the caller, and returns the
// answer in force: another process may have given a final one meanwhile.
func (m *memory) finish(key string, known *run, a Answer) Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answer(key, known, a)
}

// learn stores the answer that another process gave.
func (m *memory) learn(key, prompt string, a Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.cache.Get(key)
	if !ok {
		known = m.begin(key, prompt)
	}
	m.answer(key, known, a)
}

// expect adds a run whose first request got no answer, unless the run is known.
func (m *memory) expect(key, prompt string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.cache.Contains(key) {
		m.answer(key, m.begin(key, prompt), Answer{Skip: eligibility.Deadline})
	}
}

// remove makes requests for a removed session's answered runs new questions. Their
// prompts must not come back, not even with a late event of a request without an
// answer ([memory.expect]).
func (m *memory) remove(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range m.cache.Keys() {
		if known, ok := m.cache.Peek(key); ok && strings.HasPrefix(key, runsOf(session)) && known.answered() {
			m.answer(key, m.begin(key, ""), Answer{Skip: eligibility.Deadline})
		}
	}
}

// answer sets the answer of a run, unless it has a final one, and returns the
// answer in force. The lock is held.
func (m *memory) answer(key string, known *run, a Answer) Answer {
	if known.answered() {
		amended := known.answer.skip == eligibility.Unchanged && a.Hint != ""
		if known.answer.final() && !amended {
			return known.answer.answer()
		}
		// Others may be reading the old answer.
		known = m.begin(key, known.prompt)
	}
	known.answer = compact(a)
	if a.Final() {
		m.forget(known)
	}
	close(known.done)
	return a
}

func (known *run) answered() bool {
	select {
	case <-known.done:
		return true
	default:
		return false
	}
}

// wait returns the answer of a run once it is available; false if ctx ends
// first.
func (known *run) wait(ctx context.Context) (Answer, bool) {
	select {
	case <-known.done:
	case <-ctx.Done():
		if !known.answered() {
			return Answer{}, false
		}
	}
	return known.answer.answer(), true
}

// use notes that a run has read a skill, and reports whether its hint named the
// skill and this is the first time.
func (m *memory) use(key string, s payload.Skill) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.cache.Peek(key)
	if !ok || !known.answered() {
		return false
	}
	for _, hinted := range known.answer.skills {
		if hinted.Same(s) && !slices.Contains(known.read, hinted.Name) {
			known.read = append(known.read, hinted.Name)
			return true
		}
	}
	return false
}
