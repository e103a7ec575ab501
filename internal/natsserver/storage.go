package natsserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// storageCheck is the interval between two checks of the store; contract §9
	// allows five seconds until the health check fails, and ten until everything
	// works again.
	storageCheck = time.Second
	// storageRoom is the space, in bytes, that must be writable before JetStream
	// is restarted. If a stream fills it up, JetStream stops again within a
	// second.
	storageRoom = 1 << 20
)

// errStorage reports a JetStream store that cannot be written.
var errStorage = errors.New("JetStream store cannot be written")

// storage watches the server's JetStream store. After the first failed write
// the server gives up a stream for good: it acknowledges nothing more, tells
// publishers nothing, and does not write again when there is space. So
// JetStream is stopped meanwhile, and publishers get an error at once; it is
// restarted on the same store once that is writable. Connections and requests
// continue all the time.
type storage struct {
	ns     *server.Server
	config server.JetStreamConfig
	dir    string
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	fault error
}

func watchStorage(ns *server.Server, opts *server.Options, log *slog.Logger) *storage {
	s := &storage{ns: ns, dir: opts.StoreDir, log: log, done: make(chan struct{})}
	if c := ns.JetStreamConfig(); c != nil {
		s.config = *c
		s.config.StoreDir = opts.StoreDir // EnableJetStream adds the folder
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(ctx)
	return s
}

// stop ends the watch, so that the server can be shut down.
func (s *storage) stop() {
	s.cancel()
	<-s.done
}

// check returns the current fault.
func (s *storage) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

func (s *storage) setFault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
}

func (s *storage) run(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(storageCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.check() == nil {
			s.look()
		} else {
			s.resume()
		}
	}
}

// look stops JetStream if a write has failed. Clustered servers are left alone,
// as there are other copies.
func (s *storage) look() {
	health := s.ns.Healthz(&server.HealthzOptions{})
	if health.Error == "" || !strings.Contains(health.Error, "write error") || s.ns.JetStreamIsClustered() {
		return
	}
	s.setFault(fmt.Errorf("%w: %s", errStorage, health.Error))
	s.log.Error("JetStream stopped, store not writable", "directory", s.dir, "error", health.Error)
	if err := s.ns.DisableJetStream(); err != nil {
		s.log.Error("JetStream not stopped", "error", err)
	}
}

// resume restarts JetStream if the store is writable.
func (s *storage) resume() {
	if err := s.writable(); err != nil {
		s.setFault(fmt.Errorf("%w: %w", errStorage, err))
		return
	}
	config := s.config // EnableJetStream changes it
	if err := s.ns.EnableJetStream(&config); err != nil {
		s.setFault(fmt.Errorf("%w: %w", errStorage, err))
		s.log.Error("JetStream not restarted, will retry", "error", err)
		if err := s.ns.DisableJetStream(); err != nil {
			s.log.Error("JetStream not stopped", "error", err)
		}
		return
	}
	s.setFault(nil)
	s.log.Warn("JetStream restarted, store writable again", "directory", s.dir)
}

// writable returns an error if [storageRoom] bytes cannot be written to the
// store.
func (s *storage) writable() error {
	f, err := os.CreateTemp(s.dir, "room-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(make([]byte, storageRoom))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
