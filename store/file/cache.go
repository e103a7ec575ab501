package file

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cache keeps what was used last, up to a size in bytes. What it holds is
// guarded by the shard of the session, the cache itself by its mutex.
type cache[V any] struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[string, sized[V]]
	bytes int64
	limit int64
}

type sized[V any] struct {
	value V
	bytes int64
}

// maxCached bounds the number of small things.
const maxCached = 1 << 14

func newCache[V any](limit int64) (*cache[V], error) {
	c := &cache[V]{limit: limit}
	var err error
	c.lru, err = simplelru.NewLRU(maxCached, func(_ string, old sized[V]) { c.bytes -= old.bytes })
	return c, err
}

func (c *cache[V]) get(token string) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.lru.Get(token)
	return found.value, ok
}

func (c *cache[V]) put(token string, v V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(token)
	c.lru.Add(token, sized[V]{v, bytes})
	c.bytes += bytes
	for c.bytes > c.limit && c.lru.Len() > 1 {
		c.lru.RemoveOldest()
	}
}

func (c *cache[V]) remove(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(token)
}
