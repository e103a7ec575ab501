// Package experience defines what KnowHub stores: a task, what was used for it
// and how it went (contract §12). It is pure: the type, its bounds, its normal
// form and its id.
package experience
