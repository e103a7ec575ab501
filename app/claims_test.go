package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// The bucket of claims is opened where models are asked: from the start, or after a
// reload.
func TestClaimsAreOpenedOnceAModelIsAsked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hint.json5")
	write := func(content string) {
		require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	write(`{classifier: 'local'}`)
	s := start(t, map[string]string{"HINT_CONFIG": path})
	claims := func() error {
		_, err := s.JS.KeyValue(t.Context(), "OPENCLAW_EVENTS_CLAIMS")
		return err
	}
	require.ErrorIs(t, claims(), jetstream.ErrBucketNotFound)
	write(`{classifier: 'llm', model: 'none/m', providers: {none: {baseUrl: 'http://127.0.0.1:1'}}}`)
	s.Eventually("the bucket", func() bool { return claims() == nil })

	asking, _ := withModel(t, nil)
	_, err := asking.JS.KeyValue(t.Context(), "OPENCLAW_EVENTS_CLAIMS")
	require.NoError(t, err)
}
