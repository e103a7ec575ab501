package vectors

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"time"

	"intenthint/model/provider"
)

const (
	// A text that left the catalogue may come back: it is kept for unusedTime.
	unusedTime = 30 * 24 * time.Hour
	// A cache that is only read is rewritten this often, to mark it as used.
	touchEvery = 24 * time.Hour
)

// errDamaged reports a file that is not a cache of the model.
var errDamaged = errors.New("damaged vectors")

// key identifies a text.
type key [16]byte

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

// entry is the vector of a text and when it was last in a catalogue, in Unix
// seconds.
type entry struct {
	used   uint32
	vector []float32
}

// cache holds the vectors of one model, all of the same dimension.
type cache struct {
	dimensions int // 0 when it is empty
	entries    map[key]entry
}

func newCache() *cache { return &cache{entries: make(map[key]entry)} }

// find returns the vectors of the cached texts, and the missing texts.
func (c *cache) find(texts []string) (found map[string][]float32, missing []string) {
	found = make(map[string][]float32, len(texts))
	for _, text := range texts {
		if e, ok := c.entries[keyOf(text)]; ok {
			found[text] = e.vector
		} else {
			missing = append(missing, text)
		}
	}
	return found, missing
}

func (c *cache) add(text string, vector []float32) {
	c.dimensions = len(vector)
	c.entries[keyOf(text)] = entry{vector: vector}
}

// use marks the texts as used and reports whether any mark was out of date.
func (c *cache) use(texts []string, now time.Time) (outdated bool) {
	at := uint32(now.Unix())
	for _, text := range texts {
		k := keyOf(text)
		e, ok := c.entries[k]
		if !ok {
			continue
		}
		if e.used+uint32(touchEvery/time.Second) < at {
			outdated = true
		}
		e.used = at
		c.entries[k] = e
	}
	return outdated
}

// forget removes what has not been used for unusedTime.
func (c *cache) forget(now time.Time) {
	oldest := uint32(now.Add(-unusedTime).Unix())
	maps.DeleteFunc(c.entries, func(_ key, e entry) bool { return e.used < oldest })
}

// The file: magic, the SHA-256 of the model, dimensions and count as uint32,
// then each entry (key, used as uint32, the vector as float32), and the CRC-32
// of all that. Little endian; entries in order of their keys.
const (
	magic         = "ihvec\x00\x00\x01"
	headerSize    = len(magic) + sha256.Size + 4 + 4
	maxDimensions = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func identity(ref, baseURL string) [sha256.Size]byte {
	return sha256.Sum256([]byte(ref + "\x00" + baseURL))
}

func fileKey(ref, baseURL string) string {
	id := identity(ref, baseURL)
	return hex.EncodeToString(id[:8])
}

func readCache(dir, ref, baseURL string) (*cache, error) {
	path := filePath(dir, fileKey(ref, baseURL))
	data, err := readFile(path)
	var c *cache
	if err == nil {
		c, err = decode(data, identity(ref, baseURL))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func writeCache(dir, ref, baseURL string, c *cache) error {
	return writeFile(filePath(dir, fileKey(ref, baseURL)), c.encode(identity(ref, baseURL)))
}

func (c *cache) encode(id [sha256.Size]byte) []byte {
	data := make([]byte, 0, headerSize+len(c.entries)*(len(key{})+4+4*c.dimensions)+crc32.Size)
	data = append(append(data, magic...), id[:]...)
	data = binary.LittleEndian.AppendUint32(data, uint32(c.dimensions))
	data = binary.LittleEndian.AppendUint32(data, uint32(len(c.entries)))
	for _, k := range slices.SortedFunc(maps.Keys(c.entries), func(a, b key) int { return slices.Compare(a[:], b[:]) }) {
		e := c.entries[k]
		data = append(data, k[:]...)
		data = binary.LittleEndian.AppendUint32(data, e.used)
		for _, x := range e.vector {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
	}
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// decode reads the encoded cache of the model. Every number is checked; vectors
// must have length 1, or be blank.
func decode(data []byte, id [sha256.Size]byte) (*cache, error) {
	if len(data) < headerSize+crc32.Size || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: wrong header", errDamaged)
	}
	body, sum := data[:len(data)-crc32.Size], binary.LittleEndian.Uint32(data[len(data)-crc32.Size:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, fmt.Errorf("%w: wrong checksum", errDamaged)
	}
	if [sha256.Size]byte(body[len(magic):]) != id {
		return nil, fmt.Errorf("%w: file of another model", errDamaged)
	}
	dimensions := binary.LittleEndian.Uint32(body[headerSize-8:])
	count := binary.LittleEndian.Uint32(body[headerSize-4:])
	body = body[headerSize:]
	size := uint64(len(key{})) + 4 + 4*uint64(dimensions)
	if dimensions > maxDimensions || uint64(count)*size != uint64(len(body)) || count > 0 && dimensions == 0 {
		return nil, fmt.Errorf("%w: wrong length", errDamaged)
	}
	c := &cache{dimensions: int(dimensions), entries: make(map[key]entry, count)}
	numbers := make([]float32, int(count)*int(dimensions))
	for range count {
		k := key(body)
		e := entry{used: binary.LittleEndian.Uint32(body[len(k):]), vector: numbers[:dimensions:dimensions]}
		numbers, body = numbers[dimensions:], body[len(k)+4:]
		sum := 0.0
		for i := range e.vector {
			x := math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
			e.vector[i] = x
			sum += float64(x) * float64(x)
		}
		if !(math.Abs(sum-1) < 0.01) && !provider.IsBlank(e.vector) {
			return nil, fmt.Errorf("%w: a vector is not of length 1", errDamaged)
		}
		body = body[4*dimensions:]
		c.entries[k] = e
	}
	if count == 0 {
		c.dimensions = 0
	}
	return c, nil
}
