package vectors

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"sort"
)

//go:generate go -C ../../tools run ./weights vectors classifier

// bundled holds the vectors of the built-in intents, made by the built-in encoder:
// magic, count as uint32, the keys in their order, then for each key its vector (a
// scale as float32, and the numbers over the scale as int8). Little endian.
//
//go:embed bundled.bin
var bundled []byte

const (
	bundledMagic      = "ihbun\x00\x00\x02"
	bundledHeader     = len(bundledMagic) + 4 // bytes
	bundledDimensions = 512                   // numbers of a vector: the encoder's
	bundledEntry      = 4 + bundledDimensions // bytes of a vector
)

// File is the content of a file that [EncodeBundled] made. It is read where it lies.
type File struct {
	keys    []byte
	numbers []byte
}

// OpenBundled returns the file in the binary: the vectors of the examples and triggers of
// the built-in intents, as the built-in encoder embeds them, rounded to 8 bits.
func OpenBundled() File { return OpenFile(bundled) }

// OpenFile returns the file with a content; one in another format has no vectors.
func OpenFile(data []byte) File {
	if len(data) < bundledHeader || string(data[:len(bundledMagic)]) != bundledMagic {
		return File{}
	}
	n := uint64(binary.LittleEndian.Uint32(data[len(bundledMagic):]))
	data = data[bundledHeader:]
	if uint64(len(data)) != n*uint64(len(key{})+bundledEntry) {
		return File{}
	}
	at := int(n) * len(key{})
	return File{keys: data[:at:at], numbers: data[at:]}
}

// Place returns the position of the vector of a text, -1 without one.
func (f File) Place(text string) int {
	k := keyOf(text)
	at, wanted := func(i int) string { return string(f.keys[i*len(k):][:len(k)]) }, string(k[:])
	n := len(f.keys) / len(k)
	if i := sort.Search(n, func(i int) bool { return at(i) >= wanted }); i < n && at(i) == wanted {
		return i
	}
	return -1
}

// Numbers returns the vectors one behind the other: the scale of each as float32, little
// endian, and 512 numbers over the scale as int8.
func (f File) Numbers() []byte { return f.numbers }

// Sum returns a checksum of the texts and their order.
func (f File) Sum() uint32 { return crc32.ChecksumIEEE(f.keys) }

// Vectors returns the vectors of those texts that are in the file.
func (f File) Vectors(texts []string) map[string][]float32 {
	out := make(map[string][]float32)
	for _, text := range texts {
		i := f.Place(text)
		if i < 0 {
			continue
		}
		numbers := f.numbers[i*bundledEntry:][:bundledEntry]
		scale := math.Float32frombits(binary.LittleEndian.Uint32(numbers))
		v := make([]float32, bundledDimensions)
		for j := range v {
			v[j] = scale * float32(int8(numbers[4+j]))
		}
		out[text] = v
	}
	return out
}

// Bundled is [File.Vectors] of the file in the binary.
func Bundled(texts []string) map[string][]float32 { return OpenBundled().Vectors(texts) }

// Among adds nil for each of the catalogue's texts that has no vector, and returns
// found in the form that local.TrainEmbedded takes.
func Among(all []string, found map[string][]float32) map[string][]float32 {
	for _, text := range all {
		if _, ok := found[text]; !ok {
			found[text] = nil
		}
	}
	return found
}

// EncodeBundled returns a [File] with the vectors of texts, each of 512 numbers.
func EncodeBundled(vectors map[string][]float32) ([]byte, error) {
	byKey := make(map[key][]float32, len(vectors))
	for text, v := range vectors {
		if len(v) != bundledDimensions {
			return nil, fmt.Errorf("a vector has %d numbers, not %d", len(v), bundledDimensions)
		}
		byKey[keyOf(text)] = v
	}
	if len(byKey) != len(vectors) {
		return nil, errors.New("two texts have the same key")
	}
	out := binary.LittleEndian.AppendUint32([]byte(bundledMagic), uint32(len(byKey)))
	keys := slices.SortedFunc(maps.Keys(byKey), func(a, b key) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		out = append(out, k[:]...)
	}
	for _, k := range keys {
		scale := float32(0)
		for _, x := range byKey[k] {
			scale = max(scale, float32(math.Abs(float64(x)))/127)
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
		for _, x := range byKey[k] {
			out = append(out, byte(int8(math.Round(float64(x/max(scale, math.SmallestNonzeroFloat32))))))
		}
	}
	return out, nil
}
