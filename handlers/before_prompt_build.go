package handlers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/subjects"
)

// Settings is everything a hint is made from. It is immutable: a change of the
// configuration or the catalogue makes another one, and a request uses one from
// beginning to end.
type Settings struct {
	Rules eligibility.Rules
	// Catalog returns the intents that an agent may be given.
	Catalog func(agent string) *intents.Catalog

	QueryMode conversation.QueryMode
	Window    conversation.Window
	Location  *time.Location

	Classifier *classify.Classifier
	// MinConfidence is the confidence below which no hint is given.
	MinConfidence float64
	Complexity    classify.Prompts
}

// Bus is what the handler needs of the others: it is told of every turn, and
// asked before a model is.
type Bus interface {
	// TurnBegun publishes the event of a turn that began and tells the other
	// processes, without waiting for either.
	TurnBegun(agent, session, id, traceparent string, body []byte)
	// Claim returns the zero time when this process may ask a model about the
	// run until the given moment, else the one until which another process is
	// at it.
	Claim(ctx context.Context, run string, until time.Time) (promised time.Time)
	// Release gives a claim back after a failure, by the end of ctx or later.
	Release(ctx context.Context, run string)
}

// HintObserver counts what became of requests. Durations count from receipt.
type HintObserver interface {
	Hint(source, intent string, took time.Duration)
	Skip(reason eligibility.Skip, took time.Duration)
	BadRequest()
	Classified(source string, took time.Duration)
}

// secondTry is the least time in which the deadline of another caller is no
// answer.
const secondTry = 250 * time.Millisecond

// BeforePromptBuild answers before_prompt_build with a hint (contract §4–§6).
type BeforePromptBuild struct {
	settings atomic.Pointer[Settings]
	runs     *Runs
	bus      Bus
	observer HintObserver
	log      *slog.Logger
	// maxPayload bounds a turn_begun event, in bytes.
	maxPayload int64
}

// NewBeforePromptBuild returns the handler; Use must be called before the first
// request.
func NewBeforePromptBuild(runs *Runs, bus Bus, maxPayload int64, observer HintObserver, log *slog.Logger) *BeforePromptBuild {
	return &BeforePromptBuild{runs: runs, bus: bus, observer: observer, log: log, maxPayload: maxPayload}
}

// Use makes later requests use other settings.
func (h *BeforePromptBuild) Use(s *Settings) { h.settings.Store(s) }

// Immediate says whether a request that finds no other in work is answered
// without waiting for anything.
func (h *BeforePromptBuild) Immediate() bool { return h.settings.Load().Classifier.Immediate() }

// turn is one request on its way to an answer.
type turn struct {
	req     *Request
	event   payload.BeforePromptBuild
	set     *Settings
	agent   string
	catalog *intents.Catalog
	latest  string
	// Set by prepare.
	in classify.Input
	// conversation is in.Conversation in JSON, a turn an element.
	conversation [][]byte
}

// Handle implements [Handler].
func (h *BeforePromptBuild) Handle(ctx context.Context, req *Request) (Result, error) {
	t := turn{req: req, set: h.settings.Load(), agent: req.Context.Agent()}
	var err error
	if t.event, err = payload.DecodeBeforePromptBuild(req.Envelope.Event); err != nil {
		h.observer.BadRequest()
		return Result{Header: h.header(req, answer{}, "")}, err
	}
	t.catalog = t.set.Catalog(t.agent)
	t.latest = conversation.Latest(t.event.Prompt)
	if skip := eligibility.Check(t.set.Rules, req.Context, t.latest, len(t.catalog.Enabled()) > 0); skip != "" {
		if req.Commit() {
			h.observer.Skip(skip, time.Since(req.Received))
		}
		return Result{Header: h.header(req, answer{skip: skip}, "")}, nil
	}
	patience, cancel := context.WithDeadline(ctx, req.Deadline.Add(-slack(req)))
	defer cancel()
	a, source := h.answer(patience, t)
	took := time.Since(req.Received)
	switch {
	case !req.Commit(): // Omitted has counted it
	case a.skip != "":
		h.observer.Skip(a.skip, took)
	default:
		h.observer.Hint(source, a.result.Intent, took)
	}
	if h.log.Enabled(ctx, slog.LevelDebug) {
		h.log.DebugContext(ctx, "hint", logged(t, a, source, took)...)
	}
	return Result{PrependContext: a.hint, Header: h.header(req, a, source)}, nil
}

