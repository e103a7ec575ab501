package handlers

import (
	"intenthint/internal/bus"
	"intenthint/internal/hook"
	"intenthint/subjects"
	"intenthint/triage"
)

// dispatchBound is for decisions that mostly wait for a model: a message takes
// seconds but hardly any CPU time.
var dispatchBound = bus.Bound{Requests: 2048, Bytes: 64 << 20, PerCaller: 512, PerCallerBytes: 16 << 20}

// BeforeDispatch lists the handlers that decide whether a message of a group is
// answered.
func BeforeDispatch(g *triage.Gate) hook.Hook {
	return hook.Hook{
		Name:     subjects.HookBeforeDispatch,
		Handlers: []hook.Handler{g.Handler()},
		Bound:    dispatchBound,
		Unasked:  g.Unasked,
	}
}
