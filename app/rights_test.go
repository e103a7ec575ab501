package app_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/natstest"
)

// said is a log that is read while it is written.
type said struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.out.Write(p) }

func (s *said) has(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.out.String(), part)
}

// Without the permission to publish turns, the first hint would be the first to tell.
func TestAMissingPermissionIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{JetStream: true, Users: []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{">"}, Deny: []string{"openclaw.event.>"}},
	}}}})
	log := new(said)
	cfg := apptest.Settle(t, map[string]string{"HINT_NATS_URL": strings.Replace(ns.ClientURL(), "nats://", "nats://u:p@", 1)})
	a := app.New(cfg, app.Options{Version: "0.0.0", Log: slog.New(slog.NewTextHandler(log, nil)), Level: new(slog.LevelVar)})
	require.NoError(t, a.Start(t.Context()))
	defer func() { require.NoError(t, a.Stop()) }()
	require.Eventually(t, func() bool {
		return log.has(`msg="NATS user lacks a permission" for="publishing turns" subject=openclaw.event.turn_begun.`)
	}, time.Minute, 10*time.Millisecond)
}