// answer gives the run's first answer, or makes it.
func (h *BeforePromptBuild) answer(ctx context.Context, t turn) (answer, string) {
	key := runKey(t.req.Context)
	if key == "" {
		h.prepare(&t)
		a := h.settle(t, h.classify(ctx, t))
		h.begin(t, a)
		return a, sourceOf(a)
	}
	known, prompt, mine := h.runs.join(key, t.event.Prompt)
	for !mine {
		a, ok := known.wait(ctx)
		if !ok {
			break
		}
		if a.skip != eligibility.Deadline || !t.patient() {
			return a, payload.SourceCache
		}
		// The one who asked first had less time.
		known, prompt, mine = h.runs.join(key, prompt)
	}
	finished := !mine
	defer func() {
		if !finished { // a panic: nobody waits for an answer that will not come
			h.runs.finish(key, known, answer{skip: eligibility.ClassifyFailed})
		}
	}()
	if prompt != t.event.Prompt {
		t.event.Prompt = prompt
		t.latest = conversation.Latest(prompt)
	}
	h.prepare(&t)
	if !mine {
		// The one who answers is later than this caller can wait.
		a := h.classify(ctx, t)
		return a, sourceOf(a)
	}
	asks := t.set.Classifier.AsksModel(t.in)
	for asks {
		promised := h.bus.Claim(ctx, key, t.req.Deadline)
		if promised.IsZero() {
			break
		}
		a, ok := known.waitUntil(ctx, promised.Add(lateClaim))
		switch {
		case ok && a.skip == eligibility.Deadline && t.patient():
			// The one who asked there had less time.
			finished = true
			return h.answer(ctx, t)
		case ok:
			finished = true
			return a, payload.SourceCache
		case ctx.Err() != nil:
			// Its process is late: what can be said without a model is said,
			// and the turn begins here too.
			asks = false
		}
		// Otherwise its process is dead, and the claim is anybody's.
	}
	a := h.settle(t, h.classify(ctx, t))
	if asks && !a.final() {
		h.bus.Release(ctx, key)
	}
	a, finished = h.runs.finish(key, known, a), true
	h.begin(t, a)
	return a, sourceOf(a)
}

// lateClaim is how long after its promise the answer of another process is
// waited for: it has to come here.
const lateClaim = 50 * time.Millisecond

// patient says whether a second caller has so much time left that a model may
// be asked once more.
func (t turn) patient() bool { return time.Until(t.req.Deadline) > secondTry }

// settle makes sure that the answer is given. When the runner has given up
// waiting, the turn has begun without a hint: a retry is classified anew.
func (h *BeforePromptBuild) settle(t turn, a answer) answer {
	if t.req.Commit() {
		return a
	}
	return answer{skip: eligibility.Deadline}
}

// Omitted implements [Omitted]: a reply has its diagnostics also when the
// handler was left out.
func (h *BeforePromptBuild) Omitted(req *Request, cause error) Result {
	skip := eligibility.ClassifyFailed
	if errors.Is(cause, ErrOverrun) {
		skip = eligibility.Deadline
	}
	h.observer.Skip(skip, time.Since(req.Received))
	return Result{Header: h.header(req, answer{skip: skip}, "")}
}

// prepare makes the classifier's input of what the request holds, and encodes
// what the turn's event will hold of it: after the deadline there is no time
// for a long history.
func (h *BeforePromptBuild) prepare(t *turn) {
	t.in = classify.Input{
		Catalog:      t.catalog,
		Conversation: conversation.History(conversation.Before(t.latest, t.event.Messages), t.set.QueryMode, t.set.Window),
		Latest:       t.latest,
		Now:          time.Now().In(t.set.Location),
		RunModel:     t.req.Context.Model(),
	}
	t.conversation = make([][]byte, len(t.in.Conversation))
	for i, turn := range t.in.Conversation {
		t.conversation[i] = turn.Append(nil)
	}
}

// slack is how long before its deadline a model is no longer waited for: what
// follows, the hint and the turn's event, takes time too, on a busy machine
// with many requests that are late together most of all.
func slack(req *Request) time.Duration {
	return max(5*time.Millisecond, req.Deadline.Sub(req.Received)/50)
}

// classify makes an answer.
func (h *BeforePromptBuild) classify(ctx context.Context, t turn) answer {
	began := time.Now()
	c, err := t.set.Classifier.Classify(ctx, t.in)
	if err != nil {
		return answer{skip: failure(err)}
	}
	h.observer.Classified(c.Source, time.Since(began))
	c.ElapsedMs = milliseconds(time.Since(t.req.Received))
	if c.Confidence < t.set.MinConfidence {
		return answer{skip: eligibility.LowConfidence, result: &c}
	}
	return answer{result: &c, hint: classify.RenderHint(c, t.catalog, t.set.Complexity)}
}

