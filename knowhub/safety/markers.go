package safety

import (
	"slices"
	"strings"
	"unicode"

	"intenthint/internal/text/fold"
)

// own are the separators around blocks of this system and of gateways. These and
// the following are compared ignoring white space and case.
var own = []string{
	"relevant-experiences>", "skipped-messages>", "knowhub-reminder>", "intention_hint_plugin>", "active_memory_plugin>",
	"untrustedcontext(metadata", "⟦openclaw:ctx⟧",
}

// literals are separators of the parts of a prompt, in the forms that chat
// templates and agents use.
var literals = []string{
	// Chat templates.
	"<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|endofprompt|>",
	"<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>",
	"<start_of_turn>", "<end_of_turn>", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "[system_prompt]", "[system]:", "[system]the", "[system]you", "[system]ignore", "[system]new", "[system]override",
	// Tags that agents put around parts of a prompt.
	"<system>", "</system>", "<system-reminder>", "</system-reminder>", "<system_prompt>", "</system_prompt>", "<system-prompt>",
	"</instructions>", "<instructions>", "</untrusted", "</user>", "<assistant>", "</assistant>", "</user_input>", "</context>", "</conversation>", "</latest>", "<developer>", "</developer>", "</user_data>", "<user_data>",
	"<tool_call>", "<tool_use>", "<function_call", "<invokename=", "<tool_result>", "</tool_result>",
	`"role":"system","content":`, "###system:", "###instruction:", "###instructions:", "###newinstruction",
	"beginsystem", "endofsystemprompt", "endofuserinput", "endofuntrusted", "enduserinput", "beginnewinstruction",
}

// roles are the beginnings of lines that imitate a message of that role.
var roles = []string{"[system]", "[system", "[assistant]", "[developer]", "system:you", "system:the", "system:ignore", "system:new", "system:override", "assistant:sure", "newinstructions:", "newinstruction:", "newsystemprompt:"}

// A marker tells which kind of prompt marker a text contains.
type marker int

const (
	noMarker marker = iota
	// anyMarker counts unless the model finds an attack quite unlikely: people who
	// work on models write about chat templates.
	anyMarker
	// ownMarker always counts.
	ownMarker
)

// counts reports whether the marker counts in a text with these odds.
func (k marker) counts(odds float64) bool { return k == ownMarker || k == anyMarker && odds > doubt }

// markerIn returns the kind of prompt marker that s contains.
func markerIn(s string) marker {
	if !strings.ContainsAny(s, "<>[]|#:＜＞［］⟦｜﹤﹥：﹕＃﹟") && !strings.Contains(s, "---") {
		return noMarker
	}
	compact, lines := squeeze(s)
	within := func(m string) bool { return strings.Contains(compact, m) }
	switch {
	case slices.ContainsFunc(own, within):
		return ownMarker
	case slices.ContainsFunc(literals, within):
		return anyMarker
	}
	for _, at := range lines {
		for _, m := range roles {
			if strings.HasPrefix(compact[at:], m) && len(compact) > at+len(m) {
				return anyMarker
			}
		}
	}
	return noMarker
}

// squeeze returns s in NFKD without white space, invisible characters and case,
// and where its lines begin.
func squeeze(s string) (compact string, lines []int) {
	var b strings.Builder
	b.Grow(len(s))
	begins := true
	for _, r := range fold.NFKD(s) {
		switch {
		case r == '\n':
			begins = true
		case unicode.IsSpace(r), hidden(r):
		default:
			if begins {
				lines = append(lines, b.Len())
				begins = false
			}
			if to, ok := fold.LookAlike(r); ok {
				r = to
			}
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String(), lines
}
