// Package disk makes small files durable at a fraction of the cost of an fsync
// and a new file for each: files written at the same time are synced by one
// call, and replaced files are written again.
package disk

import (
	"errors"
	"os"
	"sync"
	"time"
)

// Disk syncs the files of one directory. Tests replace its functions.
type Disk struct {
	// File syncs the content of a file.
	File func(f *os.File) error
	// Names syncs the names in the directory.
	Names func() error
}

// New returns the disk that a directory is on.
func New(dir string) Disk {
	names := newNameSync(func() error { return SyncDir(dir) })
	contents := &contentSync{one: (*os.File).Sync}
	if canSyncAll(dir) {
		contents.all = syncAll
	}
	return Disk{File: contents.sync, Names: names.sync}
}

// Bounds of syncing a whole file system.
const (
	// leastTogether is the smallest group that is synced with one call.
	leastTogether = 3
	// patience is how long the call may take. It also flushes the writes of
	// other programs. After a slow call, files are synced one by one for
	// restAfter times as long.
	patience  = 50 * time.Millisecond
	restAfter = 20
)

// contentSync syncs files. Files written at the same time are synced together
// where possible: one call for all takes hardly longer than one for each.
type contentSync struct {
	one func(*os.File) error
	// all syncs everything on the file system of a file; nil: not possible.
	all func(*os.File) error

	mu      sync.Mutex // guards what follows
	waiting []unsynced
	working bool
	notAll  time.Time // before it, files are synced one by one
}

type unsynced struct {
	file *os.File
	done chan<- error
}

func (c *contentSync) sync(f *os.File) error {
	c.mu.Lock()
	if c.working {
		done := make(chan error, 1)
		c.waiting = append(c.waiting, unsynced{f, done})
		c.mu.Unlock()
		return <-done
	}
	c.working = true
	c.mu.Unlock()
	err := c.one(f)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working = len(c.waiting) > 0; c.working {
		go c.work()
	}
	return err
}

// work syncs the waiting files until there are none.
func (c *contentSync) work() {
	for {
		c.mu.Lock()
		group, together := c.waiting, c.all != nil && time.Now().After(c.notAll)
		c.waiting = nil
		c.working = len(group) > 0
		c.mu.Unlock()
		if len(group) == 0 {
			return
		}
		if len(group) >= leastTogether && together && c.together(group) {
			continue
		}
		var each sync.WaitGroup
		for _, u := range group {
			each.Go(func() { u.done <- c.one(u.file) })
		}
		each.Wait()
	}
}

// together syncs all files of a group with one call. It returns false after an
// error, which may concern another program's file.
func (c *contentSync) together(group []unsynced) bool {
	began := time.Now()
	err := c.all(group[0].file)
	if took := time.Since(began); took > patience || err != nil {
		c.mu.Lock()
		c.notAll = time.Now().Add(restAfter * max(took, patience))
		c.mu.Unlock()
	}
	if err != nil {
		return false
	}
	for _, u := range group {
		u.done <- nil
	}
	return true
}

// nameSync syncs the names in a directory. Callers that come while a sync is
// running share the next one.
type nameSync struct {
	one     func() error
	done    *sync.Cond // its lock guards what follows
	working bool
	next    *nameCall // for new callers; nil if there are none
}

// nameCall is one call and its result.
type nameCall struct {
	ended bool
	err   error
}

func newNameSync(one func() error) *nameSync {
	return &nameSync{one: one, done: sync.NewCond(new(sync.Mutex))}
}

func (n *nameSync) sync() error {
	n.done.L.Lock()
	defer n.done.L.Unlock()
	if n.next == nil {
		n.next = new(nameCall)
	}
	mine := n.next
	for !mine.ended {
		if n.working {
			n.done.Wait()
			continue
		}
		n.working, n.next = true, nil
		n.done.L.Unlock()
		mine.err = n.one()
		n.done.L.Lock()
		n.working, mine.ended = false, true
		n.done.Broadcast()
	}
	return mine.err
}

// SyncDir syncs the names in a directory.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
