package access

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const local = "nats://127.0.0.1:4222"

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestContextsKeepTheirPasswords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, damaged, err := Passwords(dir)
	require.NoError(t, err)
	require.Empty(t, damaged)
	require.Len(t, first, 3)
	for _, password := range first {
		require.GreaterOrEqual(t, len(password), 26, "128 bits")
	}
	require.NotEqual(t, first[Operator], first[Gateway])
	require.NoError(t, WriteContexts(dir, local, first))
	for user := range first {
		require.Equal(t, fs.FileMode(0o600), mode(t, ContextFile(dir, user)))
	}
	again, damaged, err := Passwords(dir)
	require.NoError(t, err)
	require.Empty(t, damaged)
	require.Equal(t, first, again)

	before, err := os.Stat(ContextFile(dir, Gateway))
	require.NoError(t, err)
	require.NoError(t, WriteContexts(dir, local, first))
	after, err := os.Stat(ContextFile(dir, Gateway))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "what is right is not written again")

	require.NoError(t, WriteContexts(dir, "nats://127.0.0.1:4333", first))
	c, err := ReadContext(dir, Gateway)
	require.NoError(t, err)
	require.Equal(t, Context{Description: "intenthint, gateway", URL: "nats://127.0.0.1:4333", User: "gateway", Password: first[Gateway]}, c, "the address follows")

	require.NoError(t, os.Chmod(ContextFile(dir, Gateway), 0o644)) //nolint:gosec // by mistake
	require.NoError(t, WriteContexts(dir, "nats://127.0.0.1:4333", first))
	require.Equal(t, fs.FileMode(0o600), mode(t, ContextFile(dir, Gateway)))
	left, err := os.ReadDir(filepath.Join(dir, contextsDir))
	require.NoError(t, err)
	require.Len(t, left, 3, "no temporary file is left")
}

func TestDamagedContextGetsANewPassword(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":         "",
		"cut":           `{"user": "gateway", "password": "abc`,
		"no password":   `{"url": "nats://127.0.0.1:4222", "user": "gateway"}`,
		"another user":  `{"url": "nats://127.0.0.1:4222", "user": "operator", "password": "abc"}`,
		"no context":    `[]`,
		"another value": `{"user": "gateway", "password": 7}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first, _, err := Passwords(dir)
			require.NoError(t, err)
			require.NoError(t, WriteContexts(dir, local, first))
			require.NoError(t, os.WriteFile(ContextFile(dir, Gateway), []byte(content), 0o600))
			second, damaged, err := Passwords(dir)
			require.NoError(t, err)
			require.Len(t, damaged, 1)
			require.ErrorIs(t, damaged[0], ErrNoContext)
			require.ErrorContains(t, damaged[0], ContextFile(dir, Gateway))
			require.NotContains(t, damaged[0].Error(), "abc")
			require.Equal(t, first[Operator], second[Operator])
			require.NotEqual(t, first[Gateway], second[Gateway])
			require.NotEqual(t, "abc", second[Gateway])
			require.NoError(t, WriteContexts(dir, local, second))
			c, err := ReadContext(dir, Gateway)
			require.NoError(t, err)
			require.Equal(t, second[Gateway], c.Password)
		})
	}
}

func TestContextsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, contextsDir), nil, 0o600))
	_, _, err := Passwords(dir)
	require.Error(t, err)
	require.Error(t, WriteContexts(dir, local, nil))
}

func TestSharedContext(t *testing.T) {
	t.Parallel()
	const somebodys = `{"description": "mine", "url": "nats://example.org", "password": "x"}`
	ours := `{"description": "Written by intenthint for gateways, from /old", "url": "nats://127.0.0.1:4222", "user": "gateway", "password": "old"}`
	mine := Context{Description: "Written by intenthint for gateways, from /data", URL: local, User: "gateway", Password: "new"}
	open := Context{Description: mine.Description, URL: local}
	for _, row := range []struct {
		name, present, password string
		want                    *Context // nil: as it was
		err                     error
	}{
		{"none", "", "new", &mine, nil},
		{"of another consumer", ours, "new", &mine, nil},
		{"somebody's", somebodys, "new", nil, ErrNotOurs},
		{"not JSON", "{", "new", nil, ErrNotOurs},
		{"blank", "\n", "new", &mine, nil},
		{"none, without authentication", "", "", nil, nil},
		{"of a consumer, without authentication", ours, "", &open, nil},
		{"somebody's, without authentication", somebodys, "", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "nats", "context")
			path := filepath.Join(dir, "intenthint.json")
			if row.present != "" {
				require.NoError(t, os.MkdirAll(dir, 0o700))
				require.NoError(t, os.WriteFile(path, []byte(row.present), 0o644)) //nolint:gosec // as people do
			}
			require.ErrorIs(t, ShareContext(dir, "/data", local, row.password), row.err)
			data, err := os.ReadFile(path)
			if row.want == nil {
				require.Equal(t, row.present, string(data))
				return
			}
			require.NoError(t, err)
			var got Context
			require.NoError(t, json.Unmarshal(data, &got))
			require.Equal(t, *row.want, got)
			require.Equal(t, fs.FileMode(0o600), mode(t, path))
		})
	}
}
