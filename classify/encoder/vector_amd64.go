//go:build amd64 && !purego

package encoder

import "golang.org/x/sys/cpu"

// vectorKernels returns the loops in AVX2 and FMA, which x86-64 processors have
// since 2013 (Intel) and 2015 (AMD); nil if the processor lacks them.
func vectorKernels() *kernels {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	return &kernels{dot: dotAVX2, addTimes: addTimesAVX2, tile: tileAVX2, sparseTile: sparseTileAVX2}
}

//go:noescape
func tileAVX2(out []float32, outWidth int, x []float32, xWidth int, panel []int8, scales, bias []float32)

//go:noescape
func sparseTileAVX2(out []float32, outWidth int, x []float32, xWidth int, panel []int8, scales, bias []float32, active []int32)

//go:noescape
func dotAVX2(a, b []float32) float32

//go:noescape
func addTimesAVX2(y, x []float32, factor float32)
