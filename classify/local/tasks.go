package local

import (
	"strings"
	"unicode/utf8"

	"intenthint/internal/text"
)

const (
	// maxTasksChars bounds a message that is read for a second task, in characters.
	// A longer one brings a text, whose sentences ask for nothing.
	maxTasksChars = longMessage
	// maxJoins is how many words of a sentence that may join two tasks are tried.
	maxJoins = 4
	// maxAlso bounds the second task in a suggestion, in characters.
	maxAlso = 160
	// alsoAsks begins the suggestion that names it (contract §6).
	alsoAsks = "also asks: "
)

// joins stand between two tasks of one sentence, in the languages of [phrases], in
// lower case. One that begins with another comes before it.
var joins = joinsOf(
	// Behind these a task begins, or their language says at its end that it asks.
	`_and then_|_and also_|_and please_|,_then_|,_also_|;_|_und dann_|_und danach_|,_dann_|_y luego_|_y después_|_y también_|,_luego_|_et ensuite_|_et puis_|_puis_|
	_e depois_|_e também_|_e poi_|_e anche_|,_poi_|,_а потом_|_а также_|_и потом_|,_потом_|_ve sonra_|_ve_|,_sonra_|_ثم_|_وأيضا_|_और फिर_|_और_|_그리고_|하고_|주고_|
	，然后|，顺便|，還有|，还有|；|、それから|、あと`,
	// Behind these only where it begins like a request.
	`_and_|_und_|_y_|_et_|_e_|_ed_|_и_|_و|，再|，并|，|、`)

type join struct {
	text string
	sure bool // a task follows
}

func joinsOf(sure, unsure string) (out []join) {
	for i, list := range [...]string{sure, unsure} {
		for text := range strings.SplitSeq(list, "|") {
			out = append(out, join{strings.ReplaceAll(strings.TrimSpace(text), "_", " "), i == 0})
		}
	}
	return out
}

// task is a part of a message that asks for something.
type task struct {
	text    string
	verdict verdict
}

// twoTasks returns the first task of a message, and the first of those after it that
// has another intent; ok is false if the message does not have both. whole is the
// verdict on all of it. It overwrites sc.
func (m *Model) twoTasks(sc *scratch, message string, whole *verdict, allowed []bool, by *embedding) (first, second task, ok bool) {
	if len(message) > maxTasksChars*utf8.UTFMax || utf8.RuneCountInString(message) > maxTasksChars {
		return first, second, false
	}
	if own, _ := ownWords(message); own != "" {
		return first, second, false // the rest is a text to work on, or not wanted
	}
	parts := sentences(message)
	if parts == nil {
		if !joined(message) {
			return first, second, false
		}
		parts = []string{message}
	}
	courtesy := m.courtesies(sc, allowed)
	for _, part := range parts {
		for _, t := range m.tasksOf(sc, part, courtesy, allowed, by) {
			switch {
			case first.text == "":
				first = t
			case t.verdict.first == first.verdict.first:
			case whole.other() || whole.first == first.verdict.first || whole.first == t.verdict.first:
				return first, t, true
			}
		}
		if _, content := cutColon(part); first.text != "" && content != "" {
			break // what stands behind a colon belongs to what is before it
		}
	}
	return first, second, false
}

// tasksOf returns the tasks of a sentence: two that are joined, one, or none.
func (m *Model) tasksOf(sc *scratch, sentence string, courtesy map[int]bool, allowed []bool, by *embedding) []task {
	look := func(s string) (task, bool) {
		t := task{s, m.lookAt(sc, allowed, by, s)}
		return t, !t.verdict.other() && t.verdict.pFirst >= sureSentence && !courtesy[t.verdict.first] && requests(s)
	}
	whole, ok := look(sentence)
	from := 0
	for range maxJoins {
		at, end, sure := nextJoin(sentence, from)
		if at < 0 {
			break
		}
		from = end
		left, sureLeft := look(strings.TrimSpace(sentence[:at]))
		if !sureLeft {
			continue
		}
		right, sureRight := look(strings.TrimSpace(sentence[end:]))
		if sureRight && (sure || opens(right.text)) && left.verdict.first != right.verdict.first && (whole.verdict.other() || whole.verdict.first == left.verdict.first || whole.verdict.first == right.verdict.first) {
			return []task{left, right}
		}
	}
	if ok {
		return []task{whole}
	}
	return nil
}

// requests reports whether a sentence asks for something, rather than says how
// something is.
func requests(s string) bool {
	if utf8.RuneCountInString(s) < minSentence || s[0] == '(' {
		return false
	}
	c := clauseText(s)
	return !condition.begins(c) && !passesOn.begins(c) && (asksIn(s) || verbLast.begins(c) || !states(c))
}

// joined reports whether a sentence may be two.
func joined(s string) bool {
	at, _, _ := nextJoin(s, 0)
	return at >= 0
}

// nextJoin returns where the next join in s begins and ends, from an index on, or -1;
// sure reports whether a task follows it.
func nextJoin(s string, from int) (at, end int, sure bool) {
	at = -1
	for i := range joins {
		j := &joins[i]
		if n := strings.Index(s[from:], j.text); n >= 0 && (at < 0 || from+n < at) {
			at, end, sure = from+n, from+n+len(j.text), j.sure
		}
	}
	return at, end, sure
}

// also returns the suggestion that names a second task, "" for none.
func also(task string) string {
	if task == "" {
		return ""
	}
	return alsoAsks + text.OneLine(task, maxAlso)
}
