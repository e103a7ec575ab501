// Package events is the event side of the bus (contract §2): events are taken
// from their stream and applied, turns that begin are published to it, and what
// can be neither decoded nor applied becomes a dead letter.
//
// It moves messages and decides nothing: what an event means is given to it as
// functions.
package events
