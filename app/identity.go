package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"intenthint/config"
	"intenthint/internal/atomicfile"
	"intenthint/internal/bus"
	"intenthint/store"
	"intenthint/store/file"
)

// systemFile holds the id of the system in the sessions directory.
const systemFile = ".system"

// ErrStoreMismatch reports a process whose session store is not the one of the
// system whose stream it found.
var ErrStoreMismatch = errors.New("session store of another system")

// settlePause is how long processes that name a system at the same moment wait
// to see which name wins. A stream is changed within milliseconds.
const settlePause = 250 * time.Millisecond

// identify creates missing streams and durables, and makes sure that this
// process and the event stream belong to the same system (contract §9). A stream
// without an identity gets one. If the process is refused, nothing has been
// created, unless the NATS user may not look at the stream, or another process
// names it meanwhile.
func (a *App) identify(ctx context.Context) error {
	err := retryTemporary(ctx, a.log, func(ctx context.Context) error {
		_, err := CheckSystem(ctx, a.cfg, a.requests)
		return err
	})
	if err != nil && !errors.Is(err, bus.ErrDenied) {
		return err
	}
	id, err := readSystemFile(a.cfg)
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	own := bus.System{ID: id, Store: a.cfg.Store.Kind, Place: place(a.cfg)}
	wanted := own
	if wanted.ID == "" {
		wanted.ID = nuid.Next()
	}
	a.layout.System = wanted
	if err := provision(ctx, a.requests, a.layout, a.log); err != nil {
		return err
	}
	found, alive, err := a.readSystem(ctx)
	if err == nil && found.ID == "" {
		// own may have no id: all processes that name the stream now must agree.
		found, alive, err = a.nameSystem(ctx, own)
	}
	if errors.Is(err, bus.ErrDenied) {
		a.log.Warn("identity of the system not checked", "error", err)
		a.layout.System = bus.System{}
		return nil
	}
	if err != nil {
		return err
	}
	// Another process of the same directory may have put the id there meanwhile.
	// It does so before it takes events.
	if own.ID, err = readSystemFile(a.cfg); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	if !belongs(own, found, alive) {
		return otherStore(own, found, a.layout, a.requests)
	}
	if own.Store == config.StoreFile && own.ID == "" {
		if found.Place == "" {
			if found, err = a.takePlace(ctx, own, found); err != nil {
				return err
			}
		}
		if err := writeSystemFile(a.cfg, found.ID); err != nil {
			return fmt.Errorf("sessions: %w", err)
		}
	}
	if copied(own, found) { // and no process uses the other one
		if found, err = a.takePlace(ctx, own, found); err != nil {
			return err
		}
	}
	a.layout.System = found
	a.requests.Belong(a.layout.Stream, found.ID)
	return nil
}

// NewSystem returns a new identity for a stream that an operator creates. It has a
// place only if HINT_SESSIONS_DIR is set, to an absolute path: the operator's own data
// directory may be another than the consumers'.
func NewSystem(cfg *config.Config) bus.System {
	s := bus.System{ID: nuid.Next(), Store: cfg.Store.Kind}
	if dir := cfg.Store.SessionsDir; filepath.IsAbs(dir) && dir != config.DefaultSessionsDir(cfg.DataDir) {
		s.Place = place(cfg)
	}
	return s
}

// nameSystem gives the stream an identity, and returns the one that stays.
func (a *App) nameSystem(ctx context.Context, s bus.System) (found bus.System, alive bool, err error) {
	written, err := bus.WriteSystem(ctx, a.requests.JS, a.layout, s)
	if err != nil {
		return bus.System{}, false, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(settlePause):
	}
	if found, alive, err = a.readSystem(ctx); err == nil && found.ID == "" {
		found = written // the server that answered lags behind its cluster
	}
	return found, alive, err
}

