// Package propose asks a language model for edits of the intent files that would
// address a finding of the record, and makes the edited files in memory. It
// writes none: a person decides.
package propose
