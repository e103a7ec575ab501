// Package record reads the recorded turns: what was asked, what was decided, what
// came of it, and what people said of it. A turn is read from the session store,
// which is a fold of the event stream, so that every report made of turns can be
// made again and is the same whichever consumer wrote them. The functions are
// pure but for [Each] and [All], which read the store, and for [Replay] and [Calls],
// which ask what they are given.
package record
