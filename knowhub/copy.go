package knowhub

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
)

// Query is a search.
type Query struct {
	Text string
	// AgentID limits the search to one agent; "" means all.
	AgentID string
	// Unowned limits the search to experiences without an agent.
	Unowned bool
	// Prompt is set if the text is a message to an agent, not words to search for:
	// then one of function words alone finds nothing.
	Prompt bool
	Limit  int
}

// Hit is an experience found by a search; better hits have higher scores.
type Hit struct {
	experience.Experience
	Score float64
}

// Index is a searchable copy of the bucket.
type Index interface {
	bucket.Follower
	// Put applies a change of this process before the bucket reports it. The place of
	// the copy does not move. A change that is older than the copy's entry is ignored.
	Put(ctx context.Context, c bucket.Change) error
	// Search returns approved experiences, best first.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// List returns the experiences of a status, newest first.
	List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error)
	// Near returns experiences of any status that say nearly the same as e, best
	// first; with own only those of the agent of e.
	Near(ctx context.Context, e experience.Experience, own bool) ([]Hit, error)
	// Counts returns the number of experiences by status.
	Counts(ctx context.Context) (map[experience.Status]int, error)
	Close() error
}

// Followed is a bucket that can be followed; [bucket.Experiences] is one.
type Followed interface {
	Follow(ctx context.Context, f bucket.Follower, o bucket.Following) error
}

// CopyOptions configure a [Copy].
type CopyOptions struct {
	Bucket Followed
	// Open opens the index, and creates it if it is missing or damaged.
	Open func(ctx context.Context) (Index, error)
	// Path is the file of the index. If the file is replaced or removed, the index
	// is opened again. "" for none.
	Path    string
	Metrics *Metrics
	Log     *slog.Logger
}

// Copy keeps an [Index] of the bucket: it follows the bucket, and reopens or
// rebuilds the index when it is lost. Without an index, reads fail.
type Copy struct {
	o CopyOptions

	mu      sync.Mutex // guards what follows
	current *opened
	fault   error // why the index cannot be opened
	// moved is closed and replaced when current has changed.
	moved chan struct{}
}

// opened is an index in use. Its last user closes it.
type opened struct {
	Index
	users  int
	begun  chan struct{} // closed once Follow has begun: a new copy has been emptied by then
	broken chan struct{} // closed by the first failure of a reader
	once   sync.Once
}

// fail has the index reopened.
func (o *opened) fail() { o.once.Do(func() { close(o.broken) }) }

// NewCopy returns a copy that is empty until [Copy.Run] is called.
func NewCopy(o CopyOptions) *Copy { return &Copy{o: o, moved: make(chan struct{})} }

const (
	// minPause and maxPause bound the backoff after a failure of the bucket or the
	// index.
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
	// waitTime bounds how long readers and writers wait for an index that is being
	// opened.
	waitTime = time.Second
)

// errNoIndex reports that there is no index at present.
var errNoIndex = errors.New("index is being opened")

// errFailed reports an index that could not be read.
var errFailed = errors.New("index failed")

// errReplaced reports that the index file was replaced or removed.
var errReplaced = errors.New("index file replaced")

