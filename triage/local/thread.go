package local

import (
	"slices"
	"strings"
	"time"
)

// Bounds of a conversation with the bot.
const (
	// soonMessages is how many messages after the bot's one may go on with it.
	soonMessages = 10
	// soonTime is the same in time, where the times are known.
	soonTime = 15 * time.Minute
	// goOn is how many messages of people may stand between the bot's one and one that
	// goes on with it.
	goOn = 2
)

// mayBeForBot reports whether a message may be meant for the bot although its words say
// nothing of it, so that skipping it is never sure (contract §11, `local`): where the bot
// spoke soon before, questions and requests, what begins with a name that nobody else
// here has, and what goes on with its talk to the sender. A message to another person,
// by name, is not; one of thanks, agreement or laughter only where the bot had asked.
func mayBeForBot(m *message, in *Input, recent []Earlier, c scene) bool {
	near := soon(in, recent)
	bot := lastOfBot(near)
	if bot < 0 || addressed(m, in, recent) {
		return false
	}
	with := c.afterBot || answeredTo(near, in.Sender) || called(near, in)
	switch {
	case m.asks(), m.has(questionWords | requests | secondPerson | anyone), m.callsFirst():
		return true
	case m.only(reactions):
		asked := read(near[bot].Text, maxEarlier)
		return with && asked.asks() && !m.has(thanks|laughter)
	}
	return with || len(near)-1-bot <= goOn
}

// lastOfBot returns the index of the bot's last message, -1 for none.
func lastOfBot(near []Earlier) int {
	for i, e := range slices.Backward(near) {
		if e.Bot {
			return i
		}
	}
	return -1
}

// addressed reports whether a message names another sender. A name that two of them
// have names neither.
func addressed(m *message, in *Input, recent []Earlier) bool {
	owner := map[string]string{}
	for _, e := range recent {
		if e.Bot {
			continue
		}
		for _, name := range nameParts(e.Sender) {
			if who, ok := owner[name]; ok && who != e.Sender {
				owner[name] = in.Sender
				continue
			}
			owner[name] = e.Sender
		}
	}
	for name, who := range owner {
		if who != in.Sender && m.mentions(name) {
			return true
		}
	}
	return false
}

// soon returns the messages that this one comes soon after.
func soon(in *Input, recent []Earlier) []Earlier {
	recent = recent[max(0, len(recent)-soonMessages):]
	for i, e := range recent {
		if in.At.IsZero() || e.At.IsZero() || in.At.Sub(e.At) <= soonTime {
			return recent[i:]
		}
	}
	return nil
}

// answeredTo reports whether the bot has answered the sender.
func answeredTo(near []Earlier, sender string) bool {
	for i, e := range near {
		if e.Bot && i > 0 && !near[i-1].Bot && near[i-1].Sender == sender {
			return true
		}
	}
	return false
}

// called reports whether the sender has called the bot by its name.
func called(near []Earlier, in *Input) bool {
	return strings.TrimSpace(in.BotName) != "" && slices.ContainsFunc(near, func(e Earlier) bool {
		if e.Bot || e.Sender != in.Sender {
			return false
		}
		before := read(e.Text, maxEarlier)
		return callsBot(&before, e.Text, in.BotName)
	})
}
