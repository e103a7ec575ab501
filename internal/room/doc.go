// Package room reports how much space is left on a disk.
package room
