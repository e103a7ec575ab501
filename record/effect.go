package record

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"intenthint/conversation"
	"intenthint/payload"
	"intenthint/store"
)

// Effect compares the sessions that were held out (HINT_HOLDOUT) with the others.
// The report does not depend on the order in which turns are added. Use
// [NewEffect].
type Effect struct {
	options  EffectOptions
	sessions map[string][]observed
}

// EffectOptions choose the sessions. The zero value takes all.
type EffectOptions struct {
	// Since is the earliest beginning of a session: otherwise hints from before
	// would have an effect.
	Since time.Time
	// Prices are those of the agents' models (HINT_PRICES).
	Prices Prices
	// Rounds is how often the sessions are resampled; 0 means [Rounds].
	Rounds int
}

// observed is the part of a turn that counts.
type observed struct {
	key        store.Key
	side       *bool // held out or not, nil if not recorded
	classified bool
	// counts reports whether the turn had a hint, or would have had one.
	counts bool
	intent string
	// corrects reports whether the message corrects the turn before.
	corrects, wrong           bool
	toolCalls, failed, tookMs float64
	ended                     bool
	agent                     agentTurn
}

// NewEffect returns an empty comparison.
func NewEffect(o EffectOptions) *Effect {
	o.Rounds = cmp.Or(o.Rounds, Rounds)
	return &Effect{options: o, sessions: map[string][]observed{}}
}

// skipHoldout is the Hint-Skip of a turn whose session is held out.
const skipHoldout = "holdout"

// Add adds a turn of a session.
func (e *Effect) Add(session store.Summary, turn *store.Turn) {
	o := observed{
		key: turn.Begin, side: turn.Intent.HeldOut, classified: turn.Intent.Result != nil,
		wrong:     turn.Feedback != nil && turn.Feedback.Verdict == payload.VerdictWrong,
		toolCalls: float64(len(turn.ToolCalls)), agent: e.options.Prices.agentUse(turn),
	}
	for i := range turn.ToolCalls {
		if turn.ToolCalls[i].Error != "" {
			o.failed++
		}
	}
	if ms, ok := took(turn); ok {
		o.tookMs, o.ended = float64(ms), true
	}
	if r := turn.Intent.Result; r != nil {
		o.intent = r.Intent
		skip := turn.Intent.Skip
		o.counts = o.side != nil && (skip == "" || skip == skipUnchanged || skip == skipHoldout)
	}
	if o.side != nil || !o.classified { // otherwise the session does not count
		o.corrects = Corrects(conversation.Latest(turn.UserMessage()))
	}
	e.sessions[session.Token] = append(e.sessions[session.Token], o)
}

// EffectReport is the effect of hints, in the JSON shape of `consumer stats
// --effect --json` (contract §10).
type EffectReport struct {
	// Since is the earliest beginning of the sessions; nil without a limit.
	Since *time.Time `json:"since,omitempty"`
	// MinSessions is the least number of sessions on either side for an interval.
	MinSessions int `json:"minSessions"`
	// Mixed counts sessions left out because the share changed while they went on.
	// Outside counts sessions from a time without a holdout.
	Mixed   int `json:"mixed"`
	Outside int `json:"outside"`
	// Total has no name.
	Total Comparison `json:"total"`
	// Intents are grouped by the classifier's choice, the one with the most turns
	// first.
	Intents []Comparison `json:"intents"`
}

// Comparison compares the turns with one name in which a hint was given or
// already known, or would have been. All differences are of means per turn.
type Comparison struct {
	Name    string `json:"name"`
	Hinted  Side   `json:"hinted"`
	HeldOut Side   `json:"heldOut"`
	// ToolErrors are failed tool calls.
	ToolErrors Contrast `json:"toolErrors"`
	ToolCalls  Contrast `json:"toolCalls"`
	// Corrections are turns that a person marked wrong, or corrected in the next
	// message ([Corrects]).
	Corrections Contrast `json:"corrections"`
	// DurationMs is the time from start to end of the turns that ended.
	DurationMs Contrast `json:"durationMs"`
	// Agent is what the agent asked of its own model.
	Agent AgentComparison `json:"agent"`
}

// AgentComparison compares what agents asked of their own models, of the turns of
// which gateways tell it (usage: true).
type AgentComparison struct {
	// ModelCalls are the calls that have ended, of turns with any.
	ModelCalls Contrast `json:"modelCalls"`
	// InputTokens are all tokens of the input, CachedTokens those of them that were
	// read from the provider's cache.
	InputTokens  Contrast `json:"inputTokens"`
	CachedTokens Contrast `json:"cachedTokens"`
	OutputTokens Contrast `json:"outputTokens"`
	// Cost is by HINT_PRICES, of turns whose models all have a price.
	Cost Contrast `json:"cost"`
}

// Side is a side of a comparison.
type Side struct {
	Sessions int `json:"sessions"`
	Turns    int `json:"turns"`
}

