package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// notifier receives notifications of changes at a path. Directories are
// watched rather than files, since editors replace files.
type notifier struct {
	path    string
	watcher *fsnotify.Watcher
	places  map[string]bool // names of events that concern the path
	dir     string          // the directory at the path; "" if it is missing
}

func newNotifier(path string) (*notifier, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{path: path, watcher: watcher}, nil
}

func (n *notifier) close() { _ = n.watcher.Close() }

// concerns reports whether an event may have changed the content at the path.
// Every event in a directory at the path may: a relevant file may be a link
// through an irrelevant one.
func (n *notifier) concerns(event fsnotify.Event) bool {
	return n.places[event.Name] || n.dir != "" && filepath.Dir(event.Name) == n.dir
}

// arm watches what is now at the path. A watch follows a directory that is
// moved or replaced, so all watches are set again. If one cannot be set,
// polling covers it.
func (n *notifier) arm() {
	for _, dir := range n.watcher.WatchList() {
		_ = n.watcher.Remove(dir)
	}
	n.places, n.dir = map[string]bool{}, ""
	places := trail(n.path)
	for _, place := range places {
		n.places[place] = true
		_ = n.watcher.Add(filepath.Dir(place))
	}
	end := places[len(places)-1]
	if info, err := os.Stat(end); err == nil && info.IsDir() {
		n.dir = end
		_ = n.watcher.Add(end)
	}
}

// maxLinks is how many symbolic links Linux follows in one path.
const maxLinks = 40

// trail returns the places whose change affects what an absolute path leads to:
// each symbolic link on the way, then its end, or the first missing part of the
// path. None of their parent directories is a link.
func trail(path string) []string {
	var (
		places []string
		at     = root(path)
		parts  = split(path)
	)
	for links := 0; len(parts) > 0 && links < maxLinks; {
		place := filepath.Join(at, parts[0])
		parts = parts[1:]
		target, err := os.Readlink(place)
		switch {
		case err == nil:
			links++
			places = append(places, place)
			parts = append(split(target), parts...)
			if filepath.IsAbs(target) {
				at = root(target)
			}
		case errors.Is(err, fs.ErrNotExist):
			return append(places, place)
		default: // It is not a link.
			at = place
		}
	}
	return append(places, at)
}

func root(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }

// split returns the elements of a path, without its root.
func split(path string) []string {
	path = strings.TrimPrefix(filepath.Clean(path), filepath.VolumeName(path))
	return strings.Split(strings.TrimPrefix(path, string(filepath.Separator)), string(filepath.Separator))
}
