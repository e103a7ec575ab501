package file

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCacheIsBoundedInBytes(t *testing.T) {
	c, err := newCache[string](100)
	require.NoError(t, err)
	c.put("a", "1", 60)
	c.put("b", "2", 30)
	_, ok := c.get("a")
	require.True(t, ok)
	c.put("c", "3", 30)
	_, ok = c.get("b")
	require.False(t, ok, "the one that was not used for longest goes")
	c.put("a", "4", 10)
	require.EqualValues(t, 40, c.bytes)
	v, ok := c.get("a")
	require.True(t, ok)
	require.Equal(t, "4", v)
	c.put("large", "5", 1000)
	require.Equal(t, 1, c.lru.Len(), "the session at hand stays")
	c.remove("large")
	require.Zero(t, c.bytes)
}
