// Package store holds sessions: what happened in each turn of a conversation,
// folded from events (contract §8).
//
// The fold is pure and does not depend on order: a [Document] is a function of
// the set of [Fact] values applied to it, whatever their order and however
// often each is applied. The backends (packages store/file and store/kv) only
// store documents; they do not decide what a document contains.
package store
