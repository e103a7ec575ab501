// Package decide answers typed questions about a state (contract §15): a choice of
// labels, a score of levels, a boolean. A question is known by its fingerprint, the
// rubric. It is answered by a student that has been handed over to, else by a model
// (the teacher), else, if its rubric allows that, from labels and descriptions alone;
// else nobody answers: no answer is a guess.
//
// Reading and writing of questions and answers, fingerprints, prompts and the
// statistics of the hand-over are pure. [Engine] answers a batch, [Part] connects it
// to NATS, HTTP and the event stream.
package decide
