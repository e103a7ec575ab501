// Package workbench holds the commands with which people measure and improve the
// classification: they classify messages and recorded turns, and edit intent files.
// Package main puts them into the command line.
package workbench
