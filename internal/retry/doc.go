// Package retry repeats what fails for a while. The pauses double and have jitter,
// so that processes that failed together do not come back together.
package retry
