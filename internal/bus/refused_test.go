package bus

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natsserver"
)

// A credentials file that cannot be read is an error with an embedded server, too.
func TestUnreadableIdentityIsAnError(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for name, identity := range map[string]Identity{"HINT_NATS_CREDS": {Creds: missing}, "HINT_NATS_NKEY": {NKey: missing}} {
		_, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Identity: identity, Log: quiet})
		require.ErrorContains(t, err, name+" "+missing)
	}
}
