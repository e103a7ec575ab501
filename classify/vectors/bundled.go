package vectors

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
)

//go:generate go -C ../../tools run ./weights vectors classifier

// bundled holds the vectors of the built-in intents, made by the built-in
// encoder: magic, count as uint32, then each entry in order of its key (key,
// scale as float32, the numbers over the scale as int8). Little endian.
//
//go:embed bundled.bin
var bundled string

const (
	bundledMagic      = "ihbun\x00\x00\x01"
	bundledDimensions = 512                                // numbers of a vector: the encoder's
	bundledEntry      = len(key{}) + 4 + bundledDimensions // bytes of an entry
)

// Bundled returns the vectors of those texts that are shipped with the binary:
// the examples and triggers of the built-in intents, as the built-in encoder
// embeds them, rounded to 8 bits.
func Bundled(texts []string) map[string][]float32 { return BundledIn(bundled, texts) }

// BundledIn is [Bundled] for the content of another file that [EncodeBundled] made;
// a file in another format has no vectors.
func BundledIn(file string, texts []string) map[string][]float32 {
	out := make(map[string][]float32)
	if len(file) < len(bundledMagic)+4 || file[:len(bundledMagic)] != bundledMagic {
		return out
	}
	entries := file[len(bundledMagic)+4:]
	n := len(entries) / bundledEntry
	for _, text := range texts {
		k := keyOf(text)
		wanted := string(k[:])
		i := sort.Search(n, func(i int) bool { return entries[i*bundledEntry:][:len(k)] >= wanted })
		if i == n || entries[i*bundledEntry:][:len(k)] != wanted {
			continue
		}
		numbers := entries[i*bundledEntry+len(k):][:4+bundledDimensions]
		scale := math.Float32frombits(binary.LittleEndian.Uint32([]byte(numbers[:4])))
		v := make([]float32, bundledDimensions)
		for j := range v {
			v[j] = scale * float32(int8(numbers[4+j]))
		}
		out[text] = v
	}
	return out
}

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

// EncodeBundled returns the file that [Bundled] reads, with the vectors of texts,
// each of 512 numbers.
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
	for _, k := range slices.SortedFunc(maps.Keys(byKey), func(a, b key) int { return slices.Compare(a[:], b[:]) }) {
		scale := float32(0)
		for _, x := range byKey[k] {
			scale = max(scale, float32(math.Abs(float64(x)))/127)
		}
		out = binary.LittleEndian.AppendUint32(append(out, k[:]...), math.Float32bits(scale))
		for _, x := range byKey[k] {
			out = append(out, byte(int8(math.Round(float64(x/max(scale, math.SmallestNonzeroFloat32))))))
		}
	}
	return out, nil
}
