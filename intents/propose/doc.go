// Package propose asks a language model for edits of the intent files that would
// answer a finding of the record, and makes the edited files. It writes none: a
// person decides.
package propose
