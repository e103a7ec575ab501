// Package encoder turns English texts into vectors: the lite model of the
// Universal Sentence Encoder, in plain Go, with its weights in the binary.
package encoder

//go:generate go -C ../../tools run ./weights encoder
