//go:build !amd64 || purego

package encoder

// vectorKernels returns nil: there are none for this processor.
func vectorKernels() *kernels { return nil }
