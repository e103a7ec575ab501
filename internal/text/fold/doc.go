// Package fold has the steps by which texts are made comparable. Callers compose
// them, since what may be folded depends on what is compared:
//
//	                       forms     case   marks     white space  more
//	keywords (intents)     NFKC      Case   –         removed      –
//	experience ids, names  NFKC      Case   –         one space    –
//	patterns, word lists   NFKC      lower  –         –            –
//	local classifier       NFKC      lower  of Latin  between      simplified Chinese, Arabic letters
//	                                        and Greek tokens       of Persian; points of Hebrew and Arabic
//	terms of the search    NFKC      lower  of Latin  between      apostrophes, simplified Chinese; case is
//	                                        and Greek terms        read first, for fooBar
//	safety                 NFKD      lower  all but   between      look-alikes, Invisible removed
//	                                        vowels    words
//	quotes (redact)        NFKD      lower  all       between      doubled letters
//	                                                  words
//	redaction              Plain     –      –         –            a character at a time, to find its place again
//
// The differences are needed. Identity (an id, a keyword) uses full case folding,
// by which ß is ss; patterns and trained weights are written for lower case.
// Search and classification keep the marks of scripts in which they are letters.
// Safety and redaction judge texts of people who hide something, so they fold
// more than a reader would.
//
// The linter allows golang.org/x/text/unicode/norm and golang.org/x/text/cases
// here only. All functions are pure and safe for concurrent use; invalid UTF-8
// stays as it is unless a function says otherwise.
package fold
