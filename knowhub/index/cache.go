package index

import (
	"sync"

	"intenthint/knowhub/experience"
)

// state identifies what the file holds.
type state struct {
	rows                      int   // no row has a greater number
	begun, revision, checksum int64 // see place
}

const (
	// maxCache is the size in bytes from which on a cache is replaced by an empty one.
	// The 976 questions and messages of the tests need 6 MB with 10,000 experiences, and
	// 17 MB with 100,000.
	maxCache = 16 << 20
	// entryBytes is about what a map needs for an entry with its key.
	entryBytes = 150
)

// cache holds what lookups have read from one state of the file. Questions share words
// and hits, and to read an experience again costs as much as to score ten thousand.
// Values in a cache are not changed.
type cache struct {
	of      state
	mu      sync.Mutex
	bytes   int
	terms   map[string]listed // rows is 0 for a term that does not occur
	similar map[string][]similarTerm
	sets    map[string][]uint64
	rows    map[int64]experience.Experience
}

// cacheOf returns the cache of a state of the file: an empty one if the cache there is
// is of another state, or full.
func (x *Index) cacheOf(file state) *cache {
	c := x.cache.Load()
	if c == nil || c.of != file || c.full() {
		c = &cache{
			of: file, terms: map[string]listed{}, similar: map[string][]similarTerm{},
			sets: map[string][]uint64{}, rows: map[int64]experience.Experience{},
		}
		x.cache.Store(c)
	}
	return c
}

func (c *cache) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes > maxCache
}

// get returns a value from one of the maps of a cache.
func get[K comparable, V any](c *cache, values map[K]V, key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok = values[key]
	return v, ok
}

// put adds a value that refers to the given number of bytes.
func put[K comparable, V any](c *cache, values map[K]V, key K, v V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	values[key] = v
	c.bytes += entryBytes + bytes
}
