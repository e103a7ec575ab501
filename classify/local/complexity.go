package local

import (
	"slices"
	"strings"

	"intenthint/internal/text"
	"intenthint/payload"
)

// complexityBytes is how much of a message complexityOf reads. Only code blocks
// are searched for in the whole message.
const complexityBytes = 1024

// complexityOf rates how much work a message asks for: low, medium or high. What takes
// work is known less by how long a message is than by what it is about, so it begins
// with that and adds up points; 2 and more are medium, 5 and more high:
//
//   - the intent, where it is a built-in one: -2 for an act or a look-up ("lights off"),
//     2 for work ("write to the landlord"), 3 for design, 0 for any other; small talk is
//     low whatever it says. 0 for what is work otherwise where a few words ask for a
//     fact or name one command;
//   - something large ("dissertation", "the whole backend", 小程序): 2, and 1 for every
//     other, at most 4;
//   - work that takes thought ("design", "compare", 重構), and long times: 2 for the first
//     such word, 1 for every other, at most 3;
//   - a question that wants reasons ("why", "explain"): 2 where the intent has none;
//   - steps ("then", "finally", 然後) and items of a list: 1 each, at most 3;
//   - more than one question: 1;
//   - length: 1 from 20 words on, 2 from 100, as what is pasted is long, too; two
//     characters of a script without spaces are a word;
//   - a block of code or more than six lines: 1.
//
// It uses t as scratch memory.
func complexityOf(t *reading, message, intent string) string {
	kind := workKinds[intent]
	if kind == kindTalk {
		return payload.ComplexityLow
	}
	code := strings.Contains(message, "```")
	message = text.CutBytes(message, complexityBytes)
	w := t.work(message)
	points := w.points(kind)
	questions := strings.Count(message, "?") + strings.Count(message, "？")
	points += min(max(questions-1, 0), 1)
	if code || strings.Count(message, "\n") > 6 {
		points++
	}
	switch {
	case points >= 5:
		return payload.ComplexityHigh
	case points >= 2:
		return payload.ComplexityMedium
	}
	return payload.ComplexityLow
}

// workKind is what the messages of an intent take to answer, where nothing else is
// known.
type workKind int

const (
	kindUnknown workKind = iota
	kindTalk             // nothing but an answer
	kindAct              // one act or one look-up
	kindFact             // work, or a fact that is looked up
	kindCommand          // work, or one command
	kindWork             // a few steps, or a text
	kindDesign           // thought before the first step
)

// workKinds are those of the built-in intents.
var workKinds = func() map[string]workKind {
	out := map[string]workKind{"CHAT": kindTalk, "CODE_ARCHITECTURE": kindDesign}
	for kind, ids := range map[workKind]string{
		kindAct:     "HOME_AUTOMATION PRODUCTIVITY_CALENDAR PRODUCTIVITY_TASKS MEDIA RESEARCH_REALTIME MEMORY_LOOKUP MEMORY_RECENT MEMORY_META AGENT_ADMINISTRATION AGENT_SKILLS",
		kindFact:    "RESEARCH_GENERAL RESEARCH_DEVDOCS FINANCE TRAVEL PRODUCTIVITY_EMAIL HUMANITIES LANGUAGE_LEARNING MEMORY_TIMELINE",
		kindCommand: "CODE_GIT FILE_MANAGEMENT SYSTEM_DIAGNOSTICS SYSTEM_INFRASTRUCTURE MATHEMATICS TRANSLATION",
		kindWork: "BROWSER_AUTOMATION CODE_DEBUGGING CODE_REVIEW CODE_WRITING CREATIVE_WRITING DATA_ANALYSIS DECISION_ADVICE DOCUMENT_WORK HEALTH IMAGE_ANALYSIS IMAGE_GENERATION " +
			"MEMORY_COMPARE MEMORY_EMOTION RESEARCH_OPENSOURCE SHOPPING SUMMARIZATION SYSTEM_SECURITY",
	} {
		for id := range strings.FieldsSeq(ids) {
			out[id] = kind
		}
	}
	return out
}()

// work is what the words of a message say about the work that it asks for.
type work struct {
	words, large, hard, reasons, steps int
	asksFact                           bool // a question word is among the first words
}

const (
	maxFactWords    = 12 // of a question of fact
	maxCommandWords = 10 // of one command
	maxNodWords     = 3  // of what says nothing by itself: "yes, delete them"
)

// isShort reports whether a message that is work otherwise is done in one go.
func (w *work) isShort(kind workKind) bool {
	if w.large+w.hard+w.reasons > 0 {
		return false
	}
	return w.words <= maxNodWords || kind == kindCommand && w.words <= maxCommandWords || kind == kindFact && w.asksFact && w.words <= maxFactWords
}

func (w *work) points(kind workKind) int {
	points := min(w.steps, 3)
	switch kind {
	case kindAct:
		points -= 2
	case kindFact, kindCommand, kindWork:
		if !w.isShort(kind) {
			points += 2
		}
	case kindDesign:
		points += 3
	default:
		points += 2 * min(w.reasons, 1)
	}
	if w.large > 0 {
		points += min(w.large+1, 4)
	}
	if w.hard > 0 {
		points += min(w.hard+1, 3)
	}
	switch {
	case w.words >= 100:
		points += 2
	case w.words >= 20:
		points++
	}
	return points
}

// work reads a message.
func (t *reading) work(message string) (w work) {
	t.tokens, t.runes = t.tokens[:0], t.runes[:0]
	t.add(message)
	halfWords := 0
	for i, tok := range t.tokens {
		runes := t.runes[tok.start:tok.end]
		switch tok.kind {
		case tokenWord:
			halfWords += 2
			if !w.count(hashWord(runes), i) {
				w.add(startEffort(runes))
			}
		case tokenHan:
			halfWords += len(runes)
			for k := range len(runes) - 1 {
				w.count(hashWord(runes[k:k+2]), i)
			}
		}
	}
	w.words = halfWords / 2
	for line := range strings.Lines(message) {
		if isListItem(strings.TrimLeft(line, " ")) {
			w.steps++
		}
	}
	return w
}

// maxAsking is among how many first words a question word is looked for.
const maxAsking = 3

// count counts a word, and reports whether it is known.
func (w *work) count(h uint64, at int) bool {
	effort, known := effortOf[h]
	if effort == effortFact {
		w.asksFact = w.asksFact || at < maxAsking
	}
	w.add(effort)
	return known
}

// startEffort returns what the longest beginning of a word says that is known.
func startEffort(word []rune) (found effort) {
	h := uint64(hashSeed)
	for i, r := range word[:min(len(word), maxStart)] {
		if h = hashStep(h, r); i+1 >= minStart {
			if effort, known := effortOfStart[h]; known {
				found = effort
			}
		}
	}
	return found
}

func (w *work) add(e effort) {
	switch e {
	case effortLarge:
		w.large++
	case effortHard:
		w.hard++
	case effortReason:
		w.reasons++
	case effortStep:
		w.steps++
	}
}

// isListItem reports whether a line begins like a list item: "- ", "* ", "• ",
// "1. ", "2) ", "3、".
func isListItem(line string) bool {
	marks := []string{"- ", "* ", "• "}
	if rest := strings.TrimLeft(line, "0123456789"); rest != line {
		line, marks = rest, []string{". ", ") ", "、"}
	}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(line, mark) })
}
