// Package local classifies messages in this process, with a linear model that
// is trained from the triggers and examples of a catalogue when it is loaded.
package local
