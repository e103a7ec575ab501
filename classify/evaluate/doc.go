// Package evaluate measures a classifier on labelled messages: how often it names
// the right intent, how well it rejects messages out of scope, whether its
// confidence is a probability, and how long it takes (contract §10).
package evaluate
