//go:build race

package local_test

// raceEnabled: measuring takes a minute under the race detector and has no
// goroutines in it.
const raceEnabled = true
