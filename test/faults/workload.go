package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Workload makes random sessions: the same seed and number make the same
// session.
type Workload struct {
	Seed uint64
	// Name is the prefix of its session ids.
	Name string
	// Turns and Calls are the maximum of turns in a session and of tool calls in
	// a turn.
	Turns, Calls int
	// Start is the time at which the gateways' clocks begin, in Unix
	// milliseconds.
	Start int64
}

// Step is an action of a gateway: a request or an event.
type Step struct {
	Ask   *Ask
	Event *Event
	// NoID leaves out the header that the server deduplicates by, as if the
	// event came again after the deduplication window.
	NoID bool
}

// Session returns the steps of a session in the order in which its gateway
// takes them. Events come before and after their turns begin, not in the order
// of their times, and some twice. Clocks jump in both directions. Some runs never
// become turns.
func (w Workload) Session(n int) []Step {
	s := script{
		Workload: w,
		rand:     rand.New(rand.NewPCG(w.Seed, uint64(n))),
		id:       fmt.Sprintf("%s-%d", w.Name, n),
		clock:    w.Start,
		taken:    map[int64]bool{},
	}
	for turn := range 1 + s.rand.IntN(max(w.Turns, 1)) {
		s.turn(turn)
	}
	slices.SortStableFunc(s.steps, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	out := make([]Step, len(s.steps))
	for i, p := range s.steps {
		out[i] = p.Step
	}
	return out
}

// script is a session in the making.
type script struct {
	Workload
	rand  *rand.Rand
	id    string
	clock int64
	// taken are the seconds in which a turn begins or a session ends: one each.
	taken map[int64]bool
	steps []placed
}

// placed is a step with its position.
type placed struct {
	Step
	at int
}

func (s *script) turn(n int) {
	s.tick()
	run := fmt.Sprintf("%s-r%d", s.id, n)
	start := s.clock
	s.add(Step{Ask: &Ask{Session: s.id, Run: run, Prompt: fmt.Sprintf("Please read note %d and tell me what it says.", n), TS: start}}, 0)
	for c := range s.rand.IntN(s.Calls + 1) {
		id := fmt.Sprintf("%s-c%d", run, c)
		// Each pair of calls has the same ts: their ids order them.
		e := Event{ID: "tool-" + id, Hook: ToolCall, Session: s.id, Run: run, TS: start + 10*int64(c/2+1), Call: id, Text: "result of " + id, Failed: s.chance(8)}
		if s.chance(10) {
			e.Run = "" // old gateways do not send the run
		}
		s.publish(e)
	}
	ends := 1
	switch {
	case s.chance(10):
		ends = 0 // the gateway died
	case s.chance(6):
		ends = 2
	}
	for attempt := range ends {
		s.clock = start + 10_000*int64(attempt+1)
		if attempt > 0 {
			s.add(Step{Ask: &Ask{Session: s.id, Run: run, Prompt: Continue, TS: s.clock - 5000}}, 0)
		}
		s.publish(Event{
			ID: fmt.Sprintf("end-%s-%d", run, attempt), Hook: AgentEnd, Session: s.id, Run: run, TS: s.clock,
			Text: fmt.Sprintf("answer %d of %s", attempt, run), Failed: attempt+1 < ends,
		})
	}
	if s.chance(8) {
		// A run that never becomes a turn, such as a cron job.
		cron := fmt.Sprintf("%s-cron%d", s.id, n)
		s.publish(Event{ID: "tool-" + cron, Hook: ToolCall, Session: s.id, Run: cron, TS: s.clock, Call: cron, Text: "result of " + cron})
	}
	if s.chance(6) {
		s.tick()
		s.publish(Event{ID: fmt.Sprintf("close-%s-%d", s.id, n), Hook: SessionEnd, Session: s.id, TS: s.clock, Text: "reset"})
	}
}

// Continue is the prompt with which a gateway asks again for a run.
const Continue = "Continue the current task where you left off."

// tick moves the gateway's clock to a second that is not taken.
func (s *script) tick() {
	s.clock += 60_000 + s.rand.Int64N(60_000)
	if s.chance(8) {
		s.clock += s.rand.Int64N(12*3_600_000) - 6*3_600_000 // the clock jumps
	}
	for s.taken[s.clock/1000] {
		s.clock += 1000
	}
	s.taken[s.clock/1000] = true
}

func (s *script) publish(e Event) {
	jitter := 0
	if s.chance(5) {
		jitter = s.rand.IntN(17) - 8
	}
	s.add(Step{Event: &e}, jitter)
	if s.chance(8) {
		s.add(Step{Event: &e, NoID: s.chance(2)}, s.rand.IntN(40))
	}
}

func (s *script) add(step Step, jitter int) {
	s.steps = append(s.steps, placed{step, len(s.steps) + jitter})
}

// chance returns true once in n calls on average.
func (s *script) chance(n int) bool { return s.rand.IntN(n) == 0 }
