// Package room tells how much room is left on a disk.
package room
