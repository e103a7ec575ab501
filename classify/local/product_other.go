//go:build !amd64 || purego

package local

// productInt8 returns the scalar product of a vector of int8 and one of int16.
func productInt8(a []byte, b []int16) int { return productPlain(a, b) }
