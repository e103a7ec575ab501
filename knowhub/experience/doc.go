// Package experience is what KnowHub keeps: a task, what was used for it and how
// it went (contract §12). It is pure: types, their bounds, their normal form and
// their id.
package experience
