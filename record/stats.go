package record

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"intenthint/intents"
	"intenthint/payload"
	"intenthint/store"
)

// Stats counts recorded turns. The report does not depend on the order in which
// they are added. Use [NewStats].
type Stats struct {
	options StatsOptions
	total   *tally
	// by name
	intents, sources, agents, days map[string]*tally
	skills                         map[string]*SkillCount
	sample                         dailySample
}

// StatsOptions configure [Stats].
type StatsOptions struct {
	// MinConfidence is the confidence below which no hint is given
	// (HINT_MIN_CONFIDENCE).
	MinConfidence float64
	// Location is the time zone of days; nil means UTC.
	Location *time.Location
	// Prices are those of the agents' models (HINT_PRICES).
	Prices Prices
}

// NewStats returns empty statistics.
func NewStats(o StatsOptions) *Stats {
	if o.Location == nil {
		o.Location = time.UTC
	}
	return &Stats{
		options: o, total: newTally(),
		intents: map[string]*tally{}, sources: map[string]*tally{}, agents: map[string]*tally{}, days: map[string]*tally{},
		skills: map[string]*SkillCount{}, sample: dailySample{map[string][]sampled{}},
	}
}

// Add counts a turn of a session. A turn that is added twice counts twice.
func (s *Stats) Add(session store.Summary, turn *store.Turn) {
	var intent, source string
	if r := turn.Intent.Result; r != nil {
		intent, source = r.Intent, r.Source
	}
	used := s.options.Prices.agentUse(turn)
	day := dayOf(turn.Begin.TS, s.options.Location)
	for _, t := range []*tally{s.total, of(s.intents, intent), of(s.sources, source), of(s.agents, session.AgentID), of(s.days, day)} {
		t.add(session.Token, turn, s.options.MinConfidence)
		t.cost += t.Agent.add(used)
	}
	s.addSkills(turn)
	s.sample.add(day, session, turn)
}

// addSkills counts the skills of a turn, each once.
func (s *Stats) addSkills(turn *store.Turn) {
	skill := func(name string) *SkillCount {
		if s.skills[name] == nil {
			s.skills[name] = &SkillCount{Name: name}
		}
		return s.skills[name]
	}
	for _, h := range turn.SkillsHinted {
		count := skill(h.Name)
		count.Hinted++
		if h.Used {
			count.Used++
		}
	}
	for _, read := range turn.SkillsUsed {
		skill(read.Name).Read++
	}
}

func of(group map[string]*tally, name string) *tally {
	if group[name] == nil {
		group[name] = newTally()
	}
	return group[name]
}

// StatsReport is the result, in the JSON shape of `consumer stats --json`
// (contract §10).
type StatsReport struct {
	// Since is the earliest beginning of the turns; nil without a limit. The
	// caller sets it.
	Since *time.Time `json:"since,omitempty"`
	// MinConfidence is the threshold of Low.
	MinConfidence float64 `json:"minConfidence"`
	// Total has no name.
	Total Tally `json:"total"`
	// Intents are grouped by the classifier's choice, even without a hint; Sources
	// by Hint-Source. Turns without a classification are under "". The name with
	// the most turns is first.
	Intents []Tally `json:"intents"`
	Sources []Tally `json:"sources"`
	Agents  []Tally `json:"agents"`
	// Days are named like 2026-11-22, the earliest first.
	Days []Tally `json:"days"`
	// Skills are grouped by name, the one with the most reads first.
	Skills []SkillCount `json:"skills"`
	// Sample is of the random turns that consumer sample draws.
	Sample SampleReport `json:"sample"`
}

// Tally counts the turns of a name.
type Tally struct {
	Name     string `json:"name"`
	Turns    int    `json:"turns"`
	Sessions int    `json:"sessions"`
	// Share is the share of all turns, 0–1.
	Share float64 `json:"share"`
	// Classified counts turns with a classification; Confidence is their mean
	// confidence, nil if there are none.
	Classified int      `json:"classified"`
	Confidence *float64 `json:"confidence"`
	// Low counts classified turns below MinConfidence.
	Low int `json:"low"`
	// Other counts turns classified as the fallback, OtherShare is their share of
	// the classified turns, 0–1.
	Other      int     `json:"other"`
	OtherShare float64 `json:"otherShare"`
	// Unchanged counts turns whose session already knew the hint (contract §6).
	Unchanged int `json:"unchanged"`
	// HeldOut counts turns of held-out sessions (HINT_HOLDOUT).
	HeldOut int `json:"heldOut"`
	// Late counts turns whose hint came too late for the gateway.
	Late int `json:"late"`
	// Right and Corrected count turns that people marked right and wrong.
	Right     int `json:"right"`
	Corrected int `json:"corrected"`
	// Errors counts turns that ended in an error.
	Errors          int `json:"errors"`
	ToolCalls       int `json:"toolCalls"`
	FailedToolCalls int `json:"failedToolCalls"`
	// Duration is the time from start to end.
	Duration Duration `json:"duration"`
	// ModelCalls counts model calls for hints: of language models, for the intent
	// and for the hint's text, and of a provider's embedding model.
	// FailedModelCalls counts those without a usable answer in time. Tokens are
	// the tokens of all calls, as far as known when the turn was answered. Turns
	// recorded before this existed have only those of the answer.
	ModelCalls       int            `json:"modelCalls"`
	FailedModelCalls int            `json:"failedModelCalls"`
	Tokens           payload.Tokens `json:"tokens"`
	// Agent is what the agents asked of their own models.
	Agent AgentCost `json:"agent"`
	// SkillsHinted counts the skills that hints named, SkillsUsed those of them
	// that their turns read, SkillsRead all skills read.
	SkillsHinted int `json:"skillsHinted"`
	SkillsUsed   int `json:"skillsUsed"`
	SkillsRead   int `json:"skillsRead"`
}

