// Package handlers says what happens at each hook, one file a hook: at a
// decision hook who contributes to the reply and in which order, at an
// observation hook what becomes of the event. What a part of the program does
// there stands in that part's own package.
package handlers
