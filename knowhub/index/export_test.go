package index

import "context"

// Exec runs a statement on the connection that writes.
func (x *Index) Exec(ctx context.Context, query string) error {
	_, err := x.write.ExecContext(ctx, query)
	return err
}

// WALBytes is how many bytes the write-ahead log keeps after a checkpoint.
const WALBytes = walBytes
