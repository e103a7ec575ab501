//go:build amd64 && !purego

package local

import "golang.org/x/sys/cpu"

// mostAtOnce is how many products a lane may add up: 512 times 127 times 32,767 is below
// 2³¹.
const mostAtOnce = 512

// productInt8 returns the scalar product of a vector of int8 and one of int16.
func productInt8(a []byte, b []int16) (sum int) {
	b = b[:len(a)]
	if cpu.X86.HasAVX2 {
		for len(a) >= 16 {
			n := min(len(a), mostAtOnce) &^ 15
			sum += int(productAVX2(&a[0], &b[0], n))
			a, b = a[n:], b[n:]
		}
	}
	return sum + productPlain(a, b)
}

// productAVX2 returns the product of the first n numbers, a multiple of 16.
//
//go:noescape
func productAVX2(a *byte, b *int16, n int) int32
