//go:build race

package local_test

// raceEnabled: under the race detector a sync.Pool forgets at random.
const raceEnabled = true
