// Package lru bounds what a session store keeps in memory.
package lru

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps the most recently used values, up to a size in bytes. It is safe
// for concurrent use; the values are guarded by the lock of the session.
type Cache[V any] struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[string, sized[V]]
	bytes int64
	limit int64
}

type sized[V any] struct {
	value V
	bytes int64
}

// maxEntries bounds the number of small values.
const maxEntries = 1 << 14

// New makes a cache of values of about limit bytes in all.
func New[V any](limit int64) *Cache[V] {
	c := &Cache[V]{limit: limit}
	// It fails only for a size below 1.
	c.lru, _ = simplelru.NewLRU(maxEntries, func(_ string, old sized[V]) { c.bytes -= old.bytes })
	return c
}

// Get returns the value of a session and reports whether there is one.
func (c *Cache[V]) Get(token string) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.lru.Get(token)
	return found.value, ok
}

// Put stores a value of about the given size in bytes and evicts others to make
// room.
func (c *Cache[V]) Put(token string, v V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(token)
	c.lru.Add(token, sized[V]{v, bytes})
	c.bytes += bytes
	for c.bytes > c.limit && c.lru.Len() > 1 {
		c.lru.RemoveOldest()
	}
}

// Remove removes a value.
func (c *Cache[V]) Remove(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(token)
}

// RemoveAll removes all values.
func (c *Cache[V]) RemoveAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Purge()
}
