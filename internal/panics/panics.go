// Package panics converts panics to errors where a failing task must not end the
// process.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a recovered panic. Logs include its stack (package telemetry).
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Catch calls f and returns a panic as an [*Error].
func Catch(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Value: p, Stack: debug.Stack()}
		}
	}()
	return f()
}
