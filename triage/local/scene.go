package local

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Places: who spoke last.
const (
	placeAsker = "bot asker"    // the bot, to this sender
	placeBot   = "bot"          // the bot, to somebody else
	placeOwn   = "bot then own" // this sender, after the bot
	placeNear  = "near"         // people; the bot was among the last five
	placeFar   = "far"          // people; the bot was not
	placeNone  = "none"         // nothing is known
)

// scene is what the earlier messages tell about this one.
type scene struct {
	place          string
	afterBot       bool
	addressed      bool // contains the name of another sender
	addressedFirst bool // the same, at the beginning
	marks          []string
}

// readScene reads the earlier messages.
func readScene(m *message, in *Input, recent []Earlier) scene {
	c := scene{place: placeNone}
	if len(recent) == 0 {
		return c
	}
	last := recent[len(recent)-1]
	bot := -1 // the bot's newest message
	for i := len(recent) - 1; i >= 0 && bot < 0; i-- {
		if recent[i].Bot {
			bot = i
		}
	}
	asker := ""
	for i := bot - 1; i >= 0 && asker == ""; i-- {
		if !recent[i].Bot {
			asker = recent[i].Sender
		}
	}
	own := bot >= 0 && asker == in.Sender
	since := len(recent) - 1 - bot
	switch {
	case bot < 0:
		c.place = placeFar
	case since == 0 && own:
		c.place = placeAsker
	case since == 0:
		c.place = placeBot
	case since <= 2 && last.Sender == in.Sender && onlyBy(recent[bot+1:], in.Sender):
		c.place = placeOwn
	case since <= 4:
		c.place = placeNear
	default:
		c.place = placeFar
	}
	c.afterBot = bot >= 0 && (since == 0 || c.place == placeOwn)
	c.marks = appendIf(c.marks, own && since <= 6, "own thread")
	if bot >= 0 {
		said := read(recent[bot].Text, maxEarlier)
		if since <= 4 {
			c.marks = appendIf(c.marks, said.asks(), "bot asked")
			c.marks = append(c.marks, "shared "+shared(m, &said))
		}
		c.marks = append(c.marks, "bot "+age(in.At, recent[bot].At))
	}
	c.marks = append(c.marks, "last "+age(in.At, last.At))
	if !last.Bot {
		before := read(last.Text, maxEarlier)
		who := "other "
		if last.Sender == in.Sender {
			who = "own "
		}
		c.marks = append(c.marks, who+"before")
		c.marks = appendIf(c.marks, before.asks() || before.has(questionWords), who+"asked")
		c.marks = appendIf(c.marks, before.has(secondPerson), who+"said you")
		c.marks = appendIf(c.marks, before.has(peopleQuestions) || before.has(anyone), who+"asked people")
		named := slices.ContainsFunc(nameParts(in.Sender), before.mentions)
		c.marks = appendIf(c.marks, named, who+"named sender")
	}
	answered, spoke := 0, 0
	for i, e := range recent {
		if e.Sender == in.Sender && !e.Bot {
			spoke++
			if i+1 < len(recent) && recent[i+1].Bot {
				answered++
			}
		}
	}
	c.marks = appendIf(c.marks, spoke == 0, "sender new")
	c.marks = appendIf(c.marks, answered > 0, "sender answered")
	c.readNames(m, in, recent)
	return c
}

// readNames looks for the names of other senders.
func (c *scene) readNames(m *message, in *Input, recent []Earlier) {
	for i, e := range recent {
		if e.Bot || e.Sender == in.Sender || seenBefore(recent[:i], e.Sender) {
			continue
		}
		for _, name := range nameParts(e.Sender) {
			if !m.mentions(name) {
				continue
			}
			c.addressed = true
			if strings.HasPrefix(strings.TrimLeft(m.folded, "@ "), name) {
				c.addressedFirst = true
			}
		}
	}
}

func seenBefore(list []Earlier, sender string) bool {
	for _, e := range list {
		if !e.Bot && e.Sender == sender {
			return true
		}
	}
	return false
}

func onlyBy(list []Earlier, sender string) bool {
	for _, e := range list {
		if e.Sender != sender {
			return false
		}
	}
	return true
}

// age returns a name for the time since then.
func age(now, then time.Time) string {
	if now.IsZero() || then.IsZero() {
		return "unknown"
	}
	switch d := now.Sub(then); {
	case d < 90*time.Second:
		return "1m"
	case d < 5*time.Minute:
		return "5m"
	case d < 15*time.Minute:
		return "15m"
	default:
		return "later"
	}
}

// shared returns a name for how much of the message occurs in an earlier one:
// words of four or more letters, pairs of CJK characters.
func shared(m, earlier *message) string {
	n := 0
	for _, w := range m.words {
		if utf8.RuneCountInString(w) >= 4 && strings.Contains(earlier.spaced, " "+w+" ") {
			n++
		}
	}
	for _, run := range m.cjk {
		pieces(run, 2, 2, func(s string) {
			if strings.Contains(earlier.folded, s) {
				n++
			}
		})
	}
	switch n {
	case 0:
		return "none"
	case 1:
		return "one"
	default:
		return "more"
	}
}
