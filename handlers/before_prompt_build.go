package handlers

import (
	"intenthint/hint"
	"intenthint/internal/hook"
	"intenthint/subjects"
)

// BeforePromptBuild lists the handlers that contribute to the front of the
// agent's prompt.
func BeforePromptBuild(h *hint.Hinter) hook.Hook {
	return hook.Hook{
		Name:     subjects.HookBeforePromptBuild,
		Handlers: []hook.Handler{h.Handler()},
		Unasked:  h.Unasked,
	}
}
