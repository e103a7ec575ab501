package file

import (
	"context"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// A session is locked by its shard: in this process by a semaphore, between
// processes by a lock on a file. All processes must agree on the number of
// shards.
const (
	lockDir    = ".locks"
	shardCount = 256
	// lockPoll is how often to retry a lock that another process holds.
	lockPoll = time.Millisecond
)

type shard struct {
	sem  chan struct{}
	file *flock.Flock
}

func newShard(path string) shard {
	return shard{make(chan struct{}, 1), flock.New(path, flock.SetPermissions(0o600))}
}

// current reports whether the held lock is the one that other processes use. It
// is not once its directory has vanished.
func (sh *shard) current() bool {
	held, err := sh.file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(sh.file.Path())
	return err == nil && os.SameFile(held, now)
}

func (s *Store) shard(token string) *shard {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(token))
	return &s.shards[hash.Sum32()%shardCount]
}

// lock waits for the lock of a session until ctx ends.
func (s *Store) lock(ctx context.Context, token string) (unlock func(), err error) {
	sh := s.shard(token)
	select {
	case sh.sem <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		_, err = sh.file.TryLockContext(ctx, lockPoll)
		if errors.Is(err, fs.ErrNotExist) {
			// The directory has vanished.
			if err = s.makeDirs(); err == nil {
				_, err = sh.file.TryLockContext(ctx, lockPoll)
			}
		}
		if err != nil {
			// The file that was opened for the lock may have vanished since.
			_ = sh.file.Close()
			<-sh.sem
			return nil, err
		}
		if sh.current() {
			break
		}
		_ = sh.file.Unlock()
	}
	return func() {
		if err := sh.file.Unlock(); err != nil {
			s.log.ErrorContext(ctx, "releasing session lock", "error", err)
		}
		<-sh.sem
	}, nil
}