// Report compares the turns added so far.
func (e *Effect) Report() EffectReport {
	out := EffectReport{MinSessions: MinSessions, Intents: []Comparison{}}
	if !e.options.Since.IsZero() {
		out.Since = &e.options.Since
	}
	total, intents := &groups{}, map[string]*groups{}
	names := make([]string, 0, len(e.sessions))
	for name := range e.sessions {
		names = append(names, name)
	}
	slices.Sort(names) // draws depend on the order
	for _, name := range names {
		turns := e.sessions[name]
		slices.SortFunc(turns, func(a, b observed) int { return a.key.Compare(b.key) })
		if turns[0].key.TS < e.options.Since.UnixMilli() && !e.options.Since.IsZero() {
			continue
		}
		side, mixed := sideOf(turns)
		switch {
		case mixed:
			out.Mixed++
		case side == nil:
			out.Outside++
		default:
			split(turns, *side, total, intents)
		}
	}
	out.Total = total.compare("", e.options.Rounds)
	for name, g := range intents {
		out.Intents = append(out.Intents, g.compare(name, e.options.Rounds))
	}
	turnsOf := func(c Comparison) int { return c.Hinted.Turns + c.HeldOut.Turns }
	slices.SortFunc(out.Intents, func(a, b Comparison) int {
		return cmp.Or(cmp.Compare(turnsOf(b), turnsOf(a)), strings.Compare(a.Name, b.Name))
	})
	return out
}

// sideOf returns whether a session was held out, nil if that was not recorded.
// mixed reports whether it was held out for a part of its turns only, or had
// turns before the holdout began.
func sideOf(turns []observed) (side *bool, mixed bool) {
	before := false
	for i := range turns {
		t := &turns[i]
		switch {
		case t.side == nil:
			before = before || t.classified
		case side == nil:
			side = t.side
		case *side != *t.side:
			return side, true
		}
	}
	return side, side != nil && before
}

// groups are the samples of both sides.
type groups struct{ hinted, heldOut group }

// group are the samples of one side, by outcome.
type group struct {
	turns                                           int
	toolErrors, toolCalls, corrections, durationsMs []sample
	modelCalls, input, cached, output, costs        []sample
}

// split adds a session to the groups: all its turns, and the turns of each
// intent.
func split(turns []observed, heldOut bool, total *groups, intents map[string]*groups) {
	var all tallied
	byIntent := map[string]*tallied{}
	for i := range turns {
		t := &turns[i]
		if !t.counts {
			continue
		}
		corrected := t.wrong || i+1 < len(turns) && turns[i+1].corrects
		if byIntent[t.intent] == nil {
			byIntent[t.intent] = &tallied{}
		}
		all.add(t, corrected)
		byIntent[t.intent].add(t, corrected)
	}
	total.side(heldOut).add(&all)
	for name, sums := range byIntent {
		if intents[name] == nil {
			intents[name] = &groups{}
		}
		intents[name].side(heldOut).add(sums)
	}
}

func (g *groups) side(heldOut bool) *group {
	if heldOut {
		return &g.heldOut
	}
	return &g.hinted
}

// tallied are a session's sums.
type tallied struct {
	turns, ended                               float64
	toolErrors, toolCalls, corrections, tookMs float64
	// called, told and priced count turns whose calls, tokens and cost are known.
	called, told, priced                    float64
	modelCalls, input, cached, output, cost float64
}

func (s *tallied) add(t *observed, corrected bool) {
	s.turns++
	s.toolErrors += t.failed
	s.toolCalls += t.toolCalls
	if corrected {
		s.corrections++
	}
	if t.ended {
		s.ended++
		s.tookMs += t.tookMs
	}
	s.use(&t.agent)
}

func (s *tallied) use(a *agentTurn) {
	if a.calls > 0 {
		s.called++
		s.modelCalls += float64(a.calls)
	}
	if !a.told {
		return
	}
	s.told++
	s.input += float64(a.Input + a.CacheRead + a.CacheWrite)
	s.cached += float64(a.CacheRead)
	s.output += float64(a.Output)
	if a.priced {
		s.priced++
		s.cost += float64(a.cost) / billion
	}
}

func (g *group) add(s *tallied) {
	if s.turns == 0 {
		return
	}
	g.turns += int(s.turns)
	g.toolErrors = append(g.toolErrors, sample{s.toolErrors, s.turns})
	g.toolCalls = append(g.toolCalls, sample{s.toolCalls, s.turns})
	g.corrections = append(g.corrections, sample{s.corrections, s.turns})
	if s.ended > 0 {
		g.durationsMs = append(g.durationsMs, sample{s.tookMs, s.ended})
	}
	if s.called > 0 {
		g.modelCalls = append(g.modelCalls, sample{s.modelCalls, s.called})
	}
	if s.told > 0 {
		g.input = append(g.input, sample{s.input, s.told})
		g.cached = append(g.cached, sample{s.cached, s.told})
		g.output = append(g.output, sample{s.output, s.told})
	}
	if s.priced > 0 {
		g.costs = append(g.costs, sample{s.cost, s.priced})
	}
}

func (g *groups) compare(name string, rounds int) Comparison {
	a, b := &g.hinted, &g.heldOut
	return Comparison{
		Name:        name,
		Hinted:      Side{len(a.toolCalls), a.turns},
		HeldOut:     Side{len(b.toolCalls), b.turns},
		ToolErrors:  differ(a.toolErrors, b.toolErrors, rounds),
		ToolCalls:   differ(a.toolCalls, b.toolCalls, rounds),
		Corrections: differ(a.corrections, b.corrections, rounds),
		DurationMs:  differ(a.durationsMs, b.durationsMs, rounds),
		Agent: AgentComparison{
			ModelCalls:   differ(a.modelCalls, b.modelCalls, rounds),
			InputTokens:  differ(a.input, b.input, rounds),
			CachedTokens: differ(a.cached, b.cached, rounds),
			OutputTokens: differ(a.output, b.output, rounds),
			Cost:         differ(a.costs, b.costs, rounds),
		},
	}
}