// takePlace makes the directory of this process the place of a system, so that later
// directories are compared with it: a new one of a system that `stream apply` has
// named, or a copy of one that no process uses. Of two processes that do so at the
// same moment, one is refused.
func (a *App) takePlace(ctx context.Context, own, found bus.System) (bus.System, error) {
	wanted := found
	wanted.Place = own.Place
	after, alive, err := a.nameSystem(ctx, wanted)
	switch {
	case errors.Is(err, bus.ErrDenied):
		// Until it is stored, another directory is refused only while a consumer runs.
		a.log.Warn("sessions directory not stored in the stream", "sessions", a.cfg.Store.SessionsDir, "error", err, "command", "HINT_SESSIONS_DIR=DIR consumer stream apply")
		return found, nil
	case err != nil:
		return found, err
	case alive && copied(own, found): // a process of the other directory has begun meanwhile
		_, err := bus.WriteSystem(ctx, a.requests.JS, a.layout, found)
		return found, errors.Join(otherStore(own, found, a.layout, a.requests), err)
	case after.ID != found.ID || after.Place != own.Place:
		return found, otherStore(own, after, a.layout, a.requests)
	}
	return after, nil
}

// CheckSystem returns the identity of the system behind a connection, and an
// error that wraps [ErrStoreMismatch] or [ErrOtherStream] if the session store of the
// configuration is not the system's. The identity is the zero value if there is
// no stream, or if an older version created the stream.
func CheckSystem(ctx context.Context, cfg *config.Config, b *bus.Bus) (bus.System, error) {
	layout := Layout(cfg)
	if cfg.Store.Kind == config.StoreFile {
		sessions := file.OpenReader(cfg.Store.SessionsDir, store.Options{})
		if _, err := sourceOf(ctx, cfg, sessions); err != nil {
			return bus.System{}, err
		}
	}
	found, alive, err := bus.ReadSystem(ctx, b.JS, layout)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return bus.System{}, nil
	}
	if err != nil || found.ID == "" {
		return found, err
	}
	id, err := readSystemFile(cfg)
	if err != nil {
		return found, fmt.Errorf("sessions: %w", err)
	}
	own := bus.System{ID: id, Store: cfg.Store.Kind, Place: place(cfg)}
	if !belongs(own, found, alive) {
		return found, otherStore(own, found, layout, b)
	}
	return found, nil
}

// ErrOtherStream reports a store that holds the sessions of another stream. Two
// systems must not share a store.
var ErrOtherStream = errors.New("sessions of another stream")

// sourceOf returns the stream that the sessions of a store are made from. It is "" for
// a new store and for an unreadable one, which is rebuilt. The error wraps
// [ErrOtherStream] if the stream is not the configured one.
func sourceOf(ctx context.Context, cfg *config.Config, sessions store.Reader) (stream string, err error) {
	source, err := sessions.Source(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // an unreadable store is rebuilt
	}
	if source.Stream != "" && source.Stream != cfg.Bus.Stream {
		return "", fmt.Errorf("%w in %s: of stream %s, not %s; set another HINT_DATA_DIR or HINT_SESSIONS_DIR to keep the systems apart, or remove the file .source there to take the sessions over",
			ErrOtherStream, StoreName(cfg), source.Stream, cfg.Bus.Stream)
	}
	return source.Stream, nil
}

func (a *App) readSystem(ctx context.Context) (found bus.System, alive bool, err error) {
	err = retryTemporary(ctx, a.log, func(ctx context.Context) (err error) {
		found, alive, err = bus.ReadSystem(ctx, a.requests.JS, a.layout)
		return err
	})
	return found, alive, err
}

// otherStore returns an error that names both stores and the possible fixes.
func otherStore(own, found bus.System, layout bus.Layout, b *bus.Bus) error {
	if own.Store == config.StoreFile && found.Store == config.StoreFile && own.Place != "" && found.Place != "" {
		return fmt.Errorf("%w: %s is not the directory of stream %s at %s (it is %s); %s", ErrStoreMismatch, own.Place, layout.Stream, b.URL(), found.Place, waysOut(own, found))
	}
	return fmt.Errorf("%w: stream %s at %s keeps %s, not %s; %s", ErrStoreMismatch, layout.Stream, b.URL(), describe(found), describe(own), waysOut(own, found))
}

