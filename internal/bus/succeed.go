package bus

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/internal/natsserver"
)

// successionPause is the interval between attempts to start the server of a
// process that has died. It does not grow: contract §9 allows five seconds in all.
const successionPause = 50 * time.Millisecond

// join lets this process restart the joined server if that server uses the same
// data directory.
func (b *Bus) join() {
	if !b.options.Wait {
		return // a command, which ends soon
	}
	b.member = natsserver.Join(b.options.Embedded, b.target, b.options.Log)
	if b.member == nil {
		return
	}
	b.system.mu.Lock()
	b.system.member = b.member
	b.system.mu.Unlock()
	b.work.Go(b.succeed)
}

// succeed restarts the server when the process that ran it has died, until
// Close. If several processes try, the one that locks the data directory
// succeeds.
func (b *Bus) succeed() {
	lost := b.NC.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING)
	defer b.NC.RemoveStatusListener(lost)
	for {
		select {
		case <-b.closing:
			return
		case <-lost:
		case <-time.After(time.Second): // lost before this began
		}
		for failed := false; !b.NC.IsConnected(); {
			srv, err := b.member.Restart()
			if srv != nil {
				b.srv.Store(srv)
				b.options.Log.Warn("NATS server of another process has gone, started it here", "url", srv.URL(), "store", srv.StoreDir())
				return
			}
			if err != nil && !failed {
				failed = true
				level := b.options.Log.Error
				if errors.Is(err, natsserver.ErrAddressTaken) {
					level = b.options.Log.Warn
				}
				level("NATS server not started here, will retry", "error", err)
			}
			select {
			case <-b.closing:
				return
			case <-time.After(successionPause):
			}
		}
	}
}
