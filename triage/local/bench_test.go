package local

import (
	"testing"
)

func BenchmarkJudge(b *testing.B) {
	g := New(nil)
	examples := Bundled()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		g.Judge(examples[i%len(examples)].Input)
	}
}

// BenchmarkNew is what the start of a process waits for, beside decoding the
// set once.
func BenchmarkNew(b *testing.B) {
	Bundled()
	b.ReportAllocs()
	for b.Loop() {
		New(nil)
	}
}

// BenchmarkNewMarked is the same with as many marks as are kept.
func BenchmarkNewMarked(b *testing.B) {
	marks := Bundled()
	b.ReportAllocs()
	for b.Loop() {
		New(marks)
	}
}
