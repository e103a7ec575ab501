package safety

// The names that [Marks] returns.
const (
	Override     = "override"     // earlier instructions are to be ignored
	Role         = "role"         // the model is to be somebody else, or without rules
	Exfiltration = "exfiltration" // prompts or secrets are to be shown or sent
	Tools        = "tools"        // commands for the model that reads the text
	Markers      = "markers"      // tags and markers of prompts
	Hide         = "hide"         // something is to be kept from the user
	Encoded      = "encoded"      // one of these, encoded or in invisible characters
	Learnt       = "learnt"       // the model's verdict, see model.go
	Oversize     = "oversize"     // too long to be read as a whole
)

// A rule names concepts that occur together in a sentence, in any order: one of
// each set.
type rule struct {
	mark   string
	all    []set
	within int32 // from the first to the last of them, in letters
	unless set   // exceptions: with one of these among or after them, something else is meant
}

// behind is how far after the others, in letters, a word of unless may begin:
// instructions in the README.
const behind = 10

var rules = []rule{
	{Override, sets(drop, all, prior, orders|limits|commands|system|told), 140, 0},
	{Override, sets(drop, prior, orders|limits|commands|system|told), 110, technical},
	{Override, sets(drop, all, orders|system), 60, technical},
	{Override, sets(drop, yours, orders|limits|commands|system|told), 70, technical},
	{Override, sets(void|bypass, yours, orders|limits|system), 40, technical},
	{Override, sets(drop|void|bypass, all, told), 120, technical},
	{Override, sets(drop|void|bypass, prior, told), 120, technical},
	{Override, sets(drop, system), 40, technical},
	{Override, sets(bypass, all, limits), 40, technical},
	{Override, sets(blank), 0, 0},
	{Override, sets(void, prior, orders), 90, technical},
	{Override, sets(fresh, yours, orders|system), 50, technical},
	{Override, sets(fresh, orders|system, void), 60, technical},
	{Override, sets(drop, prior, instead), 70, technical},
	{Override, sets(drop, above), 40, technical},
	{Override, sets(drop|void|bypass, safeguard), 40, technical},
	{Override, sets(drop, orders|limits, instead), 50, technical},

	{Override, sets(void, prior, limits|commands, obey|instead), 90, technical},
	{Override, sets(void, yours, prior, limits|commands), 60, technical},
	{Override, sets(drop|void|bypass|run, consent, must|persona|reader|yours), 70, technical},

	{Role, sets(now, free|persona), 90, technical},
	{Role, sets(since, pretend|obey), 60, technical},
	{Role, sets(pretend, free), 90, 0},
	{Role, sets(fresh, system, youAre), 60, 0},
	{Role, sets(mode, free), 90, 0},
	{Role, sets(fresh, yours, persona, youAre), 60, technical},
	{Role, sets(now, mode), 60, technical},
	{Role, sets(posing, persona|free), 50, technical},
	{Role, sets(pretend|posing, none, limits|orders), 60, technical},
	{Role, sets(free, obey), 60, technical},
	{Role, sets(reply, free), 40, technical},
	{Role, sets(youAre, persona, free), 60, technical},
	{Role, sets(system, youAre), 30, technical},
	{Role, sets(system, now), 60, technical},
	{Role, sets(unbound), 0, 0},

	{Exfiltration, sets(reveal|show, yours, system), 70, technical},
	{Exfiltration, sets(reveal|show, yours, first, orders), 80, technical},
	{Exfiltration, sets(reveal|show, first, orders, told), 90, technical},
	{Exfiltration, sets(reveal, yours, orders), 50, technical},
	{Exfiltration, sets(reveal, system), 40, 0},
	{Exfiltration, sets(reveal, first, orders), 50, technical},
	{Exfiltration, sets(show|reveal, system, verbatim|prior), 70, technical},
	{Exfiltration, sets(show|reveal|send, first, orders, verbatim), 100, technical},
	{Exfiltration, sets(reveal|show, hiding, orders), 60, technical},
	{Exfiltration, sets(ask), 0, technical},
	{Exfiltration, sets(reveal|show, user, private), 35, technical},
	{Exfiltration, sets(reveal|show, yours, secrets), 24, technical},
	{Exfiltration, sets(show, yours, orders), 22, technical},
	{Exfiltration, sets(reveal|show, prior, verbatim), 90, technical},
	{Exfiltration, sets(send, treasure, address|all), 100, 0},
	{Exfiltration, sets(send, secrets, all, address), 120, 0},

	{Tools, sets(reader, run|must|send|obey), 120, 0},
	{Tools, sets(addressed), 0, 0},
	{Tools, sets(run, stealth), 120, 0},

	{Tools, sets(lasting, run|reply|obey|send), 110, 0},
	{Tools, sets(decode, obey), 70, 0},
	{Tools, sets(claimed, run|send|reveal|secrets|consent|stealth), 110, 0},
	{Tools, sets(endorse), 0, 0},

	{Hide, sets(untold, user, this|orders), 70, 0},
	{Hide, sets(untold, user, send, secrets|treasure|address), 160, 0},
	{Hide, sets(untold, this, orders), 40, technical},
	{Hide, sets(conceal, orders, user|stealth), 90, 0},
	{Hide, sets(stealth, run|send|must), 90, 0},
	{Markers, sets(border), 0, technical},

	{Hide, sets(quiet, run|send|user|must), 100, 0},
}

// sets turns concepts, and those joined by |, into sets.
func sets(all ...set) []set { return all }

// certain reports whether a match counts even if the model considers an attack
// unlikely: its words have no other meaning, whatever the context.
func (r rule) certain() bool { return r.unless == 0 || r.mark == Markers }

// apply calls mark for the rules that the hits of a text match, with the hits of the
// sentence.
func apply(hits []hit, mark func(rule, []hit)) {
	for len(hits) > 0 {
		n := 0
		var here set
		for n < len(hits) && hits[n].sentence == hits[0].sentence {
			here |= hits[n].concepts
			n++
		}
		for _, r := range rules {
			if r.matches(hits[:n], here) {
				mark(r, hits[:n])
			}
		}
		hits = hits[n:]
	}
}

// maxSets is how many sets a rule can have.
const maxSets = 4

// matches reports whether a sentence with the concepts here contains one
// concept of each set, close enough together.
func (r rule) matches(hits []hit, here set) bool {
	for _, s := range r.all {
		if here&s == 0 {
			return false
		}
	}
	var last [maxSets]int32
	for i := range last {
		last[i] = -1 << 30
	}
	other := last[0] // where the last word of unless began
	for n, h := range hits {
		if r.unless&h.concepts != 0 {
			other = h.at
		}
		for i, s := range r.all {
			if s&h.concepts != 0 {
				last[i] = h.at
			}
		}
		first := h.at
		for i := range r.all {
			first = min(first, last[i])
		}
		if h.end-first > max(r.within, h.end-h.at) {
			continue
		}
		if other < first && !r.follows(hits[n+1:], h.end) {
			return true
		}
	}
	return false
}

// follows reports whether a word of unless comes right after end.
func (r rule) follows(hits []hit, end int32) bool {
	if r.unless == 0 {
		return false
	}
	for _, h := range hits {
		if h.at > end+behind {
			return false
		}
		if h.concepts&r.unless != 0 {
			return true
		}
	}
	return false
}
