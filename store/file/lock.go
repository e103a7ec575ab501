package file

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A session is locked by its shard: in this process by a semaphore, between
// processes by a lock on a file. All processes must agree on the number of
// shards.
const (
	lockDir    = ".locks"
	shardCount = 64
	// lockPoll is how often a lock that another process holds is tried.
	lockPoll = time.Millisecond
)

type shard struct {
	sem  chan struct{}
	file *flock.Flock
}

func (sh *shard) init(path string) {
	sh.sem = make(chan struct{}, 1)
	sh.file = flock.New(path, flock.SetPermissions(0o600))
}

func (s *Store) lockPath(i int) string {
	return filepath.Join(s.dir, lockDir, fmt.Sprintf("%02d", i))
}

// lock waits for the lock of a session until ctx ends.
func (s *Store) lock(ctx context.Context, token string) (unlock func(), err error) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(token))
	sh := &s.shards[hash.Sum32()%shardCount]
	select {
	case sh.sem <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	_, err = sh.file.TryLockContext(ctx, lockPoll)
	if errors.Is(err, fs.ErrNotExist) {
		// The directory has vanished.
		if err = s.makeDirs(); err == nil {
			_, err = sh.file.TryLockContext(ctx, lockPoll)
		}
	}
	if err != nil {
		<-sh.sem
		return nil, err
	}
	return func() {
		if err := sh.file.Unlock(); err != nil {
			s.log.ErrorContext(ctx, "session lock was not released", "error", err)
		}
		<-sh.sem
	}, nil
}