// failure is the Hint-Skip of an error of the classifier.
func failure(err error) eligibility.Skip {
	switch {
	case errors.Is(err, classify.ErrOverloaded):
		return eligibility.Overloaded
	case errors.Is(err, classify.ErrDeadline), errors.Is(err, context.DeadlineExceeded):
		return eligibility.Deadline
	default:
		return eligibility.ClassifyFailed
	}
}

// begin publishes that the turn began. What has neither a session id nor a key
// is not tracked.
func (h *BeforePromptBuild) begin(t turn, a answer) {
	session := t.req.Context.Session()
	if session == "" {
		return
	}
	ts := t.req.Envelope.TS
	if ts <= 0 {
		ts = t.req.Received.UnixMilli() // a turn begins when its hint is asked for
	}
	id := nuid.Next()
	h.bus.TurnBegun(t.agent, session, id, t.req.Traceparent, h.encode(t, a, ts, id))
}

// encode makes the message of a turn_begun, the conversation at its end. It
// leaves out the oldest of one that is too long for the server, as gateways do
// with theirs, and then the end of the prompt.
func (h *BeforePromptBuild) encode(t turn, a answer, ts int64, id string) []byte {
	begun := payload.TurnBegun{RunID: t.req.Context.RunID, Prompt: t.event.Prompt, Result: a.result, Hint: a.hint, Skip: string(a.skip)}
	body := payload.AppendTurnBegun(make([]byte, 0, 4096), subjects.HookTurnBegun, id, ts, t.req.Context, begun)
	turns, size := t.conversation, len(body)+envelopeRoom
	for _, turn := range turns {
		size += len(turn) + 1
	}
	for h.maxPayload > 0 && int64(size) > h.maxPayload {
		if len(turns) == 0 {
			begun.Prompt = cut(begun.Prompt, size-int(h.maxPayload))
			body = payload.AppendTurnBegun(body[:0], subjects.HookTurnBegun, id, ts, t.req.Context, begun)
			break
		}
		size -= len(turns[0]) + 1
		turns = turns[1:]
	}
	body = slices.Grow(bytes.TrimSuffix(body, []byte("}}")), size)
	body = append(body, `,"conversation":[`...)
	for i, turn := range turns {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, turn...)
	}
	return append(body, "]}}"...)
}

// cut shortens a text so that it takes at least so many bytes less in JSON, or
// is all but empty. Only its end is looked at: no byte takes less than one.
func cut(text string, bytes int) string {
	bytes += len(conversation.Truncated)
	from := max(0, len(text)-bytes)
	n := sort.Search(len(text)-from, func(n int) bool { return len(payload.AppendString(nil, text[from+n:]))-len(`""`) < bytes })
	return strings.ToValidUTF8(text[:from+max(n-1, 0)], "") + conversation.Truncated
}

// envelopeRoom is kept of the server's max_payload for headers, in bytes.
const envelopeRoom = 1024

// header is the diagnostics of a reply (contract §3).
func (h *BeforePromptBuild) header(req *Request, a answer, source string) map[string][]string {
	out := make(map[string][]string, 6)
	if c := a.result; c != nil {
		if a.skip == "" {
			out[subjects.HeaderIntent] = []string{c.Intent}
		}
		out[subjects.HeaderConfidence] = []string{strconv.FormatFloat(c.Confidence, 'f', 2, 64)}
		out[subjects.HeaderSource] = []string{source}
		if c.Model != "" {
			out[subjects.HeaderModel] = []string{c.Model}
		}
	}
	if a.skip != "" {
		out[subjects.HeaderSkip] = []string{string(a.skip)}
	}
	out[subjects.HeaderElapsedMs] = []string{ElapsedMs(time.Since(req.Received))}
	return out
}

// sourceOf is where a fresh answer came from.
func sourceOf(a answer) string {
	if a.result == nil {
		return ""
	}
	return a.result.Source
}

// ElapsedMs is a time as Hint-Elapsed-Ms gives it: milliseconds, 3 decimals.
func ElapsedMs(d time.Duration) string { return strconv.FormatFloat(milliseconds(d), 'f', 3, 64) }

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// logged is the debug line of a hint; the user's text stands there and nowhere
// above debug.
func logged(t turn, a answer, source string, took time.Duration) []any {
	out := []any{
		"agent", t.agent, "session", t.req.Context.Session(), "run", t.req.Context.RunID,
		"source", source, "skip", a.skip, "took", took, "prompt", t.latest,
	}
	if a.result != nil {
		out = append(out, "intent", a.result.Intent, "confidence", a.result.Confidence, "model", a.result.Model)
	}
	return out
}
