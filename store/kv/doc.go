// Package kv keeps sessions in a JetStream key-value bucket (contract §8, §9),
// for consumer processes on any number of hosts.
//
// The value under the token of a session is authoritative: it holds the
// document, the waiting facts, and the turns that are leaving the document for
// keys of their own. Every change is one compare-and-set of that value, so that
// an Apply is atomic even if a process dies.
//
// A retired turn stays in the value, as leaving, until the next change. The
// process that makes that change first writes the leaving turns under their own
// keys. So retired turns change only through the value of the session, and
// between two changes of it each has exactly one content: for leaving turns the
// one in the value, for the others the one under their key.
//
// A late process cannot overwrite a newer turn with an older one. It expects
// its key at a revision that it has read, below the revision at which it saw
// the turn leave. The next change of the session came only after the leaving
// turn was written above that revision; from then on the expectation fails.
package kv
