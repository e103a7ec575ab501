package knowhub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"intenthint/internal/retry"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
	"intenthint/knowhub/table"
	"intenthint/part"
)

// Followed is a bucket that can be followed; [bucket.Experiences] is one.
type Followed interface {
	Follow(ctx context.Context, f bucket.Follower, o bucket.Following) error
}

// CopyOptions configure a [Copy].
type CopyOptions struct {
	Bucket Followed
	// Path is the file of the table of experiences in SQLite. "" for none.
	Path string
	// Encoder returns what makes the vectors of experiences and questions; nil for a
	// search by words alone.
	Encoder func() (part.Encoder, error)
	Metrics *Metrics
	Log     *slog.Logger
}

// Copy is what this process knows of the bucket: an [index.Index], which answers, and a
// [table.Table], which people read. It follows the bucket. Reads fail until the copy is
// complete. Then it answers from memory, also while the bucket is away.
type Copy struct {
	o     CopyOptions
	index *index.Index
	table *table.Table // nil for none
	// changes has an element if experiences may lack their vectors.
	changes chan struct{}

	mu       sync.Mutex    // guards what follows
	complete chan struct{} // closed while the copy is complete
}

// NewCopy returns a copy that is empty until [Copy.Run] is called.
func NewCopy(o CopyOptions) *Copy {
	c := &Copy{o: o, index: index.New(), complete: make(chan struct{}), changes: make(chan struct{}, 1)}
	if o.Path != "" {
		c.table = table.New(table.Options{Path: o.Path, Experiences: c.index, Ready: c.Ready, Log: o.Log})
	}
	return c
}

// followPauses are the pauses after failures of the bucket. The first is short: a purged
// bucket is followed again.
var followPauses = retry.Backoff{First: 100 * time.Millisecond, Max: 5 * time.Second}

// waitTime bounds how long reads wait for a copy that is not complete.
// It is half of the time of a verb, and more than an index of 10,000 takes; who asks with
// less time gets an answer before it has passed.
const waitTime = verbTime / 2

// errIncomplete reports that the copy has not caught up with the bucket yet.
var errIncomplete = errors.New("index of experiences is incomplete")

// Run keeps the copy until ctx ends.
func (c *Copy) Run(ctx context.Context) {
	var writing sync.WaitGroup
	if c.table != nil {
		writing.Go(func() { c.table.Run(ctx) })
	}
	if c.o.Encoder != nil {
		writing.Go(func() { c.encode(ctx) })
	}
	defer writing.Wait()
	for failures := 1; ; failures++ {
		began := time.Now()
		err := c.follow(ctx)
		c.o.Metrics.ready.Set(0)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > followPauses.Max {
			failures = 1
		}
		c.o.Log.Warn("experiences not followed, will retry", "error", err)
		if followPauses.Wait(ctx, failures) != nil {
			return
		}
	}
}

// follow follows the bucket until something fails.
func (c *Copy) follow(ctx context.Context) error {
	began := time.Now()
	return c.o.Bucket.Follow(ctx, follower{c}, bucket.Following{
		CaughtUp: func() {
			c.setComplete(true)
			c.o.Metrics.ready.Set(1)
			c.unencoded()
			c.o.Log.Debug("index of experiences has caught up", "took_ms", time.Since(began).Milliseconds())
		},
		Unreadable: func(key string, err error) {
			c.o.Log.Warn("experience unreadable", "key", key, "error", err)
		},
	})
}

// follower is a copy as the bucket sees it.
type follower struct{ *Copy }

// Place implements [bucket.Follower].
func (f follower) Place() (bucket string, revision uint64) { return f.index.Place() }

// Held implements [bucket.Follower].
func (f follower) Held() uint64 { return f.index.Held() }

// Reset implements [bucket.Follower].
func (f follower) Reset(bucket string) {
	f.setComplete(false)
	f.o.Metrics.rebuilds.Inc()
	f.o.Metrics.ready.Set(0)
	f.o.Metrics.revision.Set(0)
	f.index.Reset(bucket)
	if f.table != nil {
		f.table.Renew()
	}
}

// Apply implements [bucket.Follower].
func (f follower) Apply(changes []experience.Change) {
	f.index.Apply(changes)
	f.o.Metrics.revision.Set(float64(changes[len(changes)-1].Revision))
	for _, change := range changes {
		f.changed(change.ID)
	}
	f.unencoded()
}

func (c *Copy) changed(id string) {
	if c.table != nil {
		c.table.Changed(id)
	}
}

// Put applies what this process has written, so that it is found at once.
func (c *Copy) Put(e bucket.Stored) {
	if c == nil {
		return // the copy is not run
	}
	c.index.Put(experience.Change{ID: e.ID, Revision: e.Revision, Experience: e.Experience})
	c.changed(e.ID)
	c.unencoded()
}

func (c *Copy) setComplete(now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch before := closed(c.complete); {
	case now && !before:
		close(c.complete)
	case !now && before:
		c.complete = make(chan struct{})
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Ready reports whether the copy is complete.
func (c *Copy) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return closed(c.complete)
}

// Check returns why the table cannot be written. It is a health check.
func (c *Copy) Check(context.Context) error {
	if c.table == nil {
		return nil
	}
	return c.table.Fault()
}

// wait waits a little for a copy that is not complete.
func (c *Copy) wait(ctx context.Context) error {
	c.mu.Lock()
	complete := c.complete
	c.mu.Unlock()
	if closed(complete) {
		return ctx.Err()
	}
	most := waitTime
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)*9/10)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-complete:
		return nil
	case <-ctx.Done():
		return errIncomplete
	}
}

// Search calls [index.Index.Search], by words and by meaning.
func (c *Copy) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	if c.o.Encoder != nil {
		q.Meaning = func() *index.Vector { return c.meaning(ctx, q) }
	}
	return c.index.Search(q), nil
}

// List calls [index.Index.List].
func (c *Copy) List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c.index.List(status, after, limit), nil
}

// Near calls [index.Index.Near].
func (c *Copy) Near(ctx context.Context, e experience.Experience, own bool) ([]index.Hit, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c.index.Near(e, own), nil
}

// Counts calls [index.Index.Counts].
func (c *Copy) Counts(ctx context.Context) (map[experience.Status]int, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c.index.Counts(), nil
}
