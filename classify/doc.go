// Package classify determines the intent of a message: with a language model, the
// local classifier, or both within a deadline (contract §6, §9).
package classify
