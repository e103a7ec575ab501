package room_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/room"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	free, ok := room.Free(dir)
	if !ok {
		t.Skip("unknown on this system")
	}
	require.Greater(t, free, uint64(room.Least))
	require.NoError(t, room.Check(dir))
	require.NoError(t, room.Check(filepath.Join(dir, "missing")), "a missing directory has room")
}
