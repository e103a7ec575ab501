// Package extract finds experiences in conversations (contract §12): the
// question to a model, the parsing of its answer, which candidates are not
// experiences, and which experiences say the same. Everything in it is a pure
// function, linear in the length of its input.
//
//	request, ok := extract.Question(messages, extract.Options{})
//	candidates, err := extract.Parse(answer)
//	reason, ok := extract.Keep(candidate, minConfidence)
package extract
