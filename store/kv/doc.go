// Package kv keeps sessions in a JetStream key-value bucket (contract §8, §9),
// for consumer processes on any number of hosts.
//
// The value under the token of a session decides: it holds the document, what
// waits for its turn, and the turns that are leaving the document for keys of
// their own. Every change is one compare-and-set of that value, so that an
// Apply happens as a whole or not at all, whenever a process dies.
//
// A turn that is retired stays in the value, as leaving, until the next change.
// Whoever makes that change first writes the leaving turns under their own
// keys. So retired turns change only through the value of the session, and
// between two changes of it each has exactly one content: that in the value
// for leaving turns, that under its key for the others.
//
// A process that is late can not put an older turn in the place of a newer one.
// It expects its key at a revision that it has read, and below the revision at
// which it has seen the turn leave. The next change of the session came after
// the leaving turn was written above that revision; from then on there is no
// such revision to be found.
package kv
