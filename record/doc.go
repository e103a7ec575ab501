// Package record reads the recorded turns: the message, the decision, the
// outcome, and people's feedback. Turns are read from the session store, which
// is a fold of the event stream, so every report about turns is reproducible,
// whichever consumer wrote them. The functions are pure, except for those that
// read a store, such as [Each] and [All], and those that call a given
// classifier, such as [Replay] and [Calls].
package record
