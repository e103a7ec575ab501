//go:build !amd64 || purego

package encoder

// vectorKernels returns nil: there are no kernels for this processor.
func vectorKernels() *kernels { return nil }
