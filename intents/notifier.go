package intents

import (
	"errors"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// notifier tells of changes in a directory and of changes of the directory
// itself, which its parent knows of.
type notifier struct {
	dir     string
	watcher *fsnotify.Watcher // nil when there are no notifications
	err     error
}

func newNotifier(dir string) *notifier {
	n := &notifier{dir: dir}
	n.watcher, n.err = fsnotify.NewWatcher()
	if n.err != nil {
		n.watcher = nil
		return n
	}
	// Following one of the two is good for something; the poll does the rest.
	if err := n.rearm(); len(n.watcher.WatchList()) == 0 {
		n.err = err
		n.close()
	}
	return n
}

// rearm follows the directory that is at the path now.
func (n *notifier) rearm() error {
	if n.watcher == nil {
		return nil
	}
	parent := filepath.Dir(n.dir)
	_ = n.watcher.Remove(n.dir)
	_ = n.watcher.Remove(parent)
	// The parent comes first: a directory that is made in between is seen there.
	return errors.Join(n.watcher.Add(parent), n.watcher.Add(n.dir))
}

// incomplete reports whether a directory that should be followed is not.
func (n *notifier) incomplete() bool { return n.watcher != nil && len(n.watcher.WatchList()) < 2 }

// concerns reports whether an event can change the catalogue.
func (n *notifier) concerns(event fsnotify.Event) bool {
	if filepath.Dir(event.Name) == n.dir && event.Name != n.dir {
		// Also what is no intent file: a mounted configuration is replaced by
		// moving a link that the files point through.
		return event.Op != fsnotify.Chmod || isIntentFile(filepath.Base(event.Name))
	}
	if event.Name != n.dir {
		return false
	}
	if event.Has(fsnotify.Create) || event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
		_ = n.rearm()
	}
	return true
}

func (n *notifier) events() <-chan fsnotify.Event {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.Events
}

func (n *notifier) errors() <-chan error {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.Errors
}

func (n *notifier) close() {
	if n.watcher != nil {
		_ = n.watcher.Close()
		n.watcher = nil
	}
}
