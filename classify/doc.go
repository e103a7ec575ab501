// Package classify finds out what a user wants: with a language model, with the
// local classifier, or with both against the clock (contract §6, §9).
package classify
