package record

import (
	"cmp"
	"slices"
	"strings"

	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/store"
)

const (
	// SeveralFailures is the number of failed tool calls that makes a turn a
	// finding: a single failure is often retried with success.
	SeveralFailures = 2
	// alike is the cosine of [local.Alike] from which unsure messages form one
	// finding. Of the validation messages of CLINC150, BANKING77 and HWU64 that it
	// put into groups of three or more, 91, 83 and 89 % had the majority intent of
	// their group.
	alike = 0.35
	// maxUnsure bounds the unsure messages that are compared: the newest ones.
	maxUnsure = 5000
	// TurnsAnIntent is the average number of classified turns per intent from
	// which an intent without any is a finding: an average intent would have none
	// by chance with probability e^-10.
	TurnsAnIntent = 10
)

// Values of [Finding.Kind].
const (
	// FoundCorrected are turns that somebody marked wrong, or whose next message
	// corrects the agent ([Corrects]).
	FoundCorrected = "corrected"
	// FoundUnsure are similar messages that got no hint: the fallback, or too
	// little confidence.
	FoundUnsure = "unsure"
	// FoundFailedTools are turns with [SeveralFailures] or more failed tool calls.
	FoundFailedTools = "failed_tools"
	// FoundUnused is an intent that was never chosen.
	FoundUnused = "unused"
)

// Finding is something that an edit of the intents may improve. Its JSON is an
// element of `consumer improve --json` (contract §10).
type Finding struct {
	Kind string `json:"kind"`
	// Intent is the chosen intent; "" for similar messages with several.
	Intent string `json:"intent,omitempty"`
	// Right is the intent that people said would have been right; "" if nobody
	// did.
	Right string `json:"right,omitempty"`
	// Turns are the turns of the finding, newest first; none for an intent that
	// was never chosen.
	Turns []FoundTurn `json:"turns"`
}

// FoundTurn is a turn of a finding.
type FoundTurn struct {
	Session string `json:"session"`
	RunID   string `json:"runId"`
	// TS is when the turn began, in Unix milliseconds.
	TS   int64  `json:"ts"`
	Text string `json:"text"`
	// Next is the message that corrected the agent; "" for none.
	Next string `json:"next,omitempty"`
}

// Improvements finds possible improvements in recorded turns. The findings do
// not depend on the order in which turns are added. Use [NewImprovements].
type Improvements struct {
	minConfidence float64
	sessions      map[string][]seen
}

// seen is the part of a turn that counts.
type seen struct {
	turn     Turn
	chosen   string // "" for a turn without an answer
	corrects bool
	failures int
}

// NewImprovements returns an empty collection. Below minConfidence no hint was
// given.
func NewImprovements(minConfidence float64) *Improvements {
	return &Improvements{minConfidence: minConfidence, sessions: map[string][]seen{}}
}

// Add adds a turn of a session.
func (f *Improvements) Add(session store.Summary, turn *store.Turn) {
	s := seen{turn: NewTurn(session, turn, f.minConfidence), corrects: Corrects(conversation.Latest(turn.UserMessage()))}
	s.turn.History = nil // not needed
	if r := turn.Intent.Result; r != nil {
		s.chosen = r.Intent
	}
	for i := range turn.ToolCalls {
		if turn.ToolCalls[i].Error != "" {
			s.failures++
		}
	}
	f.sessions[session.Token] = append(f.sessions[session.Token], s)
}

// cause is what the turns of a finding have in common.
type cause struct{ kind, intent, right string }

// Findings returns the findings, the one with the most turns first. list are
// the intents of the catalogue.
func (f *Improvements) Findings(list []intents.Intent) []Finding {
	found, used := map[cause][]FoundTurn{}, map[string]bool{}
	var unsure []Turn
	classified := 0
	for _, turns := range f.sessions {
		slices.SortFunc(turns, func(a, b seen) int { return a.turn.Compare(&b.turn) })
		for i := range turns {
			s := &turns[i]
			if s.chosen == "" {
				continue
			}
			classified++
			used[strings.ToUpper(s.chosen)] = true
			next := ""
			if i+1 < len(turns) && turns[i+1].corrects {
				next = turns[i+1].turn.Text
			}
			for _, c := range s.causes(next != "") {
				found[c] = append(found[c], foundTurn(&s.turn, next))
			}
			if s.unsure(f.minConfidence) {
				unsure = append(unsure, s.turn)
			}
		}
	}
	out := again(unsure)
	for c, turns := range found {
		slices.SortFunc(turns, func(a, b FoundTurn) int { return cmp.Or(cmp.Compare(b.TS, a.TS), strings.Compare(a.RunID, b.RunID)) })
		out = append(out, Finding{Kind: c.kind, Intent: c.intent, Right: c.right, Turns: turns})
	}
	if classified >= TurnsAnIntent*len(list) {
		for _, in := range list {
			if !used[strings.ToUpper(in.ID)] {
				out = append(out, Finding{Kind: FoundUnused, Intent: in.ID, Turns: []FoundTurn{}})
			}
		}
	}
	slices.SortFunc(out, Finding.compare)
	return out
}

// compare orders findings: more turns first.
func (f Finding) compare(other Finding) int {
	first := func(f Finding) string {
		if len(f.Turns) == 0 {
			return ""
		}
		return f.Turns[0].RunID
	}
	return cmp.Or(cmp.Compare(len(other.Turns), len(f.Turns)), strings.Compare(f.Kind, other.Kind), strings.Compare(f.Intent, other.Intent),
		strings.Compare(f.Right, other.Right), strings.Compare(first(f), first(other)))
}

func foundTurn(t *Turn, next string) FoundTurn {
	return FoundTurn{Session: t.Session, RunID: t.RunID, TS: t.TS, Text: t.Text, Next: next}
}

// causes returns the causes of a turn. corrected reports whether the next
// message corrects the agent.
func (s *seen) causes(corrected bool) (out []cause) {
	right := ""
	if f := s.turn.Feedback; f != nil {
		corrected = f.Verdict == payload.VerdictWrong // a person knows better than a pattern
		right = f.Named()
	}
	if corrected {
		out = append(out, cause{FoundCorrected, s.chosen, right})
	}
	if s.failures >= SeveralFailures {
		out = append(out, cause{FoundFailedTools, s.chosen, ""})
	}
	return out
}

// unsure reports whether a message got no hint, and nobody has judged that.
func (s *seen) unsure(minConfidence float64) bool {
	then, _ := s.turn.Then(minConfidence)
	return s.turn.Feedback == nil && s.turn.Text != "" && then.Intent == intents.FallbackID
}

// again returns groups of similar messages that came more than once.
func again(unsure []Turn) (out []Finding) {
	slices.SortFunc(unsure, func(a, b Turn) int { return b.Compare(&a) })
	unsure = unsure[:min(len(unsure), maxUnsure)]
	texts := make([]string, len(unsure))
	for i := range unsure {
		texts[i] = unsure[i].Text
	}
	for _, group := range local.Alike(texts, alike) {
		if len(group) < 2 {
			continue
		}
		f := Finding{Kind: FoundUnsure, Intent: unsure[group[0]].chosen()}
		for _, i := range group {
			if unsure[i].chosen() != f.Intent {
				f.Intent = ""
			}
			f.Turns = append(f.Turns, foundTurn(&unsure[i], ""))
		}
		out = append(out, f)
	}
	return out
}

// chosen returns the classifier's choice, regardless of feedback.
func (t *Turn) chosen() string { return cmp.Or(t.Answered, t.Intent) }