// Run keeps the copy until ctx ends.
func (c *Copy) Run(ctx context.Context) {
	pause := minPause
	for ctx.Err() == nil {
		began := time.Now()
		err := c.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if pause = min(2*pause, maxPause); time.Since(began) > maxPause {
			pause = minPause
		}
		c.o.Log.Warn("experiences not followed, will retry", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// round opens the index and follows the bucket until something fails.
func (c *Copy) round(ctx context.Context) error {
	index, err := c.o.Open(ctx)
	c.mu.Lock()
	c.fault = err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	own := &opened{Index: index, begun: make(chan struct{}), broken: make(chan struct{})}
	begun := sync.OnceFunc(func() { close(own.begun) })
	c.use(own)
	defer c.use(nil)
	var file os.FileInfo
	if c.o.Path != "" {
		if file, err = os.Stat(c.o.Path); err != nil {
			return err
		}
	}
	check := func() error {
		select {
		case <-own.broken:
			return errFailed
		default:
		}
		if file == nil {
			return nil
		}
		if now, err := os.Stat(c.o.Path); err != nil || !os.SameFile(now, file) {
			return errReplaced
		}
		return nil
	}
	began := time.Now()
	return c.o.Bucket.Follow(ctx, counted{index, c.o.Metrics}, bucket.Following{
		Check: check,
		Applied: func(revision uint64) {
			begun()
			c.o.Metrics.revision.Set(float64(revision))
		},
		CaughtUp: func() {
			c.o.Metrics.ready.Set(1)
			c.o.Log.Debug("index of experiences has caught up", "took_ms", time.Since(began).Milliseconds())
		},
		Unreadable: func(key string, err error) {
			c.o.Log.Warn("experience cannot be read, and counts as missing", "key", key, "error", err)
		},
	})
}

// counted is an index that counts how often it is begun again.
type counted struct {
	Index
	metrics *Metrics
}

// Reset implements [bucket.Follower].
func (i counted) Reset(ctx context.Context, of string) error {
	i.metrics.rebuilds.Inc()
	return i.Index.Reset(ctx, of)
}

// use makes an index the one to read from, and leaves the previous one to its
// readers.
func (c *Copy) use(next *opened) {
	c.mu.Lock()
	before := c.current
	c.current = next
	if next != nil {
		next.users = 1
	}
	close(c.moved)
	c.moved = make(chan struct{})
	c.mu.Unlock()
	if next == nil {
		c.o.Metrics.ready.Set(0)
	}
	c.leave(before)
}

// Put applies what this process has written, so that it is found at once. If that
// fails, it is found a little later, when the bucket reports it.
func (c *Copy) Put(ctx context.Context, e bucket.Stored) {
	if c == nil {
		return // the copy is not run
	}
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	o, err := c.enter(ctx)
	if err != nil {
		return
	}
	defer c.leave(o)
	select {
	case <-o.begun:
	case <-ctx.Done():
		return
	}
	if err := o.Put(ctx, bucket.Change{ID: e.ID, Revision: e.Revision, Experience: e.Experience}); err != nil && ctx.Err() == nil {
		o.fail()
	}
}

// Ready reports whether there is an index at present.
func (c *Copy) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil
}

// Check returns why the index cannot be opened. It is a health check.
func (c *Copy) Check(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// enter returns the index in use, and waits a little for one that is being opened.
// leave must be called after reading.
func (c *Copy) enter(ctx context.Context) (*opened, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	for {
		c.mu.Lock()
		o, moved := c.current, c.moved
		if o != nil {
			o.users++
		}
		c.mu.Unlock()
		if o != nil {
			return o, nil
		}
		select {
		case <-ctx.Done():
			return nil, errNoIndex
		case <-moved:
		}
	}
}

func (c *Copy) leave(o *opened) {
	if o == nil {
		return
	}
	c.mu.Lock()
	o.users--
	last := o.users == 0
	c.mu.Unlock()
	if last {
		if err := o.Close(); err != nil {
			c.o.Log.Warn("index of experiences not closed", "error", err)
		}
	}
}

// read calls f with the index in use. After a failure the index is reopened.
func read[T any](ctx context.Context, c *Copy, f func(Index) (T, error)) (T, error) {
	o, err := c.enter(ctx)
	if err != nil {
		return *new(T), err
	}
	defer c.leave(o)
	out, err := f(o.Index)
	if err != nil && ctx.Err() == nil {
		o.fail()
	}
	return out, err
}

// Search calls [Index.Search] on the index in use.
func (c *Copy) Search(ctx context.Context, q Query) ([]Hit, error) {
	return read(ctx, c, func(i Index) ([]Hit, error) { return i.Search(ctx, q) })
}

// List calls [Index.List] on the index in use.
func (c *Copy) List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error) {
	return read(ctx, c, func(i Index) ([]experience.Experience, error) { return i.List(ctx, status, after, limit) })
}

// Near calls [Index.Near] on the index in use.
func (c *Copy) Near(ctx context.Context, e experience.Experience, own bool) ([]Hit, error) {
	return read(ctx, c, func(i Index) ([]Hit, error) { return i.Near(ctx, e, own) })
}

// Counts calls [Index.Counts] on the index in use.
func (c *Copy) Counts(ctx context.Context) (map[experience.Status]int, error) {
	return read(ctx, c, func(i Index) (map[experience.Status]int, error) { return i.Counts(ctx) })
}
