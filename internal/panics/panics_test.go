package panics

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatch(t *testing.T) {
	require.NoError(t, Catch(func() error { return nil }))
	require.Equal(t, io.EOF, Catch(func() error { return io.EOF }))
	err := Catch(func() error { return explode() })
	require.EqualError(t, err, "panic: boom")
	p, ok := errors.AsType[*Error](err)
	require.True(t, ok)
	require.Contains(t, string(p.Stack), "panics.explode", "where it was")
}

func explode() error { panic("boom") }
