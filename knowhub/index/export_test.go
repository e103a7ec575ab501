package index

import "context"

// Exec runs a statement on the connection that writes.
func (x *Index) Exec(ctx context.Context, query string) error {
	_, err := x.write.ExecContext(ctx, query)
	return err
}

// WALBytes is how many bytes the write-ahead log keeps after a checkpoint.
const WALBytes = walBytes

// HoldReaders calls f while all connections that read are in use.
func (x *Index) HoldReaders(ctx context.Context, f func()) error {
	call := func() error { f(); return nil }
	for range cap(x.readers) {
		next := call
		call = func() error { return x.reading(ctx, func(*reader) error { return next() }) }
	}
	return call()
}

// LeaveTransaction begins a transaction on a connection that reads.
func (x *Index) LeaveTransaction(ctx context.Context) error {
	return x.reading(ctx, func(r *reader) error {
		_, err := r.conn.ExecContext(ctx, "BEGIN")
		return err
	})
}

// DropCache makes the next search read everything from the file.
func (x *Index) DropCache() { x.cache.Store(nil) }

// FillCache makes the cache full.
func (x *Index) FillCache() {
	c := x.cache.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += maxCache
}

// CacheBytes is the size of the cache.
func (x *Index) CacheBytes() int {
	c := x.cache.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
