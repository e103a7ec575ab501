// Package safety marks text that looks like a prompt injection (contract §12).
// It only marks: marked text waits for a person. It is never the only defence,
// as no list of words can be complete. Text from experiences is put into
// prompts escaped and labelled as untrusted, marked or not.
//
// [Marks] works in three steps:
//
//  1. The text is read in a folded form (fold.go): NFKD, without marks on
//     letters and invisible characters, look-alikes of letters as those, digits
//     and signs that stand for letters as those, everything between words as
//     one gap.
//  2. Words are looked up by what they mean (words.go): a concept such as drop,
//     prior or orders has words in twelve languages. A word is found
//     with gaps between its letters, too.
//  3. A rule (rules.go) names concepts that stand near each other in a
//     sentence: drop, prior and orders is "ignore all previous instructions", in
//     every order and language and with words in between.
//
// What the rules miss is left to a model (model.go), which scores every text: a
// logistic regression over words, parts of words and the concepts above
// (features.go), trained by go generate with the texts in knowhub/testdata.
//
// Literal markers of prompts (markers.go) and encoded texts (encoded.go) are
// detected separately. Everything is a pure function, linear in the length of
// the text.
package safety
