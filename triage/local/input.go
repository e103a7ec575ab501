// Package local decides, without a language model, whether a bot should answer
// a group message, if it is sure (contract §11, `local`).
//
// It is a logistic regression over the words of the message and the messages
// before it, trained on the labelled groups of triage/testdata and on people's
// marks. It is not sure if its estimate lies between two learnt thresholds, or
// for input that it was not trained on (other languages, very long texts).
//
// The package is pure: no clock, no connection, and no file except the embedded
// set.
package local

import "time"

// Bounds on what is read of an input. Anything beyond is ignored.
const (
	// MaxRecent is how many of the newest earlier messages are read.
	MaxRecent = 20
	// maxText is the longest text, in characters, that the gate is sure about.
	// The labelled set has no longer ones.
	maxText = 1000
	// maxEarlier is how many characters of an earlier message are read.
	maxEarlier = 200
)

// Input is a group message and what was said before it.
type Input struct {
	Group   string // may be empty; if set, marks of the same group count more
	Text    string
	Sender  string    // a name or an id, the same as in Recent
	BotName string    // may be empty
	At      time.Time // zero if unknown
	// Recent holds the messages before this one, oldest first, including the bot's
	// own. The gate must see when the bot spoke; otherwise it takes a follow-up to
	// an answer for talk among people. If the bot's messages are unknown, Answered
	// must be set.
	Recent []Earlier
}

// Earlier is a message before the current one.
type Earlier struct {
	Sender, Text string
	At           time.Time
	Bot          bool // the bot's own; the text may be empty
	Answered     bool // the bot was allowed to answer it
}

// Example is a message with the right decision. If the messages before it are
// unknown, Recent is empty and At zero: then its words are learnt, but it does
// not affect the thresholds.
type Example struct {
	Input
	Respond bool
	// Weight is how much the example counts, 1 for the labelled set. An example
	// whose weight is not positive is ignored.
	Weight float64
	// Mark is true for a message of a group that the gate works in. Thresholds
	// are cross-validated by group; for marks, by message.
	Mark bool
	// Language may be empty; it is for the tables of [Evaluate].
	Language string
}
