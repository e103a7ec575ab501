// Package redact takes personal data and secrets out of text before it is
// stored or sent (contract §12, privacyMode strict):
//
//	found                                         written
//	/Users/NAME, /home/NAME, C:\Users\NAME        the path with [REDACTED] for NAME
//	e-mail address                                [EMAIL]
//	phone number                                  [PHONE]
//	API key, token, password, URL credentials     [API_KEY]
//	card number with a valid check digit          [CARD]
//	private key                                   [PRIVATE_KEY]
//
// [Text] takes plain text, [JSON] a JSON document. Both are pure, idempotent and
// linear in the length of what they are given. docs/privacy.md lists what is found
// and what is left.
//
// What is found is a table of patterns, rules.go: an entry says where in a line
// its pattern is tried, and which function judges what it matches. Private keys
// alone go over several lines and have a function of their own.
//
// Patterns see a folded copy of the text, in which wide and mathematical forms of
// letters and digits are the plain ones, every dash is a hyphen, and invisible
// characters are missing. What a rule finds is overwritten with NUL in the copy, so
// that no later rule sees it.
package redact
