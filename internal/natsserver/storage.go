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
	// storageCheck is the interval between two looks at the store; contract §9
	// allows five seconds until health fails, ten until all goes on.
	storageCheck = time.Second
	// storageRoom is the room, in bytes, that must be writable before JetStream
	// starts again. A stream that fills it up stops again within a second.
	storageRoom = 1 << 20
)

// errStorage reports a JetStream store that cannot be written.
var errStorage = errors.New("JetStream store cannot be written")

// storage watches the server's JetStream store. The server gives a stream up for
// good after the first write that failed: it acknowledges nothing more, says
// nothing to publishers, and does not write again when there is room. So
// JetStream is stopped meanwhile, and publishers learn at once that nobody takes
// their messages; it starts again on the same store once that can be written.
// Connections and requests go on all the time.
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

// check returns the present fault.
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

// look stops JetStream if a write has failed. The servers of a cluster have
// other copies and are left alone.
func (s *storage) look() {
	health := s.ns.Healthz(&server.HealthzOptions{})
	if health.Error == "" || !strings.Contains(health.Error, "write error") || s.ns.JetStreamIsClustered() {
		return
	}
	s.setFault(fmt.Errorf("%w: %s", errStorage, health.Error))
	s.log.Error("JetStream stopped, its store cannot be written", "directory", s.dir, "error", health.Error)
	if err := s.ns.DisableJetStream(); err != nil {
		s.log.Error("JetStream not stopped", "error", err)
	}
}

// resume starts JetStream again if the store can be written.
func (s *storage) resume() {
	if err := s.writable(); err != nil {
		s.setFault(fmt.Errorf("%w: %w", errStorage, err))
		return
	}
	config := s.config // EnableJetStream changes it
	if err := s.ns.EnableJetStream(&config); err != nil {
		s.setFault(fmt.Errorf("%w: %w", errStorage, err))
		s.log.Error("JetStream not started again, will retry", "error", err)
		if err := s.ns.DisableJetStream(); err != nil {
			s.log.Error("JetStream not stopped", "error", err)
		}
		return
	}
	s.setFault(nil)
	s.log.Warn("JetStream started again, its store can be written", "directory", s.dir)
}

// writable returns why [storageRoom] bytes cannot be written to the store.
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
