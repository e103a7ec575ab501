//go:build race

package redact_test

func init() { raceDetector = true }
