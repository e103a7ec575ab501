package lru

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCacheIsBoundedInBytes(t *testing.T) {
	c := New[string](100)
	c.Put("a", "1", 60)
	c.Put("b", "2", 30)
	_, ok := c.Get("a")
	require.True(t, ok)
	c.Put("c", "3", 30)
	_, ok = c.Get("b")
	require.False(t, ok, "the least recently used value is evicted")
	c.Put("a", "4", 10)
	require.EqualValues(t, 40, c.bytes)
	v, ok := c.Get("a")
	require.True(t, ok)
	require.Equal(t, "4", v)
	c.Put("large", "5", 1000)
	require.Equal(t, 1, c.lru.Len(), "the newest value stays")
	c.Remove("large")
	require.Zero(t, c.bytes)
}
