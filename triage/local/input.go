// Package local decides without a model whether a bot should answer a group
// message, where it is sure of it (contract §11, `local`).
//
// It is a logistic regression over the words of the message and over what was
// said before it. It is trained on the labelled groups of triage/testdata, and
// further on what people marked. Where its estimate lies between two learnt
// thresholds, and for whatever it was not trained on (other languages, very
// long texts), it is not sure.
//
// The package is pure: no clock, no connection, and no file but the embedded
// set.
package local

import "time"

// Bounds on what is read of an input. More is harmless and not looked at.
const (
	// MaxRecent is how many of the newest earlier messages are read.
	MaxRecent = 20
	// maxText is the longest text, in characters, that the gate is sure about.
	// The labelled set holds no longer ones.
	maxText = 1000
	// maxEarlier is how many characters of an earlier message are read.
	maxEarlier = 200
)

// Input is a group message and what was said before it.
type Input struct {
	Group   string // may be empty; marks of the same group count more with it
	Text    string
	Sender  string    // a name or an id, the same as in Recent
	BotName string    // may be empty
	At      time.Time // zero when unknown
	// Recent holds the messages before this one, oldest first, the bot's own
	// among them. The gate must see when the bot spoke, or it takes a message
	// that goes on with an answer for talk among people: where the bot's
	// messages are not known, Answered must be.
	Recent []Earlier
}

// Earlier is a message before the present one.
type Earlier struct {
	Sender, Text string
	At           time.Time
	Bot          bool // the bot's own; the text may be empty
	Answered     bool // the bot was let answer it
}

// Example is a message with the decision that would have been right. Where it
// is not known what was said before it, Recent is empty and At zero: then its
// words are learnt, and it has no part in the thresholds.
type Example struct {
	Input
	Respond bool
	// Weight is how much the example counts, 1 for the labelled set. An example
	// with a weight that is not above 0 is left out.
	Weight float64
	// Mark is true for a message of a group that the gate works in. Thresholds
	// are learnt on groups that a model was not trained on, but for marks on
	// messages that it was not trained on.
	Mark bool
	// Language may be empty; it is for the tables of [Evaluate].
	Language string
}
