package kv

import (
	"sync/atomic"
	"time"
)

// Crowd lets the puts of a store travel together.
type Crowd struct {
	g *grouper
	// Taken and Refused count batches.
	Taken, Refused atomic.Int32
}

// CrowdOf counts the batches of a store from now on.
func CrowdOf(s *Store) *Crowd {
	c := &Crowd{g: &s.bucket.puts}
	many := c.g.many
	c.g.many = func(group []*put) error {
		err := many(group)
		if err == nil {
			c.Taken.Add(1)
		} else {
			c.Refused.Add(1)
		}
		return err
	}
	return c
}

// Hold makes all puts wait; false while some are on their way.
func (c *Crowd) Hold() bool {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	if c.g.sending {
		return false
	}
	c.g.batching, c.g.single, c.g.small, c.g.sending = true, time.Hour, 0, true
	return true
}

// Release sends what waits; false while that is not enough for a batch.
func (c *Crowd) Release() bool {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	if len(c.g.waiting) < minGroup {
		return false
	}
	go c.g.send()
	return true
}
