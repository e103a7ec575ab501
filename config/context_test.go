package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// contextAt writes a context of the nats command line below a home directory.
func contextAt(t *testing.T, home, name, content string) string {
	t.Helper()
	path := filepath.Join(home, ".config", "nats", "context", name+".json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestContexts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	full := contextAt(t, home, "full", `{"description": "d", "url": "tls://a:1,b:2", "user": "u", "password": "p", "inbox_prefix": "_MINE", "color_scheme": "x"}`)
	empty := contextAt(t, home, "no url", `{"creds": ""}`)
	cut := contextAt(t, home, "cut", `{"url": "nats://a:1", "password": "secret`)
	web := contextAt(t, home, "web", `{"url": "http://a:1"}`)
	wild := contextAt(t, home, "wild", `{"url": "nats://a:1", "inbox_prefix": "a.*"}`)
	contextAt(t, home, "overlap", `{"url": "nats://a:1", "inbox_prefix": "openclaw"}`)
	seedless := contextAt(t, home, "seedless", `{"url": "nats://a:1", "nkey": "/nowhere.nk"}`)
	object := write(t, "plugin.json", `{"natsUrl": "nats://gateway:pw@file:1", "natsInboxPrefix": "_GATEWAY", "natsContext": "unknown"}`)
	for _, row := range []struct {
		name  string
		env   map[string]string
		want  Bus
		wrong string
	}{
		{"a name", map[string]string{"HINT_NATS_CONTEXT": "full"}, Bus{Context: full, URLs: []string{"tls://a:1", "nats://b:2"}, InboxPrefix: "_MINE"}, ""},
		{"a file", map[string]string{"HINT_NATS_CONTEXT": full}, Bus{Context: full, URLs: []string{"tls://a:1", "nats://b:2"}, InboxPrefix: "_MINE"}, ""},
		{"variables win", map[string]string{"HINT_NATS_CONTEXT": "full", "HINT_NATS_URL": "nats://c:3", "HINT_NATS_INBOX_PREFIX": "_OTHER"}, Bus{Context: full, URLs: []string{"nats://c:3"}, InboxPrefix: "_OTHER"}, ""},
		{"a file of settings does not", map[string]string{"HINT_NATS_CONTEXT": "full", "HINT_CONFIG": object}, Bus{Context: full, URLs: []string{"tls://a:1", "nats://b:2"}, InboxPrefix: "_MINE"}, ""},
		{"none", map[string]string{"HINT_CONFIG": object}, Bus{URLs: []string{"nats://gateway:pw@file:1"}, InboxPrefix: "_GATEWAY"}, ""},
		{"unknown", map[string]string{"HINT_NATS_CONTEXT": "unknown"}, Bus{}, "there is no " + filepath.Join(home, ".config", "nats", "context", "unknown.json")},
		{"no such file", map[string]string{"HINT_NATS_CONTEXT": "/nowhere/x.json"}, Bus{}, "no such file"},
		{"a directory", map[string]string{"HINT_NATS_CONTEXT": home + "/"}, Bus{}, "not a regular file"},
		{"outside", map[string]string{"HINT_NATS_CONTEXT": "../full"}, Bus{}, "no such file"},
		{"cut", map[string]string{"HINT_NATS_CONTEXT": "cut"}, Bus{}, cut},
		{"no url", map[string]string{"HINT_NATS_CONTEXT": "no url"}, Bus{}, empty},
		{"a url of the web", map[string]string{"HINT_NATS_CONTEXT": "web"}, Bus{}, web},
		{"a wrong inbox prefix", map[string]string{"HINT_NATS_CONTEXT": "wild"}, Bus{}, wild},
		{"an inbox prefix of the system's", map[string]string{"HINT_NATS_CONTEXT": "overlap"}, Bus{}, "overlap"},
		{"a key that is not there", map[string]string{"HINT_NATS_CONTEXT": "seedless"}, Bus{}, seedless},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.env["HOME"] = home
			c, _, err := LoadFrom(row.env)
			if row.wrong != "" {
				var problems Errors
				require.ErrorAs(t, err, &problems)
				require.Len(t, problems, 1, err)
				require.ErrorContains(t, err, row.wrong)
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.want.Context, c.Bus.Context)
			require.Equal(t, row.want.URLs, c.Bus.URLs)
			require.Equal(t, row.want.InboxPrefix, c.Bus.InboxPrefix)
		})
	}
	t.Run("without a home directory", func(t *testing.T) {
		t.Parallel()
		_, _, err := LoadFrom(map[string]string{"HINT_NATS_CONTEXT": "full"})
		require.ErrorContains(t, err, "home directory is unknown")
	})
	t.Run("in the configuration of the user", func(t *testing.T) {
		t.Parallel()
		c, _, err := LoadFrom(map[string]string{"HINT_NATS_CONTEXT": "full", "HOME": "/nowhere", "XDG_CONFIG_HOME": filepath.Join(home, ".config")})
		require.NoError(t, err)
		require.Equal(t, full, c.Bus.Context)
	})
}
