// Package store holds sessions: what happened in each turn of a conversation,
// folded from events (contract §8).
//
// The fold is pure and independent of order: a [Document] is a function of the
// set of [Fact] values applied to it, however often and in whatever order they
// come. The backends (packages store/file and store/kv) keep documents; they
// never decide what stands in one.
package store
