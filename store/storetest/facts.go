package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"intenthint/payload"
	"intenthint/store"
)

// Facts returns n random facts of one session, of the given number of runs,
// within span milliseconds: with retries, late begins, facts without a run id
// and runs that never begin.
func Facts(r *rand.Rand, session string, n, runs int, span int64) []store.Fact {
	facts := make([]store.Fact, 0, n)
	for i := range n {
		f := store.Fact{ID: fmt.Sprintf("e%03d-%d", r.IntN(1000), i), TS: start + r.Int64N(span), SessionID: session}
		if r.IntN(3) > 0 {
			f.RunID = fmt.Sprintf("r%d", r.IntN(runs))
		}
		switch r.IntN(9) {
		case 0, 1, 2:
			// Incompressible text.
			f.Begin = &store.Begin{Input: fmt.Sprintf("input %s %016x%016x%016x", f.ID, r.Uint64(), r.Uint64(), r.Uint64())}
			f.SessionKey, f.AgentID = "agent:main:"+f.ID, "main"
			if r.IntN(2) == 0 {
				f.Begin.Result = &payload.Classification{Intent: "I_" + f.ID, Confidence: 0.5, Complexity: "low", Source: payload.SourceLocal}
			}
		case 3, 4:
			f.Call = &store.Call{ToolCallID: "c" + f.ID, Name: "read", Params: json.RawMessage(`{"path":"a"}`), Result: "ok", DurationMs: 1}
			if r.IntN(3) == 0 {
				f.Call.Skill = &store.Skill{Name: fmt.Sprintf("skill%d", r.IntN(2)), Path: f.ID}
			}
		case 5:
			f.End = &store.End{Result: "result " + f.ID}
		case 6:
			f.Close = &store.Close{Reason: "reason " + f.ID}
		case 7:
			f.Feedback = &store.Feedback{Verdict: payload.VerdictWrong, Intent: "J_" + f.ID, By: "ada"}
		case 8:
			f.Use = &payload.AgentUse{Model: "p/" + f.ID, Calls: 1, Tokens: &payload.AgentTokens{Input: 7, Output: 3}}
		}
		facts = append(facts, f)
	}
	return facts
}