// Duration is how long turns took, in milliseconds; 0 if none has ended.
type Duration struct {
	// Turns counts the turns that ended.
	Turns    int   `json:"turns"`
	MedianMs int64 `json:"medianMs"`
	P95Ms    int64 `json:"p95Ms"`
	MeanMs   int64 `json:"meanMs"`
}

// SkillCount counts the turns of a skill.
type SkillCount struct {
	Name string `json:"name"`
	// Hinted counts turns whose hint named the skill, Used those of them that read
	// it, Read all turns that read it.
	Hinted int `json:"hinted"`
	Used   int `json:"used"`
	Read   int `json:"read"`
}

// Report returns the result for the turns added so far.
func (s *Stats) Report() StatsReport {
	byTurns := func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Turns, a.Turns), strings.Compare(a.Name, b.Name))
	}
	out := StatsReport{
		MinConfidence: s.options.MinConfidence,
		Total:         s.total.report("", s.total.Turns),
		Intents:       s.list(s.intents, byTurns),
		Sources:       s.list(s.sources, byTurns),
		Agents:        s.list(s.agents, byTurns),
		Days:          s.list(s.days, func(a, b Tally) int { return strings.Compare(a.Name, b.Name) }),
		Skills:        []SkillCount{},
		Sample:        s.sample.report(),
	}
	for _, count := range s.skills {
		out.Skills = append(out.Skills, *count)
	}
	slices.SortFunc(out.Skills, func(a, b SkillCount) int {
		return cmp.Or(cmp.Compare(b.Read, a.Read), cmp.Compare(b.Hinted, a.Hinted), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (s *Stats) list(group map[string]*tally, order func(a, b Tally) int) []Tally {
	out := make([]Tally, 0, len(group))
	for name, t := range group {
		out = append(out, t.report(name, s.total.Turns))
	}
	slices.SortFunc(out, order)
	return out
}

// tally is a Tally that turns can be added to.
type tally struct {
	Tally
	sessions map[string]struct{}
	// confidence is a sum in billionths: a sum of floating-point numbers would
	// depend on the order.
	confidence int64
	durations  []int64 // in milliseconds
	cost       int64   // of the agents' models, in billionths
}

const billion = 1_000_000_000 // the unit of [tally.confidence] and of costs

// skipUnchanged is the Hint-Skip of a turn whose session already knows the
// hint.
const skipUnchanged = "unchanged"

func newTally() *tally { return &tally{sessions: map[string]struct{}{}} }

func (t *tally) add(session string, turn *store.Turn, minConfidence float64) {
	t.Turns++
	t.sessions[session] = struct{}{}
	if r := turn.Intent.Result; r != nil {
		t.classified(r, minConfidence)
	}
	asked := turn.Asked()
	t.ModelCalls += asked.Calls
	t.FailedModelCalls += asked.Failed
	t.Tokens.In += asked.In
	t.Tokens.Out += asked.Out
	switch turn.Intent.Skip {
	case skipUnchanged:
		t.Unchanged++
	case store.SkipLate:
		t.Late++
	}
	if held := turn.Intent.HeldOut; held != nil && *held {
		t.HeldOut++
	}
	if f := turn.Feedback; f != nil && f.Verdict == payload.VerdictRight {
		t.Right++
	} else if f != nil && f.Verdict == payload.VerdictWrong {
		t.Corrected++
	}
	if turn.Error != "" {
		t.Errors++
	}
	t.ToolCalls += len(turn.ToolCalls)
	for i := range turn.ToolCalls {
		if turn.ToolCalls[i].Error != "" {
			t.FailedToolCalls++
		}
	}
	if ms, ok := took(turn); ok {
		t.durations = append(t.durations, ms)
	}
	t.SkillsHinted += len(turn.SkillsHinted)
	for _, h := range turn.SkillsHinted {
		if h.Used {
			t.SkillsUsed++
		}
	}
	t.SkillsRead += len(turn.SkillsUsed)
}

func (t *tally) classified(r *payload.Classification, minConfidence float64) {
	t.Classified++
	t.confidence += int64(math.Round(r.Confidence * billion))
	if r.Confidence < minConfidence {
		t.Low++
	}
	if r.Intent == intents.FallbackID {
		t.Other++
	}
}

// took returns how long a turn took in milliseconds; ok is false for a turn
// that has not ended, or that ended before its start by the gateway's clock.
func took(turn *store.Turn) (int64, bool) {
	if turn.End == nil || turn.End.TS < turn.Begin.TS {
		return 0, false
	}
	return turn.End.TS - turn.Begin.TS, true
}

func (t *tally) report(name string, all int) Tally {
	out := t.Tally
	out.Name, out.Sessions, out.Share = name, len(t.sessions), share(t.Turns, all)
	out.OtherShare = share(t.Other, t.Classified)
	if t.Classified > 0 {
		out.Confidence = new(float64(t.confidence) / billion / float64(t.Classified))
	}
	out.Duration = durationOf(t.durations)
	out.Agent.Cost = float64(t.cost) / billion
	return out
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func durationOf(ms []int64) Duration {
	if len(ms) == 0 {
		return Duration{}
	}
	sorted := slices.Sorted(slices.Values(ms))
	// rank returns the smallest value that the given percentage of values do not
	// exceed.
	rank := func(percent int) int64 { return sorted[(len(sorted)*percent+99)/100-1] }
	var sum int64
	for _, v := range sorted {
		sum += v
	}
	return Duration{Turns: len(sorted), MedianMs: rank(50), P95Ms: rank(95), MeanMs: sum / int64(len(sorted))}
}
