//go:build race

package local_test

// raceEnabled skips what only computes: training has no goroutines, and takes ten
// times as long under the race detector.
const raceEnabled = true
