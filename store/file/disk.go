package file

import (
	"errors"
	"os"
	"sync"
)

// disk makes writes survive a power loss. Tests put another one in its place.
type disk struct {
	// file syncs the content of a file, dir the names in a directory.
	file func(f *os.File) error
	dir  func(dir string) error
}

func newDisk() disk {
	names := &nameSync{done: sync.NewCond(new(sync.Mutex))}
	return disk{file: (*os.File).Sync, dir: names.sync}
}

// nameSync syncs the names in a directory for all who ask while it is at it
// with one call more.
type nameSync struct {
	done *sync.Cond // its lock guards what follows
	// asked counts those who came, served those whose names are synced.
	asked, served int64
	working       bool
	err           error // of the last call
}

func (n *nameSync) sync(dir string) error {
	n.done.L.Lock()
	defer n.done.L.Unlock()
	n.asked++
	for mine := n.asked; n.served < mine; {
		if n.working {
			n.done.Wait()
			continue
		}
		all := n.asked
		n.working = true
		n.done.L.Unlock()
		err := syncDir(dir)
		n.done.L.Lock()
		n.working, n.served, n.err = false, all, err
		n.done.Broadcast()
	}
	return n.err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
