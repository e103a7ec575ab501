// Package extract finds experiences in conversations (contract §12): what a model
// is asked, how its answer is read, what of it is no experience, and which
// experiences say the same. Everything in it is a pure function, linear in the
// length of its input.
//
//	request, ok := extract.Question(messages, extract.Options{})
//	candidates, err := extract.Parse(answer)
//	reason, ok := extract.Keep(candidate, minConfidence)
package extract
