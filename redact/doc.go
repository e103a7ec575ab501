// Package redact removes personal data and secrets from text before it is
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
// linear in the length of their input. docs/privacy.md lists what is found and
// what is not. [Quotes] redacts texts that quote redacted ones. [Setting] and its
// neighbours mask the secrets in settings and addresses of servers that are printed.
// All redaction of the program is here; callers choose the fields.
//
// The rules are a table of patterns (rules.go): an entry tells where in a line
// its pattern is tried (near.go), and which function judges the match. Only
// private keys span several lines; they have their own function.
//
// Patterns see a folded copy of the text, in which wide and mathematical forms of
// letters and digits are the plain ones, every dash is a hyphen, and invisible
// characters are missing. A rule's match is overwritten with NUL in the copy,
// so that later rules do not see it.
package redact