// belongs reports whether a process with the store own may join the system found. A
// copy of the system's directory may not while a process of the system runs: each of
// the two would hold half of the turns.
func belongs(own, found bus.System, alive bool) bool {
	return sameSystem(own, found, alive) && (!alive || !copied(own, found))
}

// copied reports whether a process's directory has the system's id because it is a
// copy: the system's own directory is on this host too, and another one.
func copied(own, found bus.System) bool {
	host, dir, _ := strings.Cut(found.Place, ":")
	ownHost, ownDir, _ := strings.Cut(own.Place, ":")
	if own.Store != config.StoreFile || own.ID != found.ID || own.ID == "" || host != ownHost || dir == "" || dir == ownDir {
		return false
	}
	id, err := os.ReadFile(filepath.Join(dir, systemFile))
	if err != nil || strings.TrimSpace(string(id)) != found.ID {
		return false // moved
	}
	one, err := os.Stat(dir)
	other, ownErr := os.Stat(ownDir)
	return err == nil && ownErr == nil && !os.SameFile(one, other)
}

// sameSystem reports whether the store own is that of the system found. alive reports
// whether a process of that system runs.
//
// A directory without an id is new. It may replace a directory that the system
// has lost: the same path on the same host, or on another host (a container has
// a new name each time) while no process of the system runs. A system that
// `stream apply` has named has no place until its first process runs.
func sameSystem(own, found bus.System, alive bool) bool {
	switch {
	case own.Store != found.Store:
		return false
	case own.Store != config.StoreFile || own.ID == found.ID:
		return true
	case own.ID != "":
		return false
	case own.Place == found.Place:
		return true
	}
	return !alive && (found.Place == "" || directory(own.Place) == directory(found.Place))
}

// place returns where the sessions are, as HOST:DIRECTORY; "" for a bucket,
// which is stored with the stream.
func place(cfg *config.Config) string {
	if cfg.Store.Kind != config.StoreFile {
		return ""
	}
	dir, err := filepath.Abs(cfg.Store.SessionsDir)
	if err != nil {
		dir = cfg.Store.SessionsDir
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return host + ":" + dir
}

// directory is the directory of a place.
func directory(place string) string {
	_, dir, _ := strings.Cut(place, ":")
	return dir
}

func describe(s bus.System) string {
	switch {
	case s.Store == config.StoreFile && s.Place == "":
		return "files"
	case s.Store == config.StoreFile:
		return "files in " + s.Place
	}
	return "a key-value bucket (HINT_STORE=" + s.Store + ")"
}

// waysOut returns advice on what to set.
func waysOut(own, found bus.System) string {
	const apart = ", or another HINT_NATS_PORT or HINT_STREAM for a system of its own"
	switch {
	case own.Store != found.Store && found.Store == config.StoreFile:
		return "set HINT_STORE=file with its HINT_DATA_DIR or HINT_SESSIONS_DIR" + apart
	case own.Store != found.Store:
		return "set HINT_STORE=" + found.Store + apart
	case own.ID == found.ID:
		return "it is a copy of that of a running process; set HINT_DATA_DIR or HINT_SESSIONS_DIR of that one" + apart
	}
	return "set its HINT_DATA_DIR or HINT_SESSIONS_DIR, HINT_STORE=kv for all processes" + apart
}

// readSystemFile returns the id in the sessions directory; "" if the file is
// missing, or if sessions are not kept in files.
func readSystemFile(cfg *config.Config) (string, error) {
	if cfg.Store.Kind != config.StoreFile {
		return "", nil
	}
	data, err := os.ReadFile(filepath.Join(cfg.Store.SessionsDir, systemFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

func writeSystemFile(cfg *config.Config, id string) error {
	if err := os.MkdirAll(cfg.Store.SessionsDir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(cfg.Store.SessionsDir, systemFile), systemFile+".*", []byte(id+"\n"), 0o600)
}
